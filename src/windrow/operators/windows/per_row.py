"""Windows that end with rows: `(t - range, t]` for every row, or every n-th, by arrival or by rank (thesis 6.1.4).

The thesis keeps a start bin and an end bin for each row in time order, and adds a row to every bin between its own
two: as much work as there are window ends within RANGE. Here rows wait until a punctuation passes them; what it
releases is sorted once and runs through the window once. Sums follow by a running difference, greatest-of state by
two stacks, so a row is added, flipped and taken away once, and an answer reads one or two states. A row costs the
logarithm of the rows that wait with it, for sorting, and does not depend on how many windows are open; a late row
costs the rows that lie between it and the bound.

Medians and other quantiles count the values of the window in a tree by their order: a row and an answer cost a
logarithm. The other aggregates that keep values, and users' own, are computed from the rows of each window: an answer
costs its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from windrow.aggregates.base import Integers, Values
from windrow.operators.kernels.per_row import count_off
from windrow.operators.state.groups import Codes
from windrow.operators.state.latecomers import Latecomers
from windrow.operators.state.layout import Table
from windrow.operators.state.multisets import RowLog
from windrow.operators.state.past_ends import PastEnds
from windrow.operators.state.row_timeline import Ends, RowTimeline
from windrow.operators.state.saving import load_per_row, save_per_row
from windrow.operators.state.valuerows import ValueRows
from windrow.operators.state.waiting import RowStates, Waiting
from windrow.operators.windows.base import Closed, Plan, Rows
from windrow.operators.windows.extent_values import ExtentValues
from windrow.operators.windows.rowwise import keep_values
from windrow.semantics.progress import END
from windrow.semantics.windows import SlideBy, SlideByTuple

PIECE = 1 << 16
"""Rows that are released at once go through the window in pieces of this size, which stay in the cache."""


class PerRow:
    """Slide-by-tuple windows; `shared` when a row closes a window for all groups, not only for its own."""

    def __init__(self, window: SlideByTuple, plan: Plan, *, shared: bool, past: PastEnds | None) -> None:
        self.window = window
        self.plan = plan
        self.layout = plan.layout
        self.shared = shared
        self.waiting = Waiting(self.layout)
        self.timeline = RowTimeline(self.layout, window.range, shared=shared)
        self.rows_kept = ValueRows(list(plan.values), plan.custom)
        self.counters: Integers = np.zeros(1, np.int64)
        """Rows counted since the last window, of each group; of all groups in the first place when `shared`."""
        self.past = past
        """Ends of reported windows, where someone asks for them."""
        self.ended = 0
        """How many windows have ended."""

    # Rows in

    def add(self, rows: Rows, groups: int) -> None:
        self.timeline.tidy()
        states = self._states_of(rows)
        if self.window.by is SlideBy.ARRIVAL:
            states = self._counted(states, groups)
        self.waiting.add(states)
        keep_values(self.rows_kept, self.plan, rows)

    def _states_of(self, rows: Rows) -> RowStates:
        table = self.layout.empty(len(rows))
        self.layout.scatter(rows.lifted, np.arange(len(rows), dtype=np.int32), table)
        return RowStates(rows.times, rows.group_codes(), table, np.empty(0, np.bool_))

    def _counted(self, rows: RowStates, groups: int) -> RowStates:
        """The rows in their order, with those that close a window marked; all do when there is nothing to count."""
        if self.window.every == 1:
            return rows
        if groups > len(self.counters) and not self.shared:
            self.counters = np.concatenate([self.counters, np.zeros(2 * groups - len(self.counters), np.int64)])
        closes = np.empty(len(rows), np.bool_)
        count_off(self._owners(rows.codes), self.window.every, self.counters, closes)
        return RowStates(rows.times, rows.codes, rows.state, closes)

    def _owners(self, codes: Codes) -> Codes:
        """Whose windows the rows of these groups close."""
        return np.zeros_like(codes) if self.shared else codes

    def amend(self, rows: Rows, groups: int) -> None:
        states = self._states_of(rows)
        self.timeline.amend(states.times, states.codes, states.state, groups)
        keep_values(self.rows_kept, self.plan, rows)

    def latecomers(self, rows: Rows, bounds: Integers, groups: int) -> Latecomers:
        """Rows below the bounds they met, for windows that close before they are taken in by `amend`."""
        return Latecomers(self._states_of(rows), bounds, self.timeline.reach, groups)

    # Windows out

    def close(self, bound: int, groups: int, late: Latecomers | None = None) -> Iterator[Closed]:
        """The windows that end below a bound, with late rows among them where these have met a bound below it."""
        released = self.waiting.take_below(bound)
        if self.window.by is SlideBy.RANK:
            released = self._counted(released, groups)
        values = ExtentValues(self.plan, self.rows_kept, self.timeline.reach)
        for piece in released.pieces(PIECE):
            self.timeline.append(piece.times, piece.codes, piece.state)
            ends = self._ends(piece)
            for answers in self.timeline.slide(ends, groups):
                ended = ends.times[answers.windows - ends.first]
                if late is not None:
                    late.join(answers, ended)
                yield from values.closed(answers, ended, self.window.range)
            self.timeline.forget()
        self.timeline.pass_to(bound, groups)
        self.timeline.forget()
        self.rows_kept.forget(END if bound == END else bound - self.timeline.reach + 1)

    def _ends(self, rows: RowStates) -> Ends:
        closing = rows.closes if self.window.every > 1 else slice(None)
        ends = Ends(rows.times[closing], self._owners(rows.codes[closing]), self.ended)
        self.ended += len(ends.times)
        if self.past is not None:
            self.past.append(ends)
        return ends

    def missed(self, times: Integers, bounds: Integers, codes: Codes) -> tuple[Integers, Integers, Integers]:
        """How many windows ended from each time to its bound, for its group; the first and the last of these ends."""
        assert self.past is not None
        return self.past.missed(times, bounds, self._owners(codes))

    def forget_ends(self, until: int, reported: int | None) -> None:
        """Ends up to a time, those after the window of this number excepted, are of no more interest."""
        if self.past is None:
            return
        if reported is None:
            self.past.forget_below(until + 1)
        else:
            number = self.past.first + int(np.searchsorted(self.past.content().times, until + 1))
            self.past.forget(min(number, reported + 1))

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.waiting.regrow(convert)
        self.timeline.regrow(convert)

    # Groups and values

    def codes_in_use(self) -> Codes:
        counting = np.empty(0, np.int32) if self.shared else np.flatnonzero(self.counters).astype(np.int32)
        used = [counting, self.waiting.content().codes, self.timeline.codes_in_use(), *self.rows_kept.codes_in_use()]
        return np.unique(np.concatenate(used))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.waiting.remap(mapping)
        self.timeline.remap(mapping, groups)
        self.rows_kept.remap(mapping)
        if self.shared:
            return
        if self.window.every > 1:
            counting = np.flatnonzero(self.counters)
            counters = np.zeros(max(1, groups), np.int64)
            counters[mapping[counting]] = self.counters[counting]
            self.counters = counters
        if self.past is not None:
            self.past.remap(mapping)

    def kept_values(self, part: Values) -> RowLog:
        return self.rows_kept.logs[part]

    # State

    def state(self) -> dict[str, pa.Table]:
        return save_per_row(self)

    def restore(self, tables: dict[str, pa.Table]) -> None:
        load_per_row(self, tables)

    @property
    def nbytes(self) -> int:
        past = 0 if self.past is None else self.past.nbytes
        return self.waiting.nbytes + self.timeline.nbytes + self.rows_kept.nbytes + self.counters.nbytes + past

    @property
    def open_windows(self) -> int:
        return len(self.waiting) // self.window.every
