"""SZ (figures 5 and 8b): floats as which of three guesses is near enough, by two bits a value.

Guesses are the value before, the line through two, the parabola through three, all of them as they were read back,
not as they came; the nearest is taken. What none is near to is an outlier, of 4 bytes where that is near enough, else
of 8. In a line of 64 bytes symbols go from the low end and outliers from the high end.

Two bits leave no room to say how long an outlier is: a second symbol says so, 0 or 1, and 3 where a line ends before
its end. An outlier symbol without room for 4 bytes ends a line as well. Values are dealt out to sub-streams in turn,
each with three seeds of its own; all share the lines (figure 11). Seeds before the first value are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from streamzip.bits import LINE_BITS, LINE_BYTES, get, trailing_zeros

CONSTANT, LINEAR, POLYNOMIAL, OUTLIER = range(4)
SHORT, LONG = 0, 1

LINE, SYMBOLS, HIGH, TURN, SCRATCH, SEEDS = range(6)
"""Fields of a cursor: the line, its symbols and bytes of outliers, the sub-stream whose turn it is, a word to turn
floats into bits and back, three seeds for each sub-stream."""


@njit(cache=True, nogil=True)
def guess(symbol: int, x1: float, x2: float, x3: float) -> float:
    """What a value would be after `x1`, before which was `x2`, before which was `x3`.

    >>> guess(CONSTANT, 4.0, 1.0, 0.0), guess(LINEAR, 4.0, 1.0, 0.0), guess(POLYNOMIAL, 4.0, 1.0, 0.0)
    (4.0, 7.0, 9.0)
    """
    if symbol == CONSTANT:
        return x1
    if symbol == LINEAR:
        return 2.0 * x1 - x2
    return 3.0 * x1 - 3.0 * x2 + x3


@njit(cache=True, nogil=True)
def append(words: Any, cursor: Any, value: float, bound: float, relative: Any, streams: Any) -> None:
    """Write a value behind the last one, within a bound, or within a share of the value."""
    seeds = cursor[SEEDS + 3 * cursor[TURN] : SEEDS + 3 * cursor[TURN] + 3].view(np.float64)
    allowed = bound * abs(value) if relative else bound
    symbol, nearest, kept = OUTLIER, np.inf, value
    for tried in range(3):
        guessed = guess(tried, seeds[0], seeds[1], seeds[2])
        if abs(guessed - value) <= allowed and abs(guessed - value) < nearest:
            symbol, nearest, kept = tried, abs(guessed - value), guessed
    single = np.float32(value)
    is_short = abs(np.float64(single) - value) <= allowed
    needed = 2 if symbol != OUTLIER else (36 if is_short else 68)
    if 2 * cursor[SYMBOLS] + 8 * cursor[HIGH] + needed > LINE_BITS:
        _next_line(words, cursor)
    _put_symbol(words, cursor, symbol)
    if symbol == OUTLIER:
        _put_symbol(words, cursor, SHORT if is_short else LONG)
        kept = np.float64(single) if is_short else value
        _put_outlier(words, cursor, kept, is_short)
    _move(cursor, seeds, kept, streams)


@njit(cache=True, nogil=True)
def _move(cursor: Any, seeds: Any, value: Any, streams: Any) -> None:
    """Let a value be the last one of its sub-stream; the turn is the next one's."""
    seeds[2], seeds[1], seeds[0] = seeds[1], seeds[0], value
    cursor[TURN] = cursor[TURN] + 1 if cursor[TURN] + 1 < streams else 0


@njit(cache=True, nogil=True)
def _next_line(words: Any, cursor: Any) -> None:
    while 2 * (cursor[SYMBOLS] + 1) + 8 * cursor[HIGH] <= LINE_BITS:
        _put_symbol(words, cursor, OUTLIER)
    cursor[LINE] += 1
    cursor[SYMBOLS] = cursor[HIGH] = 0


