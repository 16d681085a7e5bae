"""Session windows: rows of a group at most `gap` apart share one; it ends `gap` after its last row.

Rows of a batch are first put into sessions among themselves, then merged with the open ones; arrival order does
not matter. A session closes with the first punctuation above last + gap, because a row exactly `gap` after the last
one still joins. A session that lies wholly below the bound already in force when it came is born late: its rows
missed it, and it is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import Custom, Integers, Values
from windrow.operators.kernels.cells import combine
from windrow.operators.kernels.sessions import assign_rows, label_sessions
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.multisets import Multiset
from windrow.operators.state.saving import load_rows_kept, load_sessions, save_rows_kept, save_sessions
from windrow.operators.state.timeline import Answers
from windrow.operators.state.valuerows import ValueRows
from windrow.operators.windows.base import Closed, Plan, Rows, joined_tables
from windrow.operators.windows.rowwise import keep_values
from windrow.semantics.progress import END, START
from windrow.semantics.windows import Session


class Sessions:
    """Open sessions sorted by (group, start)."""

    def __init__(self, window: Session, plan: Plan) -> None:
        self.gap = window.gap
        self.plan = plan
        self.layout = plan.layout
        self.codes: Codes = np.empty(0, np.int32)
        self.starts: Integers = np.empty(0, np.int64)
        self.lasts: Integers = np.empty(0, np.int64)
        self.cells = self.layout.empty(0)
        self.rows_kept = ValueRows(list(plan.values), plan.custom)
        self.born_late: tuple[Codes, Integers, Integers] = (self.codes, self.starts, self.lasts)
        """(code, start, last) of the sessions found born late by the last `close`."""
        self.bound = START
        """The punctuation in force."""

    def add(self, rows: Rows, groups: int) -> None:
        codes = rows.group_codes()
        order = np.lexsort((rows.times, codes))
        labels = np.empty(len(rows), np.int64)
        times, sorted_codes = rows.times[order], codes[order]
        count = label_sessions(sorted_codes, times, times, self.gap, labels)
        slots = np.empty(len(rows), np.int32)
        slots[order] = labels
        table = self.layout.empty(count)
        self.layout.scatter(rows.lifted, slots, table)
        self.layout.settle(table)
        edges = np.searchsorted(labels, np.arange(count + 1))
        self._merge(sorted_codes[edges[:-1]], times[edges[:-1]], times[edges[1:] - 1], table)
        keep_values(self.rows_kept, self.plan, rows)

    amend = add

    def _merge(self, codes: Codes, starts: Integers, lasts: Integers, table: Table) -> None:
        codes = np.concatenate([self.codes, codes])
        starts, lasts = np.concatenate([self.starts, starts]), np.concatenate([self.lasts, lasts])
        both = joined_tables([self.cells, table])
        order = np.lexsort((starts, codes))
        codes, starts, lasts, both = codes[order], starts[order], lasts[order], both.take(order)
        labels = np.empty(len(codes), np.int64)
        count = label_sessions(codes, starts, lasts, self.gap, labels)
        merged = self.layout.empty(count)
        combine(labels, both.adds, both.maxs, both.pairs, merged.adds, merged.maxs, merged.pairs)
        first = np.searchsorted(labels, np.arange(count))
        self.codes, self.starts, self.cells = codes[first], starts[first], merged
        self.lasts = np.maximum.reduceat(lasts, first) if count else lasts

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        """The sessions a punctuation closes; those already below the one in force are set aside as born late."""
        over = np.ones(len(self.codes), np.bool_) if bound == END else self.lasts + self.gap < bound
        late = over & (self.lasts + self.gap < self.bound)
        self.bound = bound
        self.born_late = self.codes[late], self.starts[late], self.lasts[late]
        closing = over & ~late
        codes, starts, lasts = self.codes[closing], self.starts[closing], self.lasts[closing]
        cells = self.cells.take(closing)
        lowered = self.plan.lower(
            np.arange(len(codes), dtype=np.int32),
            cells,
            lambda part: self._multiset(part, codes, starts, lasts),
            lambda part: self._states(part, codes, starts, lasts),
        )
        self._keep(~over)
        if len(codes):
            answers = Answers(np.arange(len(codes)), codes, cells)
            yield Closed(answers, lowered, starts=starts, ends=lasts + self.gap)

    def _multiset(self, part: Values, codes: Codes, starts: Integers, lasts: Integers) -> Multiset:
        """The values of each session, under the number of the session."""
        times, row_codes, keys = self.rows_kept.logs[part].content()
        owner = owners(row_codes, times, codes, starts, lasts)
        inside = owner >= 0
        return Multiset.of(owner[inside].astype(np.int32), keys[inside])

    def _states(self, part: Custom, codes: Codes, starts: Integers, lasts: Integers) -> tuple[Codes, CustomState]:
        """The states of each session that has any, under the number of the session."""
        cells = self.rows_kept.customs[part]
        if cells is None:
            return np.empty(0, np.int32), CustomState.nothing(part)
        owner = owners(cells.codes, cells.places, codes, starts, lasts)
        inside = owner >= 0
        labels, state = cells.state.take(inside).reduced(owner[inside])
        return labels.astype(np.int32), state

    def _keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        self.codes, self.starts, self.lasts = self.codes[chosen], self.starts[chosen], self.lasts[chosen]
        self.cells = self.cells.take(chosen)
        for log in self.rows_kept.logs.values():
            times, codes, _ = log.content()
            log.keep(owners(codes, times, self.codes, self.starts, self.lasts) >= 0)
        for part, cells in self.rows_kept.customs.items():
            if cells is not None:
                inside = owners(cells.codes, cells.places, self.codes, self.starts, self.lasts) >= 0
                self.rows_kept.customs[part] = cells.keep(inside)

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.cells = convert(self.cells)

    def codes_in_use(self) -> Codes:
        return np.unique(self.codes)

    def remap(self, mapping: Codes, groups: int) -> None:
        self.codes = mapping[self.codes]
        self.rows_kept.remap(mapping)

    def state(self) -> dict[str, pa.Table]:
        return {**save_sessions(self), **save_rows_kept(self.rows_kept)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        load_sessions(self, tables)
        load_rows_kept(self.rows_kept, tables)

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes + self.codes.nbytes + 2 * self.starts.nbytes + self.rows_kept.nbytes

    @property
    def open_windows(self) -> int:
        return len(self.codes)


def owners(codes: Codes, times: Integers, session_codes: Codes, starts: Integers, lasts: Integers) -> Integers:
    """The session each row lies in, or -1."""
    order = np.lexsort((times, codes))
    found = np.empty(len(codes), np.int64)
    assign_rows(codes[order], times[order], session_codes, starts, lasts, found)
    result = np.empty(len(codes), np.int64)
    result[order] = found
    return result
