"""Buffering: keep all rows of the open windows and compute each window from its rows when it closes.

The baseline the papers compare with: memory and time grow with RANGE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.cells import Cells, CellTable
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.store.cell_rows import cell_rows, converting, no_cell_rows, state_of
from windrow.operators.store.row_store import RowStore
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.extents import end_of, first_windows, last_closed, start_of
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.numbered import RowWise
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, Sliding

TOGETHER = 1024
"""Answers that leave together at the most, but for those of one window."""


class Buffer(RowWise):
    """Every row is a cell of its own until its last window closed. Sliding, tumbling and landmark windows."""

    def __init__(self, window: Sliding | Landmark, plan: Plan) -> None:
        super().__init__(window, plan)
        self.rows = self._no_rows()

    def _no_rows(self) -> RowStore:
        return RowStore(no_cell_rows(self.layout), by="place")

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self._note(rows)
        table = self.layout.empty(len(rows))
        self.layout.scatter(rows.lifted, np.arange(len(rows), dtype=np.int32), table)
        self.layout.settle(table)
        self.rows.append(cell_rows(Cells(rows.times, rows.group_codes(), table)))
        return ()

    def extract(self, chosen: npt.NDArray[np.bool_]) -> Buffer:
        part = Buffer(self.window, self.plan)
        part.rows.append(self.rows.where(lambda rows: chosen[rows["code"]]))
        part.rows_kept, part.low, part.high = self.rows_kept.extract(chosen), self.low, self.high
        return part

    def forget_reported(self, reported: Integers) -> None:
        if isinstance(self.window, Landmark):
            return
        first = self._starts(reported)
        self.rows.drop(lambda rows: rows["place"] < first[rows["code"]])
        self.rows_kept.forget_groups(first)

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        last = self.last_window(bound)
        if last == START:
            self._pass(bound, last)
            return
        self.rows.sort()
        found: list[Cells] = []
        gathered = 0
        for answers in self._answers(last):
            found.append(answers)
            gathered += len(answers)
            if gathered >= TOGETHER:
                yield self._with_values(Cells.joined(found))
                found, gathered = [], 0
        if found:
            yield self._with_values(Cells.joined(found))
        self._pass(bound, last)
        if isinstance(self.window, Sliding):
            self.rows.forget_below(start_of(self.window, self.closed + 1))

    def _answers(self, last: int) -> Iterator[Cells]:
        """The windows up to `last` that hold rows, one by one."""
        number = max(self.closed + 1, first_windows(self.window, self.low))
        while number <= last:
            ends = start_of(self.window, number), end_of(self.window, number)
            low, high = (self.rows.search(time) for time in ends)
            if low < high:
                yield self._answer(number, low, high)
            elif high == len(self.rows):
                break
            else:  # nothing in this window: on to the first that holds the next row
                number = max(number, last_closed(self.window, self.rows.at(high)))
            number += 1

    def _answer(self, number: int, low: int, high: int) -> Cells:
        table = CellTable(self.layout)
        for rows in self.rows.parts(low, high):
            table.combine(np.full(len(rows), number), rows["code"], state_of(rows))
        return table.content()

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.rows.change(converting(convert))

    def codes_in_use(self) -> Codes:
        return np.unique(np.concatenate([self.rows.column("code"), *self.rows_kept.codes_in_use()]))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.rows.remap("code", mapping)
        self.rows_kept.remap(mapping)

    def state(self) -> dict[str, pa.Table]:
        return {"cells": self.rows.content().ordered("place", "code").table(), **self._saved_rows()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.rows = self._no_rows()
        self.rows.fill(tables["cells"])
        self._restore_rows(tables)

    @property
    def nbytes(self) -> int:
        return self.rows.nbytes + self.rows_kept.nbytes
