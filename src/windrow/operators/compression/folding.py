"""What is computed of stretches of a coded column as it lies: sums, extremes, order statistics, distinct counts.

A stretch is the rows from `lows[i]` to `highs[i]`, and holds some. Blocks in planes are added up and searched bit by
bit, constant ones and whole ones answer by their headers, others are read. Every answer is that of the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.errors import InternalError
from windrow.operators.compression.coded_column import CodedColumn, Nature, damaged
from windrow.operators.kernels.compression.decimals import POWERS
from windrow.operators.kernels.planes import folding as kernels
from windrow.operators.kernels.planes.different import count_different
from windrow.operators.kernels.planes.directory import UNFOLDED
from windrow.operators.kernels.planes.ranks import find_ranks
from windrow.operators.state.keys import float_keys

Numbers = npt.NDArray[Any]


def sums(column: CodedColumn, lows: Integers, highs: Integers) -> tuple[Integers, Integers]:
    """The exact sums of whole numbers, as units of 2**32 and what is above them, from 0 to 2**32 - 1.

    >>> column = CodedColumn.of(np.arange(-5, 100), folded=True)
    >>> tops, bottoms = sums(column, np.array([0, 3]), np.array([105, 5]))
    >>> [int(top) * 2**32 + int(bottom) for top, bottom in zip(tops, bottoms)]
    [4935, -3]
    """
    if column.nature is not Nature.INTEGERS:
        raise InternalError("sums of floats are exact, and need the floats")
    tops, bottoms = np.empty_like(lows), np.empty_like(lows)
    if not kernels.fold_sums(column.data, column.blocks, column.block_rows, lows, highs, tops, bottoms):
        raise damaged()
    return tops, bottoms


def extremes(column: CodedColumn, lows: Integers, highs: Integers) -> tuple[Integers, Integers]:
    """The least and the greatest; of floats as order keys, in which zeros and NaN are one each."""
    leasts, greatests = np.empty_like(lows), np.empty_like(lows)
    arrays = column.data, column.blocks, column.block_rows, _holds_floats(column), lows, highs
    if not kernels.fold_extremes(*arrays, leasts, greatests):
        raise damaged()
    return leasts, greatests


def ranked(column: CodedColumn, lows: Integers, highs: Integers, ranks: Integers) -> tuple[Numbers, Numbers]:
    """The `ranks[i, k]`-th least of each stretch, counted from 0, and the one after each, if there is one.

    Floats are given as floats, zeros and NaN as one each, whether the column has them or their keys.
    """
    at, after = np.empty((2, *ranks.shape), np.int64)
    floats, exponents = _holds_floats(column), np.empty(len(lows), np.int64)
    arrays = column.data, column.blocks, column.block_rows, lows, highs, ranks
    if not find_ranks(*arrays, at, after, exponents):
        raise damaged()
    unfolded = np.flatnonzero(exponents == UNFOLDED)
    found = (at, after)
    if floats:
        powers = POWERS[np.maximum(exponents, 0)][:, None]
        found = (at / powers, after / powers)
    for i in unfolded.tolist():
        values, own = _ordered(column, int(lows[i]), int(highs[i])), ranks[i]
        found[0][i], found[1][i] = values[own], values[np.minimum(own + 1, len(values) - 1)]
    return found


def different(column: CodedColumn, lows: Integers, highs: Integers) -> Integers:
    """How many different values each stretch has; zeros and NaN are one each.

    >>> different(CodedColumn.of(np.array([1, 2, 2, 1, 3])), np.array([0, 1]), np.array([5, 3])).tolist()
    [3, 1]
    """
    counts = np.empty_like(lows)
    if not count_different(column.data, column.blocks, column.block_rows, lows, highs, counts):
        raise damaged()
    for i in np.flatnonzero(counts == UNFOLDED).tolist():
        bits = _ordered(column, int(lows[i]), int(highs[i])).view(np.int64)
        counts[i] = 1 + np.count_nonzero(np.diff(bits))
    return counts


def _holds_floats(column: CodedColumn) -> bool:
    return column.nature is not Nature.INTEGERS


def _ordered(column: CodedColumn, low: int, high: int) -> Numbers:
    """Some values in order."""
    values = column.part(low, high)
    if column.nature is Nature.INTEGERS:
        return np.sort(values.astype(np.int64, copy=False))
    if column.nature is Nature.FLOAT_KEYS:
        values = values.astype(np.int64, copy=False)
        bits = np.where(values < 0, values ^ np.int64((1 << 63) - 1), values)
    else:
        bits = values.view(np.int64)
    keys = np.sort(float_keys(bits.view(np.float64)))
    ordered: Numbers = np.where(keys < 0, keys ^ np.int64((1 << 63) - 1), keys).view(np.float64)
    return ordered
