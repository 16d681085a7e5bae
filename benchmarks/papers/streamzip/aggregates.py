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
    if floats:
        for i in range(count):
            keys[i] = window[i] ^ ((window[i] >> 63) & _FLIP)
    else:
        keys[:count] = window[:count]
    least = greatest = keys[0]
    for i in range(count):
        least, greatest = min(least, keys[i]), max(greatest, keys[i])
    low, high = medians(keys, count, least, greatest, spare)
    answer[AVERAGE] = (total(window.view(np.float64), count) if floats else total(window, count)) / count
    answer[LEAST] = _real(least, floats, spare)
    answer[GREATEST] = _real(greatest, floats, spare)
    answer[MEDIAN] = (_real(low, floats, spare) + _real(high, floats, spare)) / 2


@njit(cache=True, nogil=True)
def total(numbers: Any, count: int) -> float:
    """The sum in eight lanes, since each addition waits for the one before it in its lane."""
    lanes = np.zeros(8)
    whole = count & ~7
    for i in range(0, whole, 8):
        for lane in range(8):
            lanes[lane] += numbers[i + lane]
    for i in range(whole, count):
        lanes[0] += numbers[i]
    found: float = lanes.sum()
    return found


@njit(cache=True, nogil=True)
def least_alone(window: Any, count: int, floats: bool, spare: Any, answer: Any) -> None:
    """What the paper's circuits for floats compute."""
    flip = _FLIP if floats else np.int64(0)
    least = np.int64(_FLIP)
    for i in range(count):
        least = min(least, window[i] ^ ((window[i] >> 63) & flip))
    answer[:] = _real(least, floats, spare)


@njit(cache=True, nogil=True)
def _real(key: Any, floats: bool, spare: Any) -> Any:
    """The number of an order key."""
    if not floats:
        return np.float64(key)
    spare[0] = key ^ ((key >> 63) & _FLIP)
    return spare.view(np.float64)[0]


@njit(cache=True, nogil=True)
def medians(keys: Any, count: int, least: Any, greatest: Any, spare: Any) -> Any:
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
def ranked(keys: Any, count: int, rank: int, least: Any, greatest: Any, spare: Any) -> Any:
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
def _taken(found: Any, count: int, start: Any, shift: int, bucket: int, spare: Any) -> Any:
    """Move the values of a bucket to the front of `spare`; how many, the least and the greatest."""
    kept, least, greatest = 0, np.int64(_FLIP), np.int64(~_FLIP)
    for i in range(count):
        value = found[i]
        if np.int64(np.uint64(value - start) >> np.uint64(shift)) == bucket:
            spare[kept] = value
            least, greatest = min(least, value), max(greatest, value)
            kept += 1
    return kept, least, greatest
