"""What WID and buffering share: values kept as rows, windows numbered by their ends."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.timeline import Answers
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.value_rows import ValueLog, ValueRows
from windrow.operators.windows.base import Closed, GroupedRows, Plan, with_values
from windrow.operators.windows.extents import end_of, ends, last_closed, start_of
from windrow.operators.windows.numbered import NumberedWindows
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Landmark, Sliding


def keep_values(kept: ValueRows, plan: Plan, rows: GroupedRows) -> None:
    """Note the values of rows at their times."""
    for part in plan.values:
        kept.add(part, *rows.values(part, rows.times))
    for custom in plan.custom:
        kept.add_custom(custom, rows.custom_cells(custom, rows.times))


class RowWise(NumberedWindows):
    """Bookkeeping of windows whose holistic state is rows."""

    def __init__(self, window: Sliding | Landmark, plan: Plan) -> None:
        super().__init__(window, plan)
        self.rows_kept = ValueRows(list(plan.values), plan.custom)
        self.high = START
        self.low = END
        self.closed = START
        """The last window reported or passed."""

    def _note(self, rows: GroupedRows) -> None:
        self.low = min(self.low, rows.span[0])
        keep_values(self.rows_kept, self.plan, rows)

    def witness(self, latest: int) -> None:
        """Windows up to this time are to be reported."""
        self.high = max(self.high, latest)

    def last_window(self, bound: int) -> int:
        if self.high == START:
            return START
        window = self.window
        last = (self.high - window.origin) // window.slide + 1
        if isinstance(window, Sliding):
            last = (self.high - window.origin + window.range) // window.slide
        if bound == END:
            return last
        closed = last_closed(window, bound)
        return min(closed, last)

    def kept_values(self, part: Values) -> ValueLog:
        return self.rows_kept.logs[part]

    def _starts(self, reported: Integers) -> Integers:
        """Where the first window of each group begins that is not reported."""
        assert isinstance(self.window, Sliding)
        return np.where(reported == START, START, ends(self.window, reported + 1) - self.window.range)

    def _with_values(self, answers: Answers) -> Closed:
        if not self.plan.keeps_values:
            return Closed(answers)
        return with_values(self.plan, answers, self._multiset, self._states)

    def _multiset(self, window: int, part: Values) -> Multiset:
        return self.rows_kept.multiset(part, start_of(self.window, window), end_of(self.window, window))

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        return self.rows_kept.states(part, start_of(self.window, window), end_of(self.window, window))

    def _pass(self, bound: int, last: int) -> None:
        """Windows up to `last` are done; sliding ones up to the bound, whether they held rows or not."""
        if isinstance(self.window, Sliding) and bound != END:
            last = max(last, last_closed(self.window, bound))
        self.closed = max(self.closed, last)
        if isinstance(self.window, Sliding):
            self.rows_kept.forget(start_of(self.window, self.closed + 1))

    @property
    def reported(self) -> int:
        return self.closed

    @property
    def first_window(self) -> int:
        return END if self.low == END else (self.low - self.window.origin) // self.window.slide

    @property
    def open_windows(self) -> int:
        if self.high == START:
            return 0
        return max(0, self.last_window(END) - max(self.closed, self.first_window))
