"""Windows of the last WS values of each key, answered every WA values by decoding all of them (Single-SWAG).

A key has a ring of lines, a cursor that writes and a cursor that reads: the hash table's pointers and seeds. The line
that is written is the paper's second level, those before it the third. The first level, a few symbols a key next to
the compressor, is in `queues.py`: to a processor it would be the same memory. Expiry is the decoder's: it reads the WA
values that leave, and where it stands then, with its seeds, is where the window starts. There is no random access.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from streamzip.aggregates import aggregate, least_alone
from streamzip.bits import LINE_BYTES, LINE_WORDS
from streamzip.codecs import RAW, Codec, Coding, Cursors, Words, append, decode, lines_between, ring_lines

VALUE_BYTES = 8
WINDOWS, LINES = range(2)
"""What is counted: windows answered, and the lines they were in."""


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of all keys, in one coding."""

    coding: Coding
    size: int
    advance: int
    floats: bool
    words: Words
    writers: Cursors
    readers: Cursors
    counts: npt.NDArray[np.int64]
    seen: npt.NDArray[np.int64]

    @staticmethod
    def of(coding: Coding, keys: int, size: int, advance: int, *, floats: bool) -> Windows:
        if not 1 <= advance <= size:
            raise ValueError(f"an advance of {advance} is not from 1 to {size}")
        words = np.zeros((keys, ring_lines(size) * LINE_WORDS), np.uint64)
        cursors, counts = coding.cursors(keys), np.zeros(keys, np.int64)
        return Windows(coding, size, advance, floats, words, cursors, cursors.copy(), counts, np.zeros(2, np.int64))

    def push(
        self, keys: npt.NDArray[np.int64], values: npt.NDArray[Any], *, whole: bool = True
    ) -> npt.NDArray[np.float64]:
        """Take rows in; the answers of the windows they fill: average, least, greatest, median, or the least alone."""
        rooms = np.empty((4, self.size), np.int64)
        answers = np.empty((len(values), 4))
        filled = _push(
            int(self.coding.codec),
            keys,
            np.ascontiguousarray(values).view(np.int64),
            (self.size, self.advance, self.floats, whole),
            (self.words, self.writers, self.readers, self.counts, self.seen),
            self.coding.options,
            rooms,
            answers,
        )
        return answers[:filled]

    @property
    def ratio(self) -> float:
        """Bytes of the raw values of the windows answered so far over those of the lines they were in."""
        return float(self.seen[WINDOWS] * self.size * VALUE_BYTES / (self.seen[LINES] * LINE_BYTES))

    @property
    def lines(self) -> float:
        """Lines of a window, on average."""
        return float(self.seen[LINES] / self.seen[WINDOWS])


@njit(cache=True, nogil=True)
def _push(codec: int, keys: Any, values: Any, shape: Any, state: Any, options: Any, rooms: Any, answers: Any) -> int:
    size, advance, floats, whole = shape
    words, writers, readers, counts, seen = state
    window, reader, filled, mask = rooms[0], readers[0].copy(), 0, words.shape[1] - 1
    for i in range(len(values)):
        key = keys[i]
        if codec == RAW:  # in place, since a call takes longer than this
            words[key, writers[key, 0] & mask] = values[i]
            writers[key, 0] += 1
        else:
            append(codec, words[key], writers[key], values[i], options)
        counts[key] += 1
        if counts[key] < size:
            continue
        seen[WINDOWS] += 1
        seen[LINES] += lines_between(codec, readers[key], writers[key])
        decode(codec, words[key], readers[key], advance, window, options)
        reader[:] = readers[key]
        decode(codec, words[key], reader, size - advance, window[advance:], options)
        counts[key] -= advance
        if whole:
            aggregate(window, size, floats, rooms[1], rooms[2], answers[filled])
        else:
            least_alone(window, size, floats, rooms[1], answers[filled])
        filled += 1
    return filled


def cached(windows: Windows, values: npt.NDArray[Any], *, whole: bool = True) -> npt.NDArray[np.float64]:
    """As `push` for rows of key 0 alone, but the window is decoded once and kept (3.4.4): lines are still written."""
    if windows.coding.codec is Codec.SZ:
        raise ValueError("values that are kept as they came are not those that SZ reads back")
    rooms = np.empty((6, windows.size), np.int64)
    answers = np.empty((len(values), 4))
    filled = _cached(
        int(windows.coding.codec),
        np.ascontiguousarray(values).view(np.int64),
        (windows.size, windows.advance, windows.floats, whole),
        (windows.words[0], windows.writers[0], windows.readers[0], windows.counts),
        windows.coding.options,
        rooms,
        np.empty(4 * windows.size, np.int64),
        answers,
    )
    return answers[:filled]


@njit(cache=True, nogil=True)
def _cached(codec: int, values: Any, shape: Any, state: Any, options: Any, rooms: Any, kept: Any, answers: Any) -> int:
    size, advance, floats, whole = shape
    words, writer, reader, counts = state
    probe, start, end, filled = reader.copy(), 0, counts[0], 0
    decode(codec, words, probe, end, kept, options)
    for i in range(len(values)):
        if end == len(kept):
            kept[: end - start] = kept[start:end].copy()
            start, end = 0, end - start
        append(codec, words, writer, values[i], options)
        kept[end] = values[i]
        end += 1
        if end - start < size:
            continue
        decode(codec, words, reader, advance, rooms[0], options)
        if whole:
            aggregate(kept[start:end], size, floats, rooms[1], rooms[2], answers[filled])
        else:
            least_alone(kept[start:end], size, floats, rooms[1], answers[filled])
        start += advance
        filled += 1
    counts[0] = end - start
    return filled
