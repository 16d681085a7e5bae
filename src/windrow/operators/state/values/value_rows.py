"""Values that are not summed up yet: rows (time or pane, group, key)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.compression.coded_column import Nature
from windrow.operators.state.changes import Saved
from windrow.operators.state.customs import CustomCells
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.values.large_windows import is_large, stretch_of
from windrow.operators.state.values.multisets import Multiset, ValueCodes
from windrow.operators.store.chosen_rows import below, between
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.sealing import Sealing


class ValueLog(RowStore):
    """The values of one argument; nobody asks for the order of those that share a place."""

    def __init__(self, sealing: Sealing | None = None, nature: Nature = Nature.INTEGERS) -> None:
        none = np.empty(0, np.int64)
        of_values = None if sealing is None else sealing.having({"key": nature}, _by_place)
        self._of_runs = None if sealing is None else sealing.having({"key": nature})
        super().__init__(RowBlock({"place": none, "code": NO_CODES, "key": none}), sealing=of_values)

    def add(self, places: Integers, codes: Codes, keys: Integers) -> None:
        self.seal()  # what is here from before will stay for longer
        self.append(RowBlock({"place": places, "code": codes, "key": keys}), seal=False)

    def is_large(self, rows: int) -> bool:
        """Whether so many rows are more than memory is to hold as they are."""
        return self._of_runs is not None and is_large(rows, self._of_runs.budget)

    def sealed_runs(self, multiset: Multiset) -> RowBlock:
        """The values of some rows as a stretch of a large window."""
        assert self._of_runs is not None
        return self._of_runs.seal(stretch_of(multiset))

    def keys_in_use(self) -> Integers:
        return self.used("key")

    def renumber(self, mapping: Integers) -> None:
        self.remap("key", mapping)


def _by_place(rows: RowBlock) -> RowBlock:
    return rows.sorted("place").sorted_by("place")


class ValueRows:
    """For algorithms that do not share panes all rows some open window may need; each is built from its own rows."""

    def __init__(
        self, values: Mapping[Values, ValueCodes], customs: list[Custom], sealing: Sealing | None = None
    ) -> None:
        self.values = values
        self.sealing = sealing
        self.logs = {
            part: ValueLog(sealing and sealing.called({"key": str(part.argument)}), codes.nature)
            for part, codes in values.items()
        }
        self.customs = {part: CustomCells.nothing(part) for part in customs}

    def multiset(self, part: Values, start: int, end: int) -> Multiset:
        """The values of rows with start <= time < end."""
        rows = self.logs[part].where(between("place", start, end))
        return Multiset.of(rows["code"], rows["key"])

    def extract(self, chosen: npt.NDArray[np.bool_]) -> ValueRows:
        """The rows of chosen groups alone."""
        part = ValueRows(self.values, list(self.customs), self.sealing)
        for kind, log in self.logs.items():
            part.logs[kind].append(log.where(lambda rows: chosen[rows["code"]]))
        part.customs = {p: cells.keep(chosen[cells.codes]) for p, cells in self.customs.items()}
        return part

    def forget_groups(self, first: Integers) -> None:
        """Rows below `first[code]` are in no open window."""
        for log in self.logs.values():
            log.drop(lambda rows: rows["place"] < first[rows["code"]])
        self.customs = {p: cells.keep(cells.places >= first[cells.codes]) for p, cells in self.customs.items()}

    def forget(self, before: int) -> None:
        """Rows below `before` are in no open window."""
        for log in self.logs.values():
            log.drop(below("place", before))
        self.customs = {p: cells.keep(cells.places >= before) for p, cells in self.customs.items()}

    def seal(self) -> None:
        for log in self.logs.values():
            log.seal()

    def remap(self, mapping: Codes) -> None:
        for log in self.logs.values():
            log.remap("code", mapping)
        self.customs = {p: cells.remap(mapping) for p, cells in self.customs.items()}

    def saved(self) -> dict[str, Saved]:
        tables: dict[str, Saved] = {f"custom{i}": cells.table() for i, cells in enumerate(self.customs.values())}
        for i, log in enumerate(self.logs.values()):
            tables |= log.saved_under(f"values{i}")
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        for i, log in enumerate(self.logs.values()):
            log.restore_under(f"values{i}", tables)
        self.customs = {part: CustomCells.of_table(tables[f"custom{i}"], part) for i, part in enumerate(self.customs)}

    def codes_in_use(self) -> list[Codes]:
        return [cells.codes for cells in self.customs.values()] + [log.used("code") for log in self.logs.values()]

    @property
    def nbytes(self) -> int:
        kept = sum(cells.state.nbytes for cells in self.customs.values())
        return kept + sum(log.nbytes for log in self.logs.values())
