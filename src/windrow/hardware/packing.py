"""Values of any width side by side in 64-bit words, whole arrays at a time; the lowest bits come first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Words: TypeAlias = npt.NDArray[np.uint64]
"""Either one number a row, or rows of several words each, the lowest word first."""
WORD = 64


def words_for(bits: int) -> int:
    return max(1, -(-bits // WORD))


def pack(rows: int, columns: Iterable[tuple[Words | npt.NDArray[np.bool_], int]]) -> Words:
    """Columns of numbers, each with its width, as rows of words; the first column lies in the lowest bits.

    >>> pack(2, [(np.array([1, 0], np.uint64), 1), (np.array([5, 6], np.uint64), 3)]).tolist()
    [[11], [12]]
    """
    given = list(columns)
    packed = np.zeros((rows, words_for(sum(width for _, width in given))), np.uint64)
    place = 0
    for values, width in given:
        _put(packed, place, np.asarray(values).astype(np.uint64, copy=False), width)
        place += width
    return packed


def _put(packed: Words, place: int, values: Words, width: int) -> None:
    for number in range(words_for(width)):
        part = values if values.ndim == 1 else values[:, number]
        bits = min(WORD, width - WORD * number)
        part = part & _mask(bits)
        word, shift = divmod(place + WORD * number, WORD)
        packed[:, word] |= part << np.uint64(shift)
        if shift + bits > WORD:
            packed[:, word + 1] |= part >> np.uint64(WORD - shift)


def unpack(packed: Words, place: int, width: int) -> Words:
    """The numbers of `width` bits from bit `place` on: one a row where a word holds them, else rows of words.

    >>> unpack(np.array([[11], [12]], np.uint64), 1, 3).tolist()
    [5, 6]
    """
    found = np.zeros((len(packed), words_for(width)), np.uint64)
    for number in range(found.shape[1]):
        bits = min(WORD, width - WORD * number)
        word, shift = divmod(place + WORD * number, WORD)
        part = packed[:, word] >> np.uint64(shift)
        if shift + bits > WORD:
            part = part | packed[:, word + 1] << np.uint64(WORD - shift)
        found[:, number] = part & _mask(bits)
    return found[:, 0] if width <= WORD else found


def with_sign(values: Words, width: int) -> npt.NDArray[np.int64]:
    """Numbers of `width` bits, of which the highest one is the sign.

    >>> with_sign(np.array([3, 4, 7], np.uint64), 3).tolist()
    [3, -4, -1]
    """
    shift = np.int64(WORD - width)
    return (values << np.uint64(shift)).view(np.int64) >> shift


def _mask(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1)
