"""Values kept as rows with their times, for the algorithms that do not share panes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.values.multisets import Multiset, RowLog


class ValueRows:
    """All rows some open window may need; each window is built from its own rows."""

    def __init__(self, values: list[Values], customs: list[Custom]) -> None:
        self.logs = {part: RowLog() for part in values}
        self.customs: dict[Custom, CustomCells | None] = dict.fromkeys(customs)

    def add(self, part: Values, times: Integers, codes: Codes, keys: Integers) -> None:
        self.logs[part].add(times, codes, keys)

    def add_custom(self, part: Custom, cells: CustomCells) -> None:
        known = self.customs[part]
        self.customs[part] = cells if known is None else known.plus(cells)

    def multiset(self, part: Values, start: int, end: int, code: int | None = None) -> Multiset:
        """The values of rows with start <= time < end."""
        times, codes, keys = self.logs[part].content()
        chosen = (times >= start) & (times < end)
        if code is not None:
            chosen &= codes == code
        return Multiset.of(codes[chosen], keys[chosen])

    def states(self, part: Custom, start: int, end: int) -> tuple[Codes, CustomState]:
        cells = self.customs[part]
        if cells is None:
            return np.empty(0, np.int32), CustomState.nothing(part)
        return cells.between(start, end)

    def extract(self, chosen: npt.NDArray[np.bool_]) -> ValueRows:
        """The rows of chosen groups alone."""
        part = ValueRows(list(self.logs), list(self.customs))
        for kind, log in self.logs.items():
            times, codes, keys = log.content()
            part.add(kind, times[chosen[codes]], codes[chosen[codes]], keys[chosen[codes]])
        part.customs = {p: None if c is None else c.keep(chosen[c.codes]) for p, c in self.customs.items()}
        return part

    def forget_groups(self, first: Integers) -> None:
        """Rows below `first[code]` are in no open window."""
        for log in self.logs.values():
            times, codes, _ = log.content()
            log.keep(times >= first[codes])
        for part, cells in self.customs.items():
            if cells is not None:
                self.customs[part] = cells.keep(cells.places >= first[cells.codes])

    def forget(self, before: int) -> None:
        """Rows below `before` are in no open window."""
        for log in self.logs.values():
            log.keep(log.content()[0] >= before)
        for part, cells in self.customs.items():
            if cells is not None:
                self.customs[part] = cells.keep(cells.places >= before)

    def remap(self, mapping: Codes) -> None:
        for log in self.logs.values():
            log.remap(mapping)
        for part, cells in self.customs.items():
            if cells is not None:
                self.customs[part] = CustomCells(cells.places, mapping[cells.codes], cells.state)

    def codes_in_use(self) -> list[Codes]:
        kept = [cells.codes for cells in self.customs.values() if cells is not None]
        return kept + [log.content()[1] for log in self.logs.values()]

    @property
    def nbytes(self) -> int:
        kept = sum(cells.state.nbytes for cells in self.customs.values() if cells is not None)
        return kept + sum(log.nbytes for log in self.logs.values())
