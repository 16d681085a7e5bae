"""Whole windows scanned: folded from a coded column, and of raw values by a two-level histogram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.compression.folding import ranked, sums

Integers = npt.NDArray[np.int64]
BUCKETS, FEW = 256, 32
MOST = (1 << 63) - 1


@dataclass(frozen=True)
class Windows:
    """Windows from `lows[i]` to `highs[i]`."""

    lows: Integers
    highs: Integers


def folded_scan(column: CodedColumn, windows: Windows) -> tuple[Any, ...]:
    """Sum, least, greatest, and the two values around the median of each window."""
    lows, highs = windows.lows, windows.highs
    tops, bottoms = sums(column, lows, highs)
    sizes = highs - lows
    ranks = np.stack([np.zeros_like(sizes), (sizes - 1) // 2, sizes - 1], 1)
    at, after = ranked(column, lows, highs, ranks)
    return (tops << 32) + bottoms, at[:, 0], at[:, 2], at[:, 1], after[:, 1]


def raw_scan(values: Integers, windows: Windows) -> tuple[Any, ...]:
    """The same of raw values."""
    out = np.empty((5, len(windows.lows)), np.int64)
    _scan(values, windows.lows, windows.highs, out)
    return tuple(out)


@njit(nogil=True)
def raw_sum(values):  # type: ignore[no-untyped-def]
    total = np.int64(0)
    for value in values:
        total += value
    return total


@njit(nogil=True)
def _scan(values, lows, highs, out):  # type: ignore[no-untyped-def]
    counts, room = np.zeros((4, BUCKETS), np.uint32), np.empty((highs - lows).max() + 1, np.int64)
    for w in range(len(lows)):
        low, high = lows[w], highs[w]
        total, least, greatest = np.int64(0), values[low], values[low]
        for i in range(low, high):
            total += values[i]
            least, greatest = min(least, values[i]), max(greatest, values[i])
        out[0, w], out[1, w], out[2, w] = total, least, greatest
        out[3, w], out[4, w] = _around_median(values[low:high], least, greatest, counts, room)


@njit(nogil=True)
def _around_median(values, first, last, counts, room):  # type: ignore[no-untyped-def]
    """The lower median and the value after it: coarse buckets, then fine ones in that of the median, till few are left.

    Buckets are counted in four tables, so that no count waits for the one before.
    """
    rank, size, after = (len(values) - 1) // 2, len(values), np.int64(MOST)
    while size > FEW and first < last:
        span, shift = np.uint64(last - first), np.uint64(0)
        while span >> shift >= np.uint64(BUCKETS):
            shift += np.uint64(1)
        _count(values[:size], first, shift, counts)
        before, bucket = _bucket_of(counts, rank)
        inside = np.int64(counts[0, bucket]) + counts[1, bucket] + counts[2, bucket] + counts[3, bucket]
        low = first + (np.int64(bucket) << np.int64(shift))
        high = min(last, low + (np.int64(1) << np.int64(shift)) - 1)
        if rank + 1 == before + inside < size:  # the next value is in another bucket
            after = _next_bucket(counts, bucket, first) if shift == 0 else _least_above(values[:size], high)
        if shift > 0:
            kept = 0
            for k in range(size):
                value = values[k]
                room[kept] = value
                kept += (value >= low) & (value <= high)
            values = room
        rank, size, first, last = rank - before, inside, low, high
    if first == last:
        return first, first if rank + 1 < size or after == MOST else after
    ordered = np.sort(values[:size])
    at = ordered[rank]
    return at, ordered[rank + 1] if rank + 1 < size else (at if after == MOST else after)


@njit(nogil=True)
def _least_above(values, high):  # type: ignore[no-untyped-def]
    least = np.int64(MOST)
    for value in values:
        least = min(least, np.int64(value if value > high else MOST))
    return least


@njit(nogil=True)
def _count(values, least, shift, counts):  # type: ignore[no-untyped-def]
    counts[:] = 0
    whole = len(values) & ~3
    for i in range(0, whole, 4):
        counts[0, np.uint64(values[i] - least) >> shift] += 1
        counts[1, np.uint64(values[i + 1] - least) >> shift] += 1
        counts[2, np.uint64(values[i + 2] - least) >> shift] += 1
        counts[3, np.uint64(values[i + 3] - least) >> shift] += 1
    for i in range(whole, len(values)):
        counts[0, np.uint64(values[i] - least) >> shift] += 1


@njit(nogil=True)
def _bucket_of(counts, rank):  # type: ignore[no-untyped-def]
    before, bucket = np.int64(0), 0
    while True:
        inside = np.int64(counts[0, bucket]) + counts[1, bucket] + counts[2, bucket] + counts[3, bucket]
        if rank < before + inside:
            return before, bucket
        before, bucket = before + inside, bucket + 1


@njit(nogil=True)
def _next_bucket(counts, bucket, least):  # type: ignore[no-untyped-def]
    bucket += 1
    while counts[0, bucket] + counts[1, bucket] + counts[2, bucket] + counts[3, bucket] == 0:
        bucket += 1
    return least + bucket
