"""State of holistic aggregates: all values of an argument as sorted runs (group, key, count)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.arrays import arrow, spread
from windrow.aggregates.kinds.base import Array, Integers, Runs, Values, is_scalar, value_type
from windrow.operators.compression.coded_column import Nature
from windrow.operators.expressions.values import decoded
from windrow.operators.kernels.rows import multisets as kernels
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.keys import array_from_keys, from_keys, ordered_keys


@dataclass(frozen=True)
class Multiset:
    """Runs sorted by (code, key), each different."""

    codes: Codes
    keys: Integers
    counts: Integers

    @staticmethod
    def nothing() -> Multiset:
        return Multiset.room(0)

    @staticmethod
    def of(codes: Codes, keys: Integers) -> Multiset:
        """The multiset of rows."""
        if len(codes) == 0:
            return Multiset.nothing()
        used, segments = compact_segments(codes.astype(np.int64))
        segment, key, count = sorted_runs(segments, keys, len(used))
        return Multiset(used[segment].astype(np.int32), key, count)

    def plus(self, other: Multiset) -> Multiset:
        if len(other.codes) == 0:
            return self
        if len(self.codes) == 0:
            return other
        out = Multiset.room(len(self.codes) + len(other.codes))
        return out.front(kernels.merge_runs(*self.arrays, *other.arrays, *out.arrays))

    @staticmethod
    def room(size: int) -> Multiset:
        """Arrays to write runs into."""
        return Multiset(np.empty(size, np.int32), np.empty(size, np.int64), np.empty(size, np.int64))

    def front(self, size: int) -> Multiset:
        """The first runs."""
        return Multiset(self.codes[:size], self.keys[:size], self.counts[:size])

    @property
    def arrays(self) -> tuple[Codes, Integers, Integers]:
        return self.codes, self.keys, self.counts

    def of_groups(self, chosen: npt.NDArray[np.bool_]) -> Multiset:
        inside = chosen[self.codes]
        return Multiset(self.codes[inside], self.keys[inside], self.counts[inside])

    def remap(self, mapping: Codes) -> Multiset:
        """Codes renamed by a mapping that keeps their order."""
        return Multiset(mapping[self.codes], self.keys, self.counts)

    def renumber(self, mapping: Integers) -> Multiset:
        """Keys renamed by a mapping that keeps their order."""
        return Multiset(self.codes, mapping[self.keys], self.counts)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)


def total(multisets: Iterable[Multiset]) -> Multiset:
    """All of them as one, by pairs: each run is copied as often as the number of multisets can be halved."""
    left = list(multisets)
    while len(left) > 1:
        odd = left[-1:] if len(left) % 2 else []
        left = [one.plus(other) for one, other in zip(left[::2], left[1::2], strict=False)] + odd
    return left[0] if left else Multiset.nothing()


def compact_segments(segments: Integers) -> tuple[Integers, Integers]:
    """The different segments in order, and each row's place among them."""
    least = int(segments.min())
    span = int(segments.max()) - least + 1
    if span > 4 * len(segments) + (1 << 16):
        used, inverse = np.unique(segments, return_inverse=True)
        return used, inverse.astype(np.int64)
    present = np.zeros(span, np.bool_)
    present[segments - least] = True
    place = np.cumsum(present) - 1
    return np.flatnonzero(present) + least, place[segments - least]


def sorted_runs(segments: Integers, keys: Integers, count: int) -> tuple[Integers, Integers, Integers]:
    """Runs (segment, key, count) of rows in `count` segments, sorted."""
    starts = np.zeros(count + 1, np.int64)
    ordered = np.empty(len(keys), np.int64)
    kernels.sort_segments(segments, keys, starts, ordered)
    runs = np.empty((3, len(keys)), np.int64)
    size = kernels.count_runs(starts, ordered, *runs)
    return runs[0, :size], runs[1, :size], runs[2, :size]


class KeptValues(Protocol):
    """Whatever keeps values by their keys."""

    def keys_in_use(self) -> Integers: ...

    def renumber(self, mapping: Integers) -> None:
        """Keys have changed: `mapping[old] = new`, in the same order."""