@njit(cache=True, nogil=True)
def _put_symbol(words: Any, cursor: Any, symbol: int) -> None:
    data, mask = words.view(np.uint8), (len(words) >> 3) - 1
    place, shift = (cursor[LINE] & mask) * LINE_BYTES + (cursor[SYMBOLS] >> 2), 2 * (cursor[SYMBOLS] & 3)
    data[place] = (np.int64(data[place]) & ((1 << shift) - 1)) | (symbol << shift)
    cursor[SYMBOLS] += 1


@njit(cache=True, nogil=True)
def _put_outlier(words: Any, cursor: Any, value: Any, is_short: Any) -> None:
    mask = (len(words) >> 3) - 1
    end = ((cursor[LINE] & mask) * LINE_BYTES + LINE_BYTES - cursor[HIGH]) >> 2
    if is_short:
        words.view(np.float32)[end - 1] = value
    else:
        cursor[SCRATCH : SCRATCH + 1].view(np.float64)[0] = value
        words.view(np.int32)[end - 2] = cursor[SCRATCH] & 0xFFFFFFFF
        words.view(np.int32)[end - 1] = cursor[SCRATCH] >> 32
    cursor[HIGH] += 4 if is_short else 8


@njit(cache=True, nogil=True)
def decode(words: Any, cursor: Any, count: int, out: Any, streams: Any) -> None:
    """Write the next `count` values to `out`, floats, and move behind them."""
    data, mask = words.view(np.uint8), (len(words) >> 3) - 1
    line, symbols, high, turn, done = cursor[LINE], cursor[SYMBOLS], cursor[HIGH], cursor[TURN], 0
    seeds = cursor[SEEDS:].view(np.float64)
    while done < count:
        start, room = (line & mask) * LINE_BYTES, LINE_BITS - 2 * symbols - 8 * high
        symbol = _symbol(data, start, symbols) if room >= 2 else OUTLIER
        first = 3 * turn
        if symbol == CONSTANT and streams == 1:
            alike = min(constants(words, 8 * start + 2 * symbols, room), count - done)
            out[done : done + alike] = seeds[0]
            seeds[2] = seeds[1] if alike == 1 else seeds[0]
            seeds[1] = seeds[0]
            symbols, done = symbols + alike, done + alike
            continue
        if symbol == OUTLIER:
            length = _symbol(data, start, symbols + 1) if room >= 36 else OUTLIER
            if length == OUTLIER:
                line, symbols, high = line + 1, 0, 0
                continue
            value = _outlier(words, cursor, (start + LINE_BYTES - high) >> 2, length == SHORT)
            symbols += 2
            high += 4 if length == SHORT else 8
        else:
            value = guess(symbol, seeds[first], seeds[first + 1], seeds[first + 2])
            symbols += 1
        seeds[first + 2], seeds[first + 1], seeds[first] = seeds[first + 1], seeds[first], value
        turn = turn + 1 if turn + 1 < streams else 0
        out[done] = value
        done += 1
    cursor[LINE], cursor[SYMBOLS], cursor[HIGH], cursor[TURN] = line, symbols, high, turn


@njit(cache=True, nogil=True)
def constants(words: Any, at: Any, room: Any) -> Any:
    """How many symbols from bit `at` on are `CONSTANT`, at most 32 and not beyond the room of the line."""
    code = get(words, at, 64)
    return min(32 if code == np.uint64(0) else trailing_zeros(code) >> 1, room >> 1)


@njit(cache=True, nogil=True)
def _symbol(data: Any, start: Any, place: Any) -> Any:
    return (np.int64(data[start + (place >> 2)]) >> (2 * (place & 3))) & 3


@njit(cache=True, nogil=True)
def _outlier(words: Any, cursor: Any, end: int, is_short: bool) -> Any:
    """The outlier whose last half word is before `end`."""
    if is_short:
        return np.float64(words.view(np.float32)[end - 1])
    halves = words.view(np.int32)
    cursor[SCRATCH] = (np.int64(halves[end - 1]) << 32) | (np.int64(halves[end - 2]) & 0xFFFFFFFF)
    return cursor[SCRATCH : SCRATCH + 1].view(np.float64)[0]
