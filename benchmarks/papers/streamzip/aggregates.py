"""The paper's query on a decoded window: average, least, greatest and median, or the least alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

AVERAGE, LEAST, GREATEST, MEDIAN = range(4)

_FEW = 24
_MOST_BUCKETS = 1024
_FLIP = np.int64((1 << 63) - 1)


@njit(cache=True, nogil=True)
def aggregate(window: Any, count: int, floats: bool, keys: Any, spare: Any, answer: Any) -> None:
    """The four aggregates of integers, or of floats given as their bits; `keys` and `spare` have room for a window."""
    total, least, greatest = 0.0, np.int64(0), np.int64(0)
    reals = window.view(np.float64)
    for i in range(count):
        key = window[i]
        if floats:
            total += reals[i]
            key ^= (key >> 63) & _FLIP
        else:
            total += key
        keys[i] = key
        least = min(least, key) if i else key
        greatest = max(greatest, key) if i else key
    low, high = medians(keys, count, least, greatest, spare)
    answer[AVERAGE] = total / count
    answer[LEAST] = _real(least, floats, spare)
    answer[GREATEST] = _real(greatest, floats, spare)
    answer[MEDIAN] = (_real(low, floats, spare) + _real(high, floats, spare)) / 2


@njit(cache=True, nogil=True)
def least_alone(window: Any, count: int, floats: bool, answer: Any) -> None:
    """What the paper's circuits for floats compute."""
    reals, real, least = window.view(np.float64), np.inf, window[0]
    for i in range(count):
        if floats:
            real = min(real, reals[i])
        else:
            least = min(least, window[i])
    answer[:] = real if floats else np.float64(least)


@njit(cache=True, nogil=True)
def _real(key: int, floats: bool, spare: Any) -> float:
    """The number of an order key."""
    if not floats:
        return np.float64(key)
    spare[0] = key ^ ((key >> 63) & _FLIP)
    found: float = spare.view(np.float64)[0]
    return found


@njit(cache=True, nogil=True)
def medians(keys: Any, count: int, least: int, greatest: int, spare: Any) -> Any:
    """The two values in the middle, which are one where the count is odd."""
    low, behind = ranked(keys, count, (count - 1) // 2, least, greatest, spare)
    if behind > count // 2:
        return low, low
    high = greatest
    for i in range(count):
        if low < keys[i] < high:
            high = keys[i]
    return low, high


@njit(cache=True, nogil=True)
def ranked(keys: Any, count: int, rank: int, least: int, greatest: int, spare: Any) -> Any:
    """The value of a rank, from 0, and how many are not greater: by counting in buckets, then within the bucket."""
    found, below, taken = keys, 0, count
    sums = np.zeros(_MOST_BUCKETS, np.int64)
    while least < greatest and taken > _FEW:
        shift, buckets = 0, min(_MOST_BUCKETS, max(32, taken))
        span = np.uint64(greatest - least)
        while (span >> np.uint64(shift)) >= np.uint64(buckets):
            shift += 1
        sums[:buckets] = 0
        for i in range(taken):
            sums[np.int64(np.uint64(found[i] - least) >> np.uint64(shift))] += 1
        bucket = 0
        while below + sums[bucket] <= rank:
            below += sums[bucket]
            bucket += 1
        taken, least, greatest = _taken(found, taken, least, shift, bucket, spare)
        found = spare
    if least == greatest:
        return least, below + taken
    spare[:taken] = found[:taken]
    spare[:taken].sort()
    place = rank - below
    last = place
    while last + 1 < taken and spare[last + 1] == spare[place]:
        last += 1
    return spare[place], below + last + 1


@njit(cache=True, nogil=True)
def _taken(found: Any, count: int, start: int, shift: int, bucket: int, spare: Any) -> Any:
    """Move the values of a bucket to the front of `spare`; how many, the least and the greatest."""
    kept, least, greatest = 0, np.int64(_FLIP), np.int64(~_FLIP)
    for i in range(count):
        value = found[i]
        if np.int64(np.uint64(value - start) >> np.uint64(shift)) == bucket:
            spare[kept] = value
            least, greatest = min(least, value), max(greatest, value)
            kept += 1
    return kept, least, greatest
