"""The values of windows that slide over rows: each row enters and leaves once, whatever the length of a window."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.holistic import Collect
from windrow.aggregates.kinds.arrays import arrow, spread
from windrow.aggregates.kinds.base import Array, Custom, Integers, Runs, Values
from windrow.operators.kernels.rows.extents import slide_distinct, slide_frequent, slide_ranks
from windrow.operators.kernels.searching import find_runs
from windrow.operators.state.cells import Cells
from windrow.operators.state.customs import CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.values.multisets import Multiset, ValueCodes
from windrow.operators.state.values.value_rows import ValueRows
from windrow.operators.windows.base import Closed, Plan

FOUND = 1 << 22
"""Room for so many values at a time, at least those of one window."""
EXPANDED = 1 << 21
"""Values that are listed at once, at least those of one window."""


class SlidingRuns(Runs):
    """Window i holds the values of the rows `lows[i]..highs[i]`; rows are sorted by group and order.

    Ranks, numbers of different values and the most frequent ones are found while one window slides over the rows. Only
    who asks for a list of all values pays for the length of the windows.
    """

    def __init__(self, values: ValueCodes, keys: Integers, lows: Integers, highs: Integers) -> None:
        self._values = values
        self._keys = keys
        self._lows = lows
        self._highs = highs

    def sizes(self) -> Integers:
        return self._highs - self._lows

    @cached_property
    def listed(self) -> tuple[Integers, Array, Integers]:
        numbers, sizes = np.arange(len(self._lows), dtype=np.int32), self.sizes()
        multiset = Multiset.of(np.repeat(numbers, sizes), self._keys[spread(self._lows, sizes)])
        return self._values.listed(multiset, numbers)

    @cached_property
    def _order(self) -> Integers:
        return np.lexsort((self._highs, self._lows))

    @cached_property
    def _sliding(self) -> tuple[Integers, Integers]:
        return self._lows[self._order], self._highs[self._order]

    @cached_property
    def _ranked(self) -> tuple[Array, Integers]:
        """The different values in order, and the place of each row's value among them, from the first window on."""
        lows, highs = self._sliding
        return self._values.ranked(self._keys[lows[0] : highs[-1]])

    @property
    def _is_empty(self) -> bool:
        return not (self._highs > self._lows).any()

    def _at_ranks(self, ranks: Integers) -> tuple[Integers, Integers]:
        """The places of the `ranks[i]`-th value of each window and of the next one; anything where there is none."""
        different, places = self._ranked
        tree = np.zeros(len(different) + 1, np.int64)
        found, out = np.empty((2, len(ranks)), np.int64), np.empty((2, len(ranks)), np.int64)
        slide_ranks(places, *self._sliding, ranks[self._order], tree, out[0], out[1])
        found[:, self._order] = out
        return found[0], found[1]

    def numbers_around(self, ranks: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        if self._is_empty:
            return np.zeros(len(ranks)), np.zeros(len(ranks))
        numbers = np.asarray(self._ranked[0].cast(pa.float64(), safe=False))
        at, after = self._at_ranks(ranks)
        return numbers[at], numbers[after]

    def at_edge(self, *, last: bool) -> Array:
        if self._is_empty:
            return super().at_edge(last=last)
        sizes = self.sizes()
        at, _ = self._at_ranks(np.maximum(sizes - 1, 0) if last else np.zeros(len(sizes), np.int64))
        chosen: Array = self._ranked[0].take(arrow(at, null=sizes == 0))
        return chosen

    def distinct(self) -> Integers:
        if self._is_empty:
            return np.zeros(len(self._lows), np.int64)
        different, places = self._ranked
        found, out = np.empty(len(self._lows), np.int64), np.empty(len(self._lows), np.int64)
        slide_distinct(places, *self._sliding, np.zeros(len(different), np.int64), out)
        found[self._order] = out
        return found

    def most_frequent(self, most: int, least: npt.NDArray[np.float64]) -> tuple[Integers, Array, Integers]:
        if self._is_empty:
            return super().most_frequent(most, least)
        different = len(self._ranked[0])
        width = min(most, different, int(self.sizes().max()))
        step = max(1, FOUND // width)
        pieces = [self._frequent(slice(a, a + step), width, least) for a in range(0, len(least), step)]
        sizes, places, counts = (np.concatenate(column) for column in zip(*pieces, strict=True))
        given, starts = np.empty_like(sizes), np.empty_like(sizes)
        given[self._order], starts[self._order] = sizes, np.cumsum(sizes) - sizes
        index = spread(starts, given)
        return given, self._ranked[0].take(arrow(places[index])), counts[index]

    def _frequent(
        self, piece: slice, width: int, least: npt.NDArray[np.float64]
    ) -> tuple[Integers, Integers, Integers]:
        """Sizes, places and counts of windows that slide one after the other."""
        lows, highs = (bounds[piece] for bounds in self._sliding)
        leaves = 1 << max(1, (len(self._ranked[0]) - 1).bit_length())
        best = np.zeros(2 * leaves, np.int64)
        best[leaves:] = np.arange(leaves)
        for node in range(leaves.bit_length() - 2, -1, -1):  # nothing is counted yet: the smallest is the best
            best[1 << node : 2 << node] = best[2 << node : 4 << node : 2]
        sizes, found = np.empty(len(lows), np.int64), np.empty((2, len(lows), width), np.int64)
        places = self._ranked[1][lows[0] - self._sliding[0][0] :]
        counts = np.zeros(leaves, np.int64)
        slide_frequent(places, lows, highs, least[self._order[piece]], counts, best, sizes, found[0], found[1])
        chosen = np.arange(width) < sizes[:, None]
        return sizes, found[0][chosen], found[1][chosen]


class ExtentValues:
    """The values in each of some windows, for aggregates that look at them; rows are sorted once for all windows."""

    def __init__(self, plan: Plan, kept: ValueRows, reach: int) -> None:
        self.plan = plan
        self.kept = kept
        self.reach = reach
        self._logs: dict[Values, tuple[Codes, Integers, Integers]] = {}
        self._cells: dict[Custom, tuple[Codes, Integers, CustomState]] = {}

    def closed(self, answers: Cells, ends: Integers, range_: int) -> Iterator[Closed]:
        """The answers with the aggregates that look at values lowered, as many windows at a time as fit."""
        starts = ends - range_
        if not self.plan.keeps_values:
            yield Closed(answers, {}, starts, ends)
            return
        for piece in pieces(self.plan, answers):
            chosen = answers.take(piece)
            windows = chosen.codes, ends[piece]
            values = partial(self._runs, *windows), partial(self._states, *windows)
            lowered = self.plan.lower_runs(np.arange(len(chosen), dtype=np.int32), *values)
            yield Closed(chosen, lowered, starts[piece], ends[piece])

    def _runs(self, codes: Codes, ends: Integers, part: Values) -> SlidingRuns:
        if part not in self._logs:
            rows = self.kept.logs[part].content()
            rows = rows.take(np.lexsort((rows["place"], rows["code"])))
            self._logs[part] = rows["code"], rows["place"], rows["key"]
        row_codes, times, keys = self._logs[part]
        return SlidingRuns(self.plan.values[part], keys, *self._extents(row_codes, times, codes, ends))

    def _states(self, codes: Codes, ends: Integers, part: Custom) -> tuple[Codes, CustomState]:
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
        find_runs(row_codes, times, codes, ends - self.reach + 1, ends + 1, lows, highs)
        return lows, highs


def pieces(plan: Plan, answers: Cells) -> Iterator[slice]:
    """Answers cut so that the values of a piece can be listed at once; all together where none are listed."""
    if not any(isinstance(function, Collect) for function in plan.layout.functions):
        yield slice(0, len(answers))
        return
    sizes = np.cumsum(answers.state.adds[:, 0])
    first = 0
    while first < len(answers):
        before = int(sizes[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(sizes, before + EXPANDED)))
        yield slice(first, last)
        first = last
