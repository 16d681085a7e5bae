"""Windows whose values are looked up among rows: each window is built from its own rows, many windows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates import lookup
from windrow.aggregates.base import Array, Custom, Integers, Part, Runs, ValidCount, Values
from windrow.aggregates.quantile import Quantile
from windrow.operators.kernels.per_row import find_extents, slide_ranks
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.keys import from_keys
from windrow.operators.state.multisets import Multiset
from windrow.operators.state.timeline import Answers
from windrow.operators.state.valuerows import ValueRows
from windrow.operators.windows.base import Closed, Plan, pick

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
            last = max(first + 1, int(np.searchsorted(sizes, before + EXPANDED))) if self._lists else len(answers)
            piece = slice(first, last)
            lowered = self._lowered(answers.take(piece), ends[piece])
            yield Closed(answers.take(piece), lowered, starts[piece], ends[piece])
            first = last

    @property
    def _lists(self) -> bool:
        """Whether some aggregate wants more than ranks, so that windows are written out row by row."""
        by_rank = (isinstance(lookup(call.function), Quantile) for call in self.plan.layout.calls)
        kept = (isinstance(parts[0], (Values, Custom)) for parts in self.plan.layout.parts)
        return any(keeps and not ranked for keeps, ranked in zip(kept, by_rank, strict=True))

    def _lowered(self, answers: Answers, ends: Integers) -> dict[int, Array]:
        layout, numbers = self.plan.layout, np.arange(len(ends), dtype=np.int32)
        known: dict[Part, Any] = {
            part: ExtentRuns(self, part, answers.codes, ends, layout.read(ValidCount(part.argument), answers.state))
            for part in self.plan.values
        }
        for part in self.plan.custom:
            found, present = pick(*self._states(part, answers.codes, ends), numbers)
            known[part] = found.columns, present
        return {
            place: layout.lower(place, len(ends), known.__getitem__)
            for place, parts in enumerate(layout.parts)
            if isinstance(parts[0], (Values, Custom))
        }

    def rows(self, part: Values) -> tuple[Codes, Integers, Integers]:
        """Codes, times and keys of all rows kept, sorted by code and time."""
        if part not in self._logs:
            times, row_codes, keys = self.kept.logs[part].content()
            order = np.lexsort((times, row_codes))
            self._logs[part] = row_codes[order], times[order], keys[order]
        return self._logs[part]

    def extents(self, row_codes: Codes, times: Integers, codes: Codes, ends: Integers) -> tuple[Integers, Integers]:
        """Where the rows of each window begin and end among rows sorted by code and time."""
        lows, highs = np.empty(len(ends), np.int64), np.empty(len(ends), np.int64)
        find_extents(row_codes, times, codes, ends, self.reach, lows, highs)
        return lows, highs

    def multiset(self, part: Values, codes: Codes, ends: Integers) -> Multiset:
        """The values of each window, under its number."""
        row_codes, times, keys = self.rows(part)
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
        lows, highs = self.extents(row_codes, times, codes, ends)
        sizes = highs - lows
        starts = np.cumsum(sizes) - sizes
        numbers = np.repeat(np.arange(len(ends), dtype=np.int32), sizes)
        return numbers, np.arange(len(numbers)) - np.repeat(starts - lows, sizes)


class ExtentRuns(Runs):
    """The values of some windows; ranks are found while one window slides over the rows of each group."""

    def __init__(self, values: ExtentValues, part: Values, codes: Codes, ends: Integers, sizes: Integers) -> None:
        self._values = values
        self._part = part
        self._codes = codes
        self._ends = ends
        self._sizes = sizes
        self._known: tuple[Integers, Array, Integers] | None = None

    def listed(self) -> tuple[Integers, Array, Integers]:
        if self._known is None:
            multiset = self._values.multiset(self._part, self._codes, self._ends)
            numbers = np.arange(len(self._ends), dtype=np.int32)
            self._known = self._values.plan.values[self._part].listed(multiset, numbers)
        return self._known

    def sizes(self) -> Integers:
        return self._sizes

    def numbers_around(self, ranks: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Of numbers, which are their own keys: no other values have ranks."""
        codes, times, keys = self._values.rows(self._part)
        order = np.lexsort((self._ends, self._codes))
        lows, highs = self._values.extents(codes, times, self._codes[order], self._ends[order])
        different, places = np.unique(keys[lows[0] : highs[-1]], return_inverse=True)
        found = np.zeros((2, len(ranks)), np.int64)
        if len(different):
            tree = np.zeros(len(different) + 1, np.int64)
            out = np.empty_like(found)
            slide_ranks(places, lows, highs, ranks[order], tree, out[0], out[1])
            found[:, order] = different[out]
        kind = self._values.plan.values[self._part].kind
        at, after = (from_keys(row, kind).astype(np.float64) for row in found)
        return at, after
