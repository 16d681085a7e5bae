"""Windows whose values are looked up among rows: each window is built from its own rows, many windows at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.aggregates.base import Array, Custom, Integers, Values
from windrow.operators.kernels.per_row import find_extents
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.multisets import Multiset
from windrow.operators.state.timeline import Answers
from windrow.operators.state.valuerows import ValueRows
from windrow.operators.windows.base import Closed, Plan

EXPANDED = 1 << 21
"""Values that are copied into their windows at once."""


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
        sizes = np.cumsum(answers.state.adds[:, 0])
        first = 0
        while first < len(answers):
            before = int(sizes[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(sizes, before + EXPANDED)))
            piece = slice(first, last)
            yield Closed(answers.take(piece), self._lowered(answers, ends, piece), starts[piece], ends[piece])
            first = last

    def _lowered(self, answers: Answers, ends: Integers, piece: slice) -> dict[int, Array]:
        codes, until = answers.codes[piece], ends[piece]
        return self.plan.lower(
            np.arange(len(codes), dtype=np.int32),
            answers.state.take(piece),
            lambda part: self._multiset(part, codes, until),
            lambda part: self._states(part, codes, until),
        )

    def _multiset(self, part: Values, codes: Codes, ends: Integers) -> Multiset:
        """The values of each window, under its number."""
        if part not in self._logs:
            times, row_codes, keys = self.kept.logs[part].content()
            order = np.lexsort((times, row_codes))
            self._logs[part] = row_codes[order], times[order], keys[order]
        row_codes, times, keys = self._logs[part]
        numbers, rows = self._expanded(row_codes, times, codes, ends)
        return Multiset.of(numbers, keys[rows])

    def _states(self, part: Custom, codes: Codes, ends: Integers) -> tuple[Codes, CustomState]:
        """The state of each window that has any, under its number."""
        cells = self.kept.customs[part]
        if cells is None:
            return np.empty(0, np.int32), CustomState.nothing(part)
        if part not in self._cells:
            order = np.lexsort((cells.places, cells.codes))
            self._cells[part] = cells.codes[order], cells.places[order], cells.state.take(order)
        row_codes, times, state = self._cells[part]
        numbers, rows = self._expanded(row_codes, times, codes, ends)
        found, reduced = state.take(rows).reduced(numbers.astype(np.int64))
        return found.astype(np.int32), reduced

    def _expanded(self, row_codes: Codes, times: Integers, codes: Codes, ends: Integers) -> tuple[Codes, Integers]:
        """Each row of each window: the number of the window, the place of the row."""
        lows, highs = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
        find_extents(row_codes, times, codes, ends, self.reach, lows, highs)
        sizes = highs - lows
        starts = np.cumsum(sizes) - sizes
        numbers = np.repeat(np.arange(len(ends), dtype=np.int32), sizes)
        return numbers, np.arange(len(numbers)) - np.repeat(starts - lows, sizes)