class ValueCodes:
    """Keys of an argument's values. Numbers and times are their own keys; others, and timed values, are numbered."""

    def __init__(self, part: Values, kind: pa.DataType) -> None:
        self.kind = value_type(kind)
        self.timed = part.timed
        self.direct = is_scalar(self.kind) and not part.timed
        self.known = Groups([pa.int64(), self.kind] if part.timed else [self.kind])

    @property
    def nature(self) -> Nature:
        """What the keys are made from, for who puts them into coded blocks."""
        return Nature.FLOAT_KEYS if self.direct and pa.types.is_floating(self.kind) else Nature.INTEGERS

    def keys(self, array: Array, times: Integers) -> Integers:
        if self.direct:
            return ordered_keys(decoded(array))
        columns: list[Array] = [arrow(times), array] if self.timed else [array]
        return self.known.encode(columns).astype(np.int64)

    def compact(self, kept: KeptValues) -> None:
        """Forget numbered values that are no longer kept, once they are most of all."""
        if self.direct:
            return
        found = self.known.compacted(lambda: np.unique(kept.keys_in_use()).astype(np.int32))
        if found is not None:
            self.known, mapping = found
            kept.renumber(mapping.astype(np.int64))

    def listed(self, multiset: Multiset, codes: Codes) -> tuple[Integers, Array, Integers]:
        """Offsets, values and counts of the wanted groups, in value order (or time order)."""
        first = np.searchsorted(multiset.codes, codes, side="left")
        last = np.searchsorted(multiset.codes, codes, side="right")
        sizes = last - first
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        index = spread(first, sizes)
        keys, counts = multiset.keys[index], multiset.counts[index]
        if self.direct:
            return offsets, array_from_keys(keys, self.kind), counts
        values, rank = self.ranked(keys)
        owner = np.repeat(np.arange(len(codes)), sizes)
        place = np.lexsort((rank, owner))
        return offsets, values.take(arrow(rank[place])), counts[place]

    def ranked(self, keys: Integers) -> tuple[Array, Integers]:
        """The different values of these keys in value order (or time order), and the rank of each key."""
        used, inverse = np.unique(keys, return_inverse=True)
        if self.direct:
            return array_from_keys(used, self.kind), inverse
        columns = self.known.decode(used.astype(np.int32))
        names = [str(i) for i in range(len(columns))]
        table: Any = pa.table(columns, names=names)
        order = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in names])
        rank = np.empty(len(used), np.int64)
        rank[np.asarray(order)] = np.arange(len(used))
        return columns[-1].take(order), rank[inverse]


class GroupRuns(Runs):
    """The runs of some groups of a multiset, listed only when an aggregate asks for more than ranks."""

    def __init__(self, values: ValueCodes, multiset: Multiset, codes: Codes, sizes: Integers) -> None:
        self._values = values
        self._multiset = multiset
        self._codes = codes
        self._sizes = sizes

    @cached_property
    def listed(self) -> tuple[Integers, Array, Integers]:
        return self._values.listed(self._multiset, self._codes)

    def sizes(self) -> Integers:
        return self._sizes

    def numbers_around(self, ranks: Integers) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        codes, keys, counts = self._multiset.codes, self._multiset.keys, self._multiset.counts
        if not self._values.direct or len(codes) == 0:
            return super().numbers_around(ranks)
        first, last = (np.searchsorted(codes, self._codes, side=side) for side in ("left", "right"))
        at, after = np.empty(len(ranks), np.int64), np.empty(len(ranks), np.int64)
        kernels.at_ranks(first, last, self._sizes, counts, ranks, at, after)
        kind = self._values.kind
        return from_keys(keys[at], kind).astype(np.float64), from_keys(keys[after], kind).astype(np.float64)


class RunningMultiset:
    """The multiset of a window that slides: each step copies it with the changes applied, blocks at a time."""

    def __init__(self) -> None:
        self.now = self._whole = Multiset.nothing()
        """`now` is the front of the arrays of `_whole`."""
        self._spare = Multiset.room(64)

    def change(self, more: Multiset, less: Multiset) -> None:
        """Add `more`, take away `less`, which is there."""
        changes = more.plus(Multiset(less.codes, less.keys, -less.counts))
        if len(changes.codes) == 0:
            return
        now, room = self.now, len(self.now.codes) + len(changes.codes)
        out = self._spare if len(self._spare.codes) >= room else Multiset.room(2 * room)
        size = kernels.apply_changes(*now.arrays, len(now.codes), *changes.arrays, *out.arrays)
        self.now, self._spare, self._whole = out.front(size), self._whole, out

    def remap(self, mapping: Codes) -> None:
        self.now = self._whole = self.now.remap(mapping)

    def renumber(self, mapping: Integers) -> None:
        self.now = self._whole = self.now.renumber(mapping)

    @property
    def nbytes(self) -> int:
        return self._whole.nbytes + self._spare.nbytes
