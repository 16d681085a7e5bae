"""Values kept as rows with their times, for the algorithms that do not share panes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.value_log import ValueLog
from windrow.operators.store.row_store import below, between


class ValueRows:
    """All rows some open window may need; each window is built from its own rows."""

    def __init__(self, values: list[Values], customs: list[Custom]) -> None:
        self.logs = {part: ValueLog() for part in values}
        self.customs: dict[Custom, CustomCells | None] = dict.fromkeys(customs)

    def add(self, part: Values, times: Integers, codes: Codes, keys: Integers) -> None:
        self.logs[part].add(times, codes, keys)

    def add_custom(self, part: Custom, cells: CustomCells) -> None:
        known = self.customs[part]
        self.customs[part] = cells if known is None else known.plus(cells)

    def multiset(self, part: Values, start: int, end: int) -> Multiset:
        """The values of rows with start <= time < end."""
        rows = self.logs[part].where(between("place", start, end))
        return Multiset.of(rows["code"], rows["key"])

    def states(self, part: Custom, start: int, end: int) -> tuple[Codes, CustomState]:
        cells = self.customs[part]
        if cells is None:
            return np.empty(0, np.int32), CustomState.nothing(part)
        return cells.between(start, end)

    def extract(self, chosen: npt.NDArray[np.bool_]) -> ValueRows:
        """The rows of chosen groups alone."""
        part = ValueRows(list(self.logs), list(self.customs))
        for kind, log in self.logs.items():
            part.logs[kind].append(log.where(lambda rows: chosen[rows["code"]]))
        part.customs = {p: None if c is None else c.keep(chosen[c.codes]) for p, c in self.customs.items()}
        return part

    def forget_groups(self, first: Integers) -> None:
        """Rows below `first[code]` are in no open window."""
        for log in self.logs.values():
            log.drop(lambda rows: rows["place"] < first[rows["code"]])
        for part, cells in self.customs.items():
            if cells is not None:
                self.customs[part] = cells.keep(cells.places >= first[cells.codes])

    def forget(self, before: int) -> None:
        """Rows below `before` are in no open window."""
        for log in self.logs.values():
            log.drop(below("place", before))
        for part, cells in self.customs.items():
            if cells is not None:
                self.customs[part] = cells.keep(cells.places >= before)

    def remap(self, mapping: Codes) -> None:
        for log in self.logs.values():
            log.remap("code", mapping)
        for part, cells in self.customs.items():
            if cells is not None:
                self.customs[part] = CustomCells(cells.places, mapping[cells.codes], cells.state)

    def codes_in_use(self) -> list[Codes]:
        kept = [cells.codes for cells in self.customs.values() if cells is not None]
        return kept + [log.column("code") for log in self.logs.values()]

    @property
    def nbytes(self) -> int:
        kept = sum(cells.state.nbytes for cells in self.customs.values() if cells is not None)
        return kept + sum(log.nbytes for log in self.logs.values())
