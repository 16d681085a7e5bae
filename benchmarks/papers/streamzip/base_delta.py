"""Base-delta (figures 3 and 8a): integers as differences of one byte from a base of eight.

A value out of reach becomes the new base, and the greatest byte, which no difference has, marks its place. In a line
of 64 bytes differences go from the low end and bases from the high end, and a mark and its base are in one line. Where
they do not fit the rest of the line is marks: one without room for a base ends a line. The base before the first is 0.
The paper does not say whether differences are signed: `low` is the least one, -128 or 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from streamzip.bits import LINE_BYTES

BASE_BYTES = 8
MARK = 255
ZERO, LOWEST, HIGHEST = np.uint64(0), np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
"""Nothing, and the lowest or highest bits of all bytes of a word."""

LINE, DELTAS, BASES, BASE = range(4)
"""Fields of a cursor: the line, differences and bases of it that are written or read, the base that holds."""


@njit(cache=True, nogil=True)
def append(words: Any, cursor: Any, value: int, low: Any) -> None:
    """Write a value behind the last one."""
    data, mask = words.view(np.uint8), (len(words) >> 3) - 1
    delta = value - cursor[BASE] - low  # both wrap, as those of `decode` do
    is_near = 0 <= delta < MARK
    needed = 1 if is_near else 1 + BASE_BYTES
    used = cursor[DELTAS] + BASE_BYTES * cursor[BASES]
    if used + needed > LINE_BYTES:
        start = (cursor[LINE] & mask) * LINE_BYTES
        for place in range(cursor[DELTAS], LINE_BYTES - BASE_BYTES * cursor[BASES]):
            data[start + place] = MARK
        cursor[LINE] += 1
        cursor[DELTAS] = cursor[BASES] = 0
    start = (cursor[LINE] & mask) * LINE_BYTES
    data[start + cursor[DELTAS]] = delta if is_near else MARK
    cursor[DELTAS] += 1
    if not is_near:
        cursor[BASES] += 1
        words[(start + LINE_BYTES - BASE_BYTES * cursor[BASES]) >> 3] = value
        cursor[BASE] = value


@njit(cache=True, nogil=True)
def until_mark(words: Any, data: Any, start: Any, stop: Any) -> Any:
    """Differences before the next mark, looked for in eight bytes at once: the paper looks ahead for bases, too."""
    place = start
    while place < stop:
        if place & 7 == 0:
            missing = ~words[place >> 3]  # a byte of it is zero where there is a mark
            if (missing - LOWEST) & ~missing & HIGHEST == ZERO:
                place += 8
                continue
        if data[place] == MARK:
            return place - start
        place += 1
    return stop - start


@njit(cache=True, nogil=True)
def decode(words: Any, cursor: Any, count: int, out: Any, low: Any) -> None:
    """Write the next `count` values to `out`, and move behind them."""
    data, mask = words.view(np.uint8), (len(words) >> 3) - 1
    line, deltas, bases, base = cursor[LINE], cursor[DELTAS], cursor[BASES], cursor[BASE]
    done = 0
    while done < count:
        start, end = (line & mask) * LINE_BYTES, LINE_BYTES - BASE_BYTES * bases
        near = until_mark(words, data, start + deltas, start + min(end, deltas + count - done))
        shift, given, found = base + low, data[start + deltas : start + deltas + near], out[done : done + near]
        for i in range(near):
            found[i] = shift + np.int64(given[i])
        done, deltas = done + near, deltas + near
        if done == count:
            break
        if deltas + 1 + BASE_BYTES > end:
            line, deltas, bases = line + 1, 0, 0
            continue
        bases += 1
        deltas += 1
        base = np.int64(words[(start + LINE_BYTES - BASE_BYTES * bases) >> 3])
        out[done] = base
        done += 1
    cursor[LINE], cursor[DELTAS], cursor[BASES], cursor[BASE] = line, deltas, bases, base
