"""XOR, as in Gorilla (figures 4 and 9): floats as the bits in which they differ from the one before.

`0` is the same value; `10` and the bits within the span of the last `11`; `11`, 5 bits of leading zeros, 6 of length
(64 is written as 0), and the bits. Zeros in front are counted up to 31.

Dependent lines are one stream of bits behind a first raw value. Independent lines start with a raw value and the span
in 5 + 5 bits, so zeros behind are counted up to 31 there, too. A code does not cross into the next independent line:
ones fill what is left, which no code can be, since 31 zeros and 63 bits are more than 64. Before the first `11` the
span is 31, 31.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from streamzip.bits import LINE_BITS, get, leading_zeros, put, trailing_zeros

BIT, VALUE, LEAD, TRAIL = range(4)
"""Fields of a cursor: the next bit, counted from the first there was, the last value, the span of the last `11`."""

MOST = 31
HEADER = 74
SPAN, LENGTH = np.uint64(31), np.uint64(63)
SHORTEST_SPAN = 14
"""Bits of the shortest code that says its span."""


@njit(cache=True, nogil=True)
def append(words: Any, cursor: Any, value: int, independent: bool) -> None:
    """Write the bits of a value behind the last one."""
    if cursor[BIT] == 0:
        cursor[LEAD] = cursor[TRAIL] = MOST
    change = np.uint64(value ^ cursor[VALUE])
    lead, trail, same_span, length = _code(change, cursor)
    if independent:
        used = cursor[BIT] & (LINE_BITS - 1)
        if used > 0 and used + length > LINE_BITS:
            _fill(words, cursor, LINE_BITS - used)
            used = 0
        if used == 0:
            _start_line(words, cursor, value)
            return
    elif cursor[BIT] == 0:
        put(words, 0, 64, np.uint64(value))
        cursor[BIT], cursor[VALUE] = 64, value
        return
    at = cursor[BIT]
    if length == 1:
        put(words, at, 1, 0)
    elif same_span:
        put(words, at, 2, 1)
        put(words, at + 2, 64 - cursor[LEAD] - cursor[TRAIL], change >> np.uint64(cursor[TRAIL]))
    else:
        size = 64 - lead - trail
        put(words, at, 13, 3 | (lead << 2) | ((size & 63) << 7))
        put(words, at + 13, size, change >> np.uint64(trail))
        cursor[LEAD], cursor[TRAIL] = lead, trail
    cursor[BIT], cursor[VALUE] = at + length, value


@njit(cache=True, nogil=True)
def _code(change: Any, cursor: Any) -> Any:
    """The zeros around a change, whether it lies in the span there was, and how many bits its code has."""
    if change == np.uint64(0):
        return 0, 0, True, 1
    lead, trail = min(leading_zeros(change), MOST), trailing_zeros(change)
    if lead >= cursor[LEAD] and trail >= cursor[TRAIL]:
        return lead, trail, True, 2 + 64 - cursor[LEAD] - cursor[TRAIL]
    return lead, trail, False, 13 + 64 - lead - trail


@njit(cache=True, nogil=True)
def _fill(words: Any, cursor: Any, count: Any) -> None:
    """Ones up to the end of a line."""
    while count > 0:
        size = min(count, 32)
        put(words, cursor[BIT], size, (1 << size) - 1)
        cursor[BIT] += size
        count -= size


@njit(cache=True, nogil=True)
def _start_line(words: Any, cursor: Any, value: int) -> None:
    at = cursor[BIT]
    cursor[TRAIL] = min(cursor[TRAIL], MOST)
    put(words, at, 64, np.uint64(value))
    put(words, at + 64, 10, cursor[LEAD] | (cursor[TRAIL] << 5))
    cursor[BIT], cursor[VALUE] = at + HEADER, value


@njit(cache=True, nogil=True)
def decode(words: Any, cursor: Any, count: int, out: Any, independent: bool) -> None:
    """Write the bits of the next `count` values to `out`, and move behind them."""
    at, value, lead, trail = cursor[BIT], cursor[VALUE], cursor[LEAD], cursor[TRAIL]
    done = 0
    while done < count:
        room = LINE_BITS - (at & (LINE_BITS - 1))
        if at == 0 or (independent and room == LINE_BITS):
            value, at, lead, trail = _first(words, at, independent)
        else:
            code = get(words, at, 64)
            if code & np.uint64(1) == np.uint64(0):
                same = min(count - done, trailing_zeros(code) if code != np.uint64(0) else 64)
                same = min(same, room) if independent else same
                out[done : done + same] = value
                at, done = at + same, done + same
                continue
            if independent and room < SHORTEST_SPAN:
                code |= ~np.uint64(0) << np.uint64(room)  # as if ones came behind the line
            if code & np.uint64(2) == np.uint64(0):
                size = 64 - lead - trail
                value ^= np.int64(get(words, at + 2, size) << np.uint64(trail))
                at += 2 + size
            else:
                given, size = np.int64((code >> np.uint64(2)) & SPAN), np.int64((code >> np.uint64(7)) & LENGTH)
                if given + size > 64:
                    at += room
                    continue
                size = 64 if size == 0 else size
                lead, trail = given, 64 - given - size
                value ^= np.int64(get(words, at + 13, size) << np.uint64(trail))
                at += 13 + size
        out[done] = value
        done += 1
    cursor[BIT], cursor[VALUE], cursor[LEAD], cursor[TRAIL] = at, value, lead, trail


@njit(cache=True, nogil=True)
def _first(words: Any, at: Any, independent: bool) -> Any:
    """A raw value, where the next code is, and the span that it may refer to."""
    value = np.int64(get(words, at, 64))
    if not independent:
        return value, at + 64, MOST, MOST
    span = np.int64(get(words, at + 64, 10))
    return value, at + HEADER, span & 31, span >> 5
