"""Windows whose values are looked up among rows, which are sorted once for many windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from windrow.aggregates.holistic import Collect
from windrow.aggregates.kinds.base import Array, Custom, Integers, Part, Values
from windrow.operators.kernels.rows.extents import find_extents
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.timeline import Answers
from windrow.operators.state.values.value_rows import ValueRows
from windrow.operators.windows.base import Closed, Plan, pick
from windrow.operators.windows.rows.sliding_runs import SlidingRuns

EXPANDED = 1 << 21
"""Values that are listed at once, at least those of one window."""


class ExtentValues:
    """The values in each of some windows, for aggregates that look at them; rows are sorted once for all windows."""

    def __init__(self, plan: Plan, kept: ValueRows, reach: int) -> None:
        self.plan = plan
        self.kept = kept
        self.reach = reach
        self._logs: dict[Values, tuple[Codes, Integers, Integers]] = {}
        self._cells: dict[Custom, tuple[Codes, Integers, CustomState]] = {}

    def closed(self, answers: Answers, ends: Integers, range_: int) -> Iterator[Closed]:
        """The answers with the aggregates that look at values lowered, as many windows at a time as fit."""
        starts = ends - range_
        if not self.plan.keeps_values:
            yield Closed(answers, {}, starts, ends)
            return
        for piece in pieces(self.plan, answers):
            lowered = self._lowered(answers.codes[piece], ends[piece])
            yield Closed(answers.take(piece), lowered, starts[piece], ends[piece])

    def _lowered(self, codes: Codes, ends: Integers) -> dict[int, Array]:
        known: dict[Part, Any] = {part: self._runs(part, codes, ends) for part in self.plan.values}
        for part in self.plan.custom:
            found, present = pick(*self._states(part, codes, ends), np.arange(len(ends), dtype=np.int32))
            known[part] = found.columns, present
        return self.plan.lowered(len(ends), known)

    def _runs(self, part: Values, codes: Codes, ends: Integers) -> SlidingRuns:
        if part not in self._logs:
            rows = self.kept.logs[part].content()
            rows = rows.take(np.lexsort((rows["place"], rows["code"])))
            self._logs[part] = rows["code"], rows["place"], rows["key"]
        row_codes, times, keys = self._logs[part]
        return SlidingRuns(self.plan.values[part], keys, *self._extents(row_codes, times, codes, ends))

    def _states(self, part: Custom, codes: Codes, ends: Integers) -> tuple[Codes, CustomState]:
        """The state of each window that has any, under its number."""
        cells = self.kept.customs[part]
        if part not in self._cells:
            order = np.lexsort((cells.places, cells.codes))
            self._cells[part] = cells.codes[order], cells.places[order], cells.state.take(order)
        row_codes, times, state = self._cells[part]
        return state.over(*self._extents(row_codes, times, codes, ends))

    def _extents(self, row_codes: Codes, times: Integers, codes: Codes, ends: Integers) -> tuple[Integers, Integers]:
        """Where the rows of each window begin and end among rows sorted by code and time."""
        lows, highs = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
        find_extents(row_codes, times, codes, ends, self.reach, lows, highs)
        return lows, highs


def pieces(plan: Plan, answers: Answers) -> Iterator[slice]:
    """Answers cut so that the values of a piece can be listed at once; all together where none are listed."""
    if not any(isinstance(plan.layout.function(place), Collect) for place in range(len(plan.layout.calls))):
        yield slice(0, len(answers))
        return
    sizes = np.cumsum(answers.state.adds[:, 0])
    first = 0
    while first < len(answers):
        before = int(sizes[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(sizes, before + EXPANDED)))
        yield slice(first, last)
        first = last
