"""Buffering: keep all rows of the open windows and compute each window from its rows when it closes.

The baseline the papers compare with: memory and time grow with RANGE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.cells import CellTable
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.saving import from_table, load_rows, save_rows, table_of
from windrow.operators.state.timeline import Answers
from windrow.operators.windows.base import Closed, Plan, Rows
from windrow.operators.windows.extents import end_of, start_of
from windrow.operators.windows.rowwise import RowWise
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, Sliding


class Buffer(RowWise):
    """Every row is a cell of its own until its last window closed. Sliding, tumbling and landmark windows."""

    def __init__(self, window: Sliding | Landmark, plan: Plan) -> None:
        super().__init__(window, plan)
        self.times: Integers = np.empty(0, np.int64)
        self.codes: Codes = np.empty(0, np.int32)
        self.cells = self.layout.empty(0)

    def add(self, rows: Rows, groups: int) -> Iterable[Closed]:
        self._note(rows)
        table = self.layout.empty(len(rows))
        self.layout.scatter(rows.lifted, np.arange(len(rows), dtype=np.int32), table)
        self.layout.settle(table)
        self.times = np.concatenate([self.times, rows.times])
        self.codes = np.concatenate([self.codes, rows.group_codes()])
        self.cells = Table.joined([self.cells, table])
        return ()

    def amend(self, rows: Rows, groups: int) -> None:
        self.add(rows, groups)

    def extract(self, chosen: npt.NDArray[np.bool_]) -> Buffer:
        part = Buffer(self.window, self.plan)
        inside = chosen[self.codes]
        part.times, part.codes, part.cells = self.times[inside], self.codes[inside], self.cells.take(inside)
        part.rows_kept, part.low, part.high = self.rows_kept.extract(chosen), self.low, self.high
        return part

    def forget_reported(self, reported: Integers) -> None:
        if isinstance(self.window, Landmark):
            return
        first = self._starts(reported)
        keep = self.times >= first[self.codes]
        self.times, self.codes, self.cells = self.times[keep], self.codes[keep], self.cells.take(keep)
        self.rows_kept.forget_groups(first)

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        last = self.last_window(bound)
        if last == START:
            self._pass(bound, last)
            return
        order = np.argsort(self.times, kind="stable")
        self.times, self.codes, self.cells = self.times[order], self.codes[order], self.cells.take(order)
        number = max(self.closed + 1, (self.low - self.window.origin) // self.window.slide + 1)
        while number <= last:
            low, high = np.searchsorted(self.times, [start_of(self.window, number), end_of(self.window, number)])
            if low < high:
                yield self._with_values(self._answer(number, slice(low, high)))
            elif high == len(self.times):
                break
            else:  # nothing in this window: on to the first that holds the next row
                number = max(number, (int(self.times[high]) - self.window.origin) // self.window.slide)
            number += 1
        self._pass(bound, last)
        if isinstance(self.window, Sliding):
            keep = slice(int(np.searchsorted(self.times, start_of(self.window, self.closed + 1))), None)
            self.times, self.codes, self.cells = self.times[keep], self.codes[keep], self.cells.take(keep)

    def _answer(self, number: int, extent: slice) -> Answers:
        table = CellTable(self.layout)
        codes = self.codes[extent]
        table.combine(np.full(len(codes), number), codes, self.cells.take(extent))
        windows, codes, state = table.content()
        return Answers(windows, codes, state)

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.cells = convert(self.cells)

    def codes_in_use(self) -> Codes:
        return np.unique(np.concatenate([self.codes, *self.rows_kept.codes_in_use()]))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.codes = mapping[self.codes]
        self.rows_kept.remap(mapping)

    def state(self) -> dict[str, pa.Table]:
        order = np.lexsort((self.codes, self.times))
        rows = table_of(self.times[order], self.codes[order], self.cells.take(order))
        return {"cells": rows, **save_rows(self)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.times, self.codes, self.cells = from_table(tables["cells"], self.layout)
        load_rows(self, tables)

    @property
    def nbytes(self) -> int:
        return self.times.nbytes + self.codes.nbytes + self.cells.nbytes + self.rows_kept.nbytes
