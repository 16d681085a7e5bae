"""One `append` and one `decode` for all codecs, and whole columns as lines and back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from streamzip import base_delta, gorilla, squeeze
from streamzip.bits import LINE_BYTES, LINE_WORDS


class Codec(IntEnum):
    """How values are written; raw ones are eight to a line."""

    RAW = 0
    BASE_DELTA = 1
    XOR = 2
    DEPENDENT_XOR = 3
    SZ = 4


RAW, BASE_DELTA, XOR, DEPENDENT_XOR, SZ = range(5)
BOUND, RELATIVE, STREAMS, LOW = range(4)
"""Fields of the options that loops take, as floats."""

Words = npt.NDArray[np.uint64]
Cursors = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Coding:
    """A codec and what it leaves open: bound and sub-streams of SZ, the least difference of base-delta.

    `bound` is a share of each value, or where not `relative` a distance.

    >>> coding = Coding(Codec.BASE_DELTA)
    >>> lines = coding.encode(np.array([7, 8, 2000, 2001]))
    >>> coding.decode(lines, 4).tolist(), lines.nbytes
    ([7, 8, 2000, 2001], 64)
    """

    codec: Codec
    bound: float = 0.01
    relative: bool = True
    streams: int = 1
    low: int = -128

    @property
    def options(self) -> npt.NDArray[np.float64]:
        return np.array([self.bound, self.relative, self.streams, self.low], np.float64)

    def cursors(self, keys: int) -> Cursors:
        """A cursor for each key, at the start of its ring."""
        return np.zeros((keys, squeeze.SEEDS + 3 * self.streams), np.int64)

    def encode(self, values: npt.NDArray[Any]) -> Words:
        """The lines of a column; the last one is filled up with zeros."""
        words = np.zeros(ring_lines(len(values)) * LINE_WORDS, np.uint64)
        cursor = self.cursors(1)[0]
        _encode(int(self.codec), words, cursor, _as_words(values), self.options)
        return words[: LINE_WORDS * lines_between(int(self.codec), np.zeros_like(cursor), cursor)].copy()

    def decode(self, lines: Words, count: int) -> npt.NDArray[Any]:
        """The first `count` values: integers of raw and base-delta lines are given as such, all others as floats."""
        words = np.zeros(ring_lines(count) * LINE_WORDS, np.uint64)
        words[: len(lines)] = lines
        out = np.empty(count, np.int64)
        decode(int(self.codec), words, self.cursors(1)[0], count, out, self.options)
        return out if self.codec in (Codec.RAW, Codec.BASE_DELTA) else out.view(np.float64)


def ring_lines(values: int) -> int:
    """Lines that hold so many values however badly they compress, with one begun and one to spare; a power of two.

    >>> ring_lines(64)
    16
    """
    return 1 << (values // 5 + 2).bit_length()


def _as_words(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Integers as they are, the bits of floats."""
    return np.ascontiguousarray(values).view(np.int64)


@njit(cache=True, nogil=True)
def append(codec: int, words: Any, cursor: Any, value: int, options: Any) -> None:
    """Write a value, an integer or the bits of a float, behind the last one of a ring."""
    if codec == RAW:
        words[cursor[0] & (len(words) - 1)] = value
        cursor[0] += 1
    elif codec == BASE_DELTA:
        base_delta.append(words, cursor, value, np.int64(options[LOW]))
    elif codec == SZ:
        cursor[squeeze.SCRATCH] = value
        real = cursor[squeeze.SCRATCH : squeeze.SCRATCH + 1].view(np.float64)[0]
        squeeze.append(words, cursor, real, options[BOUND], options[RELATIVE] != 0, np.int64(options[STREAMS]))
    else:
        gorilla.append(words, cursor, value, codec == XOR)


@njit(cache=True, nogil=True)
def decode(codec: int, words: Any, cursor: Any, count: int, out: Any, options: Any) -> None:
    """Write the next `count` values of a ring to `out`, floats as their bits, and move behind them."""
    if codec == RAW:
        start = cursor[0] & (len(words) - 1)
        straight = min(count, len(words) - start)
        out[:straight] = words[start : start + straight].view(np.int64)
        out[straight:count] = words[: count - straight].view(np.int64)
        cursor[0] += count
    elif codec == BASE_DELTA:
        base_delta.decode(words, cursor, count, out, np.int64(options[LOW]))
    elif codec == SZ:
        squeeze.decode(words, cursor, count, out.view(np.float64), np.int64(options[STREAMS]))
    else:
        gorilla.decode(words, cursor, count, out, codec == XOR)


@njit(cache=True, nogil=True)
def lines_between(codec: int, reader: Any, writer: Any) -> Any:
    """Lines of 64 bytes from the one that is read next to the one that is written, both included."""
    if codec == RAW:
        return ((writer[0] + 7) >> 3) - (reader[0] >> 3)
    if codec in (XOR, DEPENDENT_XOR):
        return ((writer[0] + 511) >> 9) - (reader[0] >> 9)
    begun = writer[1] > 0 or writer[2] > 0
    return writer[0] - reader[0] + (1 if begun else 0)


@njit(cache=True, nogil=True)
def _encode(codec: int, words: Any, cursor: Any, values: Any, options: Any) -> None:
    for i in range(len(values)):
        append(codec, words, cursor, values[i], options)


def bytes_of(lines: Words) -> int:
    """What lines take, padding and all."""
    return len(lines) // LINE_WORDS * LINE_BYTES
