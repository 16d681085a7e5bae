"""Windows that end on a grid, sliding and landmark: what panes, window ids and buffering have in common.

Window k ends at origin + k * slide, so a time alone determines its windows, and which of them are closed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import scalars, scalars_of
from windrow.aggregates.kinds.base import Custom, Integers, Runs, Values
from windrow.operators.late.judging import Verdicts, below, judge
from windrow.operators.state.cells import Cells
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.values.large_windows import LargeWindow
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.windows.base import Closed, Plan, Windower
from windrow.operators.windows.extents import end_of, first_windows, last_closed, last_windows
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.late.bounds import Bounds, GroupBounds


class NumberedWindows(Windower):
    """Sliding, tumbling and landmark windows."""

    keep = 0
    """How far below the bound windows stay for corrections."""

    def __init__(self, window: Sliding | Landmark, plan: Plan) -> None:
        self.window = window
        self.plan = plan
        self.layout = plan.layout
        self.length = None if isinstance(window, Landmark) else window.range

    # What an algorithm adds

    def amend(self, rows: GroupedRows, groups: int) -> None:
        """Late rows that still count in some open window."""
        raise NotImplementedError

    def extract(self, chosen: npt.NDArray[np.bool_]) -> NumberedWindows:
        """Chosen groups alone, none of their windows reported; this one keeps them too."""
        raise NotImplementedError

    def forget_reported(self, reported: Integers) -> None:
        """Let go of what only windows up to the last reported one of each group (START: none) needed."""
        raise NotImplementedError

    def last_window(self, bound: int) -> int:
        """The last window that ends at or below `bound`, and that can hold a row; START when there is none."""
        raise NotImplementedError

    def _multiset(self, window: int, part: Values) -> Multiset | LargeWindow | Runs:
        """The values of a window, by group."""
        raise NotImplementedError

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        """The states of a user aggregate in a window, by group."""
        raise NotImplementedError

    @property
    def reported(self) -> int:
        """The last window reported or passed; START when there is none."""
        raise NotImplementedError

    @property
    def first_window(self) -> int:
        """The last window that ends at or below the first row; END when there was no row."""
        raise NotImplementedError

    # Late rows

    def judge(self, rows: GroupedRows, met: Integers, *, consistent: bool) -> Verdicts:
        return judge(self.window, rows.times, met, consistent=consistent, within=self.keep)

    def take_late(self, rows: GroupedRows, met: Integers, bounds: Bounds, groups: int) -> Iterator[Closed]:
        """Into open windows. For landmark windows they count from the boundary on, like rows at it."""
        if isinstance(self.window, Landmark):
            yield from self.close_waiting(rows.group_codes(), bounds, groups)
            self.add(replace(rows, times=met), groups)
            return
        passed = below(rows.times, bounds.closed)  # the others are late for their group alone: their panes are open
        if passed.any():
            self.amend(rows.take(passed), groups)
        if not passed.all():
            self.add(rows.take(~passed), groups)

    def close_waiting(self, codes: Codes, bounds: Bounds, groups: int) -> Iterator[Closed]:
        """Landmark windows that are over and waited for a row of any group, which has come, but late."""
        yield from self.close(bounds.closed, groups)
        if bounds.ahead is not None:
            yield from self.close_groups(np.unique(codes), bounds.ahead, groups)

    # Windows out

    def _with_values(self, answers: Cells) -> Closed:
        """Answers in order of windows, with the aggregates that look at values lowered window by window."""
        if not self.plan.keeps_values:
            return Closed(answers)
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(answers.places)) + 1, [len(answers)]]).tolist()
        lowered = []
        for first, last in pairwise(cuts):
            window, piece = int(answers.places[first]), answers.take(slice(first, last))
            values = partial(self._multiset, window), partial(self._states, window)
            lowered.append(self.plan.lower(piece.codes, piece.state, *values))
        return Closed(answers, {place: pa.concat_arrays([one[place] for one in lowered]) for place in lowered[0]})

    def close_groups(self, codes: Codes, ahead: GroupBounds, groups: int) -> Iterator[Closed]:
        """From a copy of these groups' state; what no later window of them needs is let go of when all are reported."""
        codes = codes[ahead.boundaries(codes, START) != START]
        if len(codes) == 0:
            return
        chosen = np.zeros(groups, np.bool_)
        chosen[codes] = True
        part = self.extract(chosen)
        bound = int(ahead.closed[codes].max())
        over = last_closed(self.window, bound) >= part.last_window(END)
        for closed in part.close(END if over else bound, groups):
            windows, owners = closed.answers.places, closed.answers.codes
            news = windows > np.maximum(ahead.reported[owners], self.reported)
            news &= windows <= last_closed(self.window, ahead.closed[owners])
            yield closed.take(np.flatnonzero(news))
        done = last_closed(self.window, ahead.closed[codes])
        if isinstance(self.window, Landmark):  # windows beyond the last row so far wait for a row
            done = np.minimum(done, self.last_window(END))
        ahead.reported[codes] = np.maximum(ahead.reported[codes], done)
        self.forget_reported(ahead.reported)

    def open_answers(self, groups: int) -> Iterator[Closed]:
        yield from self.extract(np.ones(groups, np.bool_)).close(END, groups)

    def next_end(self, closed: int) -> int:
        """Landmark windows beyond the last row so far wait for a row, maybe late."""
        following = closed + self.window.slide
        if isinstance(self.window, Landmark) and self.first_window != END:
            last = max(self.last_window(closed), self.first_window)
            following = min(following, end_of(self.window, last + 1))
        return following

    # What the numbers of windows mean

    def ends_of(self, numbers: Integers) -> Integers:
        return end_of(self.window, numbers)


class RowWise(NumberedWindows):
    """What WID and buffering share: how far rows and windows have come, known from the rows themselves."""

    def __init__(self, window: Sliding | Landmark, plan: Plan) -> None:
        super().__init__(window, plan)
        self.high = START
        self.low = END
        self.closed = START
        """The last window reported or passed."""

    def amend(self, rows: GroupedRows, groups: int) -> None:
        self.add(rows, groups)

    def witness(self, latest: int) -> None:
        self.high = max(self.high, latest)

    def last_window(self, bound: int) -> int:
        if self.high == START:
            return START
        window, high = self.window, self.high
        last = last_windows(window, high) if isinstance(window, Sliding) else first_windows(window, high)
        return last if bound == END else min(last_closed(window, bound), last)

    def _starts(self, reported: Integers) -> Integers:
        """Where the first window of each group begins that is not reported."""
        assert isinstance(self.window, Sliding)
        return np.where(reported == START, START, end_of(self.window, reported + 1) - self.window.range)

    def _pass(self, bound: int, last: int) -> None:
        """Windows up to `last` are done; sliding ones up to the bound, whether they held rows or not."""
        if isinstance(self.window, Sliding) and bound != END:
            last = max(last, last_closed(self.window, bound))
        self.closed = max(self.closed, last)

    def _saved_span(self) -> dict[str, pa.Table]:
        return {"span": scalars(high=self.high, low=self.low, closed=self.closed)}

    def _restore_span(self, tables: dict[str, pa.Table]) -> None:
        self.high, self.low, self.closed = scalars_of(tables["span"])

    @property
    def reported(self) -> int:
        return self.closed

    @property
    def first_window(self) -> int:
        return END if self.low == END else last_closed(self.window, self.low)

    @property
    def open_windows(self) -> int:
        if self.high == START:
            return 0
        return max(0, self.last_window(END) - max(self.closed, self.first_window))
