"""WID: one partial aggregate per open window and group, updated by every row (thesis section 6.1).

A row carries the range of its window numbers; it is never copied. Its cost grows with RANGE/SLIDE, but a window is
complete the moment its punctuation comes, and nothing but its own partial is kept (for holistic aggregates, the rows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.state.cells import CellTable
from windrow.operators.state.changes import Saved
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.value_rows import ValueLog, ValueRows
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.extents import end_of, first_windows, last_windows, start_of
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.numbered import RowWise
from windrow.semantics.windows.kinds import Sliding

MOST_CELLS = 1 << 28
"""A scratch table is never larger, so that its places fit into 32 bits."""


class Wid(RowWise):
    """Sliding and tumbling windows, eagerly."""

    window: Sliding

    def __init__(self, window: Sliding, plan: Plan) -> None:
        super().__init__(window, plan)
        self.cells = CellTable(self.layout)
        self.rows_kept = ValueRows(plan.values, plan.custom, plan.sealing)

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self.low = min(self.low, rows.span[0])
        rows.keep_values(self.rows_kept)
        firsts = np.maximum(first_windows(self.window, rows.times), self.closed + 1)
        lasts = last_windows(self.window, rows.times)
        most = int((lasts - firsts).max()) + 1
        low, high = int(firsts.min()), int(lasts.max())
        cells = (high - low + 1) * groups
        visits = len(rows) * max(most, 1)
        if 0 < cells <= min(MOST_CELLS, max(1 << 12, 2 * visits)) and self.layout.fits_scratch(cells, visits):
            self._add_dense(rows, groups, firsts, lasts, low, cells)
        else:
            self._add_sparse(rows, firsts, lasts, most)
        return ()

    def _add_dense(
        self, rows: GroupedRows, groups: int, firsts: Integers, lasts: Integers, low: int, cells: int
    ) -> None:
        """Each round adds every row to the next of its windows; rows that have no more go to a spare cell."""
        table = self.layout.empty(cells + 1)
        base = (firsts - low) * groups + rows.group_codes()
        for step in range(int((lasts - firsts).max()) + 1):
            slots = np.where(firsts + step <= lasts, base + step * groups, cells).astype(np.int32)
            self.layout.scatter(rows.lifted, slots, table)
        used = np.flatnonzero(table.adds[:cells, 0])
        self.cells.combine(used // groups + low, (used % groups).astype(np.int32), table.take(used))

    def _add_sparse(self, rows: GroupedRows, firsts: Integers, lasts: Integers, most: int) -> None:
        for step in range(most):
            part = np.flatnonzero(firsts + step <= lasts)
            if len(part):
                chosen = rows.take(part)
                slots = self.cells.slots(firsts[part] + step, chosen.codes)
                self.layout.scatter(chosen.lifted, slots, self.cells.state)

    def extract(self, chosen: npt.NDArray[np.bool_]) -> Wid:
        part = Wid(self.window, self.plan)
        cells = self.cells.content()
        part.cells.fill(cells.take(np.flatnonzero(chosen[cells.codes])))
        part.rows_kept, part.low, part.high = self.rows_kept.extract(chosen), self.low, self.high
        return part

    def forget_reported(self, reported: Integers) -> None:
        cells = self.cells.content()
        self.cells.keep(cells.places > reported[cells.codes])
        self.rows_kept.forget_groups(self._starts(reported))

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        last = self.last_window(bound)
        answers = self.cells.take_below(last + 1)
        self.layout.settle(answers.state)
        if len(answers):
            yield self._with_values(answers)
        self._pass(bound, last)
        self.rows_kept.forget(start_of(self.window, self.closed + 1))

    def _multiset(self, window: int, part: Values) -> Multiset:
        return self.rows_kept.multiset(part, start_of(self.window, window), end_of(self.window, window))

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        return self.rows_kept.customs[part].between(start_of(self.window, window), end_of(self.window, window))

    def kept_values(self, part: Values) -> ValueLog:
        return self.rows_kept.logs[part]

    def seal_rows(self) -> None:
        self.rows_kept.seal()

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.cells.convert(convert)

    def codes_in_use(self) -> Codes:
        return np.unique(np.concatenate([self.cells.content().codes, *self.rows_kept.codes_in_use()]))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.cells.remap(mapping)
        self.rows_kept.remap(mapping)

    def state(self) -> dict[str, Saved]:
        return {**self.cells.saved(), **self.rows_kept.saved(), **self._saved_span()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.cells.restore(tables)
        self.rows_kept.restore(tables)
        self._restore_span(tables)

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes + self.rows_kept.nbytes
