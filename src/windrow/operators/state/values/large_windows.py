"""The values of a window that is larger than memory is to hold at once: answered from its stretches as they lie.

A stretch is one pane's runs, sorted by group and key, in coded blocks or on the disk. Groups are put together few at a
time. The ranks of a group that is too large by itself are found between the bounds of its blocks: only blocks that can
hold the value are read; all of its values are looked at stretch by stretch of keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, spread
from windrow.aggregates.kinds.base import Array, Integers, Numbers, Runs
from windrow.operators.state.groups import Codes
from windrow.operators.state.keys import from_keys
from windrow.operators.state.values.multisets import GroupRuns, Multiset, ValueCodes, total
from windrow.operators.store.budget import Budget
from windrow.operators.store.row_block import Column, RowBlock

TOGETHER = 1 << 21
"""Rows of groups that are put together at once."""
LOOKS = 32
"""Keys of a stretch by which it is decided where a group is cut."""
RUN_BYTES = 40
"""Of a run in the multiset of a window, which is there twice while it slides."""

Found = TypeVar("Found")


def is_large(runs: int, budget: Budget | None) -> bool:
    """Whether so many runs are more than memory is to hold as they are."""
    return budget is not None and budget.is_beyond(runs * RUN_BYTES)


def stretch_of(multiset: Multiset) -> RowBlock:
    """Runs as a stretch."""
    columns: dict[str, Column] = {"code": multiset.codes, "key": multiset.keys, "count": multiset.counts}
    return RowBlock(columns, by=("code", "key"))


def drained(parts: list[RowBlock]) -> Iterator[RowBlock]:
    """Each part once, and none is kept here: what was read can go."""
    parts.reverse()
    while parts:
        yield parts.pop()


@dataclass(frozen=True)
class LargeWindow:
    """Its stretches, each sorted by group and key."""

    stretches: Sequence[RowBlock]

    def of_groups(self, first: int, last: int) -> list[RowBlock]:
        """What belongs to the groups from `first` to `last`, stretch by stretch."""
        cuts = [(s, s.search("code", first), s.search("code", last + 1)) for s in self.stretches]
        return [stretch.take(slice(low, high)) for stretch, low, high in cuts if low < high]

    def plus(self, multiset: Multiset) -> LargeWindow:
        """With values that are in memory."""
        return LargeWindow([*self.stretches, stretch_of(multiset)] if len(multiset.codes) else self.stretches)

    def multiset(self, first: int, last: int) -> Multiset:
        """The values of some groups in memory."""
        return _in_memory(self.of_groups(first, last))

    def key_by_key(self, code: int) -> Iterator[Multiset]:
        """The values of one group in their order, few at a time."""
        stretches = self.of_groups(code, code)
        cuts = _key_cuts(stretches)
        for low, high in pairwise([None, *cuts, None]):
            edges = ((s, 0 if low is None else s.search("key", low)) for s in stretches)
            found = [(s, a, len(s) if high is None else s.search("key", high)) for s, a in edges]
            yield _in_memory(stretch.take(slice(a, b)) for stretch, a, b in found if a < b)


class LargeRuns(Runs):
    """The runs of some groups in any order, put together by their codes, and only for some of them at a time."""

    def __init__(self, values: ValueCodes, window: LargeWindow, codes: Codes, sizes: Integers) -> None:
        self._values = values
        self._window = window
        self._given = sizes
        self._order = np.argsort(codes, kind="stable")
        self._codes, self._sizes = codes[self._order], sizes[self._order]

    def sizes(self) -> Integers:
        return self._given

    @cached_property
    def _mean_size(self) -> float:
        """Rows of the window for each group it may have."""
        parts = [stretch for stretch in self._window.stretches if len(stretch)]
        groups = 1 + max((stretch.span("code")[1] for stretch in parts), default=0)
        return sum(map(len, parts)) / groups

    def _pieces(self) -> Iterator[slice]:
        """Stretches of groups that have few rows together, and few between them, or one group alone."""
        start, rows, widest = 0, 0, TOGETHER / max(self._mean_size, 1e-9)
        for at, (size, code) in enumerate(zip(self._sizes.tolist(), self._codes.tolist(), strict=True)):
            if at > start and (rows + size > TOGETHER or code - self._codes[start] >= widest):
                yield slice(start, at)
                start, rows = at, 0
            rows += size
        yield slice(start, len(self._sizes))

    def _is_large(self, piece: slice) -> bool:
        """Whether it is one group with too many rows to be put together."""
        return int(self._sizes[piece].sum()) > TOGETHER

    def _key_by_key(self, piece: slice) -> Iterator[GroupRuns]:
        """The runs of one group, few keys at a time."""
        codes, sizes = self._codes[piece], self._sizes[piece]
        for multiset in self._window.key_by_key(int(codes[0])):
            yield GroupRuns(self._values, multiset, codes, sizes)

    def _runs(self, piece: slice) -> GroupRuns:
        codes = self._codes[piece]
        if len(codes) == 0:
            return GroupRuns(self._values, Multiset.nothing(), codes, self._sizes[piece])
        multiset = self._window.multiset(int(codes[0]), int(codes[-1]))
        return GroupRuns(self._values, multiset, codes, self._sizes[piece])

    def _each(self, answer: Callable[[GroupRuns], Found]) -> list[Found]:
        return [answer(self._runs(piece)) for piece in self._pieces()]

    def _as_given(self, numbers: Numbers) -> Numbers:
        """Numbers of groups in the order of codes, in that in which they were asked for."""
        given = np.empty_like(numbers)
        given[self._order] = numbers
        return given

    @cached_property
    def _places(self) -> Integers:
        """Where each group that was asked for is among the codes."""
        return self._as_given(np.arange(len(self._order)))

    def _lists_as_given(
        self, sizes: Integers, values: list[Array], counts: Integers
    ) -> tuple[Integers, Array, Integers]:
        """Lists of values and counts, one for each group, likewise: how many each has, then all."""
        whole, starts = _joined(values), np.cumsum(sizes) - sizes
        if (np.diff(self._order) > 0).all():
            return sizes, whole, counts
        index = spread(starts[self._places], sizes[self._places])
        return sizes[self._places], whole.take(arrow(index)), counts[index]

    @cached_property
    def listed(self) -> tuple[Integers, Array, Integers]:
        found = self._each(lambda runs: runs.listed)
        sizes, counts = (np.concatenate(a) for a in zip(*((np.diff(o), c) for o, _, c in found), strict=True))
        sizes, values, counts = self._lists_as_given(sizes, [values for _, values, _ in found], counts)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), values, counts

    def distinct(self) -> Integers:
        return self._as_given(np.concatenate([self._distinct(piece) for piece in self._pieces()]))

    def _distinct(self, piece: slice) -> Integers:
        if not self._is_large(piece):
            return self._runs(piece).distinct()
        counts: Integers = np.sum([runs.distinct() for runs in self._key_by_key(piece)], axis=0)
        return counts

    def at_edge(self, *, last: bool) -> Array:
        edges: Array = _joined(self._each(lambda runs: runs.at_edge(last=last))).take(arrow(self._places))
        return edges

    def most_frequent(self, most: int, least: npt.NDArray[np.float64]) -> tuple[Integers, Array, Integers]:
        ordered = least[self._order]
        found = [self._most_frequent(piece, most, ordered[piece]) for piece in self._pieces()]
        sizes, counts = (np.concatenate([one[i] for one in found]) for i in (0, 2))
        return self._lists_as_given(sizes, [values for _, values, _ in found], counts)

    def _most_frequent(
        self, piece: slice, most: int, least: npt.NDArray[np.float64]
    ) -> tuple[Integers, Array, Integers]:
        if not self._values.direct or not self._is_large(piece):
            return self._runs(piece).most_frequent(most, least)
        found = [runs.most_frequent(most, least) for runs in self._key_by_key(piece)]  # in the order of their values
        counts = np.concatenate([counts for _, _, counts in found])
        order = np.argsort(-counts, kind="stable")[:most]
        values: Array = _joined([values for _, values, _ in found]).take(arrow(order))
        return np.array([len(order)]), values, counts[order]

    def numbers_around(self, ranks: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        at, after, ordered = np.zeros(len(ranks)), np.zeros(len(ranks)), ranks[self._order]
        for piece in self._pieces():
            if self._values.direct and self._is_large(piece):
                code = int(self._codes[piece][0])
                keys = _keys_at(self._window.of_groups(code, code), int(ordered[piece][0]), int(self._sizes[piece][0]))
                at[piece], after[piece] = from_keys(keys, self._values.kind).astype(np.float64)
            else:
                at[piece], after[piece] = self._runs(piece).numbers_around(ordered[piece])
        return self._as_given(at), self._as_given(after)


def _joined(arrays: list[Array]) -> Array:
    whole: Array = pa.concat_arrays(arrays)
    return whole


def _in_memory(stretches: Iterable[RowBlock]) -> Multiset:
    return total(Multiset(s["code"], s["key"], s["count"]) for s in stretches)


def _key_cuts(stretches: Sequence[RowBlock]) -> list[int]:
    """Keys between which a group has about half as many runs as are put together at once, by some of each stretch."""
    found = []
    for stretch in stretches:
        places = np.unique(np.linspace(0, len(stretch) - 1, LOOKS).astype(np.int64))
        found.append((stretch.part("key", places), np.full(len(places), len(stretch) / len(places))))
    keys, runs = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(keys, kind="stable")
    steps = np.cumsum(runs[order]) // (TOGETHER / 2)
    cuts: list[int] = np.unique(keys[order][1:][np.diff(steps) > 0]).tolist()
    return cuts


@dataclass(frozen=True)
class _Bounds:
    """Of each block of all stretches: least and greatest key, how many rows, and where it is."""

    leasts: Integers
    greatests: Integers
    rows: Integers
    stretches: Integers
    starts: Integers
    stops: Integers


def _bounds(stretches: Sequence[RowBlock]) -> _Bounds:
    found: list[tuple[Any, ...]] = []
    for number, stretch in enumerate(stretches):
        leasts, greatests, starts = stretch.block_bounds("key")
        counts = stretch["count"]
        rows = np.add.reduceat(counts, starts[:-1])
        found.append((leasts, greatests, rows, np.full(len(leasts), number), starts[:-1], starts[1:]))
    return _Bounds(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _keys_at(stretches: Sequence[RowBlock], rank: int, size: int) -> Integers:
    """The keys of the `rank`-th row of one group and of the next one, where there is one."""
    bounds, following = _bounds(stretches), min(rank + 1, size - 1)
    order = np.argsort(bounds.leasts, kind="stable")
    reached = np.cumsum(bounds.rows[order])
    low = bounds.leasts[order[np.searchsorted(reached, rank, side="right")]]  # fewer rows can be below this
    order = np.argsort(bounds.greatests, kind="stable")
    passed = np.cumsum(bounds.rows[order])
    high = bounds.greatests[order[np.searchsorted(passed, following, side="right")]]  # more rows are up to this
    below = int(bounds.rows[bounds.greatests < low].sum())
    keys, counts = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for block in np.flatnonzero((bounds.greatests >= low) & (bounds.leasts <= high)):
        rows = slice(int(bounds.starts[block]), int(bounds.stops[block]))
        found, times = (stretches[bounds.stretches[block]].part(name, rows) for name in ("key", "count"))
        below += int(times[found < low].sum())
        inside = (found >= low) & (found <= high)
        keys.append(found[inside])
        counts.append(times[inside])
    candidates, times = np.concatenate(keys), np.concatenate(counts)
    order = np.argsort(candidates, kind="stable")
    places = np.searchsorted(np.cumsum(times[order]), np.array([rank, following]) - below, side="right")
    return candidates[order[places]]
