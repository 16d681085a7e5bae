"""What folding wants to know of each block of a column, found once: a line of fields for each."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.compression.decimals import whole_number
from windrow.operators.kernels.compression.plans import CHANGE, CONSTANT, DECIMALS, PLANES, RAW
from windrow.operators.kernels.compression.reading import rows_of_block
from windrow.operators.kernels.planes.lanes import word_at
from windrow.operators.kernels.planes.layout import find_planes, plane_words

FIELDS = 12
START, OFFSET, LEAST, GREATEST, KIND, SKIP, ROWS, DIGITS, EXPONENT, BASE, WIDTH, AT = range(FIELDS)
"""Where its rows and its bytes begin; bounds, kind, how many of its first rows are not the column's, all its rows,
and the digits behind the point that its values have (-1: whole numbers, `UNFOLDED`: any).

Of one in planes: power of ten (-1: whole numbers), least number, width, and where planes begin.
"""
UNFOLDED = -2
"""In place of a power of ten: not in planes, or not on a common line."""


@kernel
def new_directory(data, floats, starts, offsets, leasts, greatests, kinds, skips):
    """A line for each block, and one that has where the last one ends."""
    blocks = np.zeros((len(starts), FIELDS), np.int64)
    for block in range(len(starts)):
        blocks[block, START], blocks[block, OFFSET] = starts[block], offsets[block]
        if block == len(kinds):
            break
        kind = kinds[block]
        blocks[block, LEAST], blocks[block, GREATEST] = leasts[block], greatests[block]
        blocks[block, KIND], blocks[block, SKIP], blocks[block, EXPONENT] = kind, skips[block], UNFOLDED
        blocks[block, DIGITS] = UNFOLDED if floats else -1
        if kind == CONSTANT:
            blocks[block, ROWS] = starts[block + 1] - starts[block]
        elif kind == RAW:
            blocks[block, ROWS] = (offsets[block + 1] - offsets[block]) >> 3
        else:
            blocks[block, ROWS] = rows_of_block(data, offsets[block])
        if kind & DECIMALS:
            blocks[block, DIGITS] = data[offsets[block] + 2]
        if kind & CHANGE == PLANES:
            exponent, least, width, at = find_planes(data, offsets[block], kind, leasts[block])
            blocks[block, EXPONENT], blocks[block, BASE] = exponent, least
            blocks[block, WIDTH], blocks[block, AT] = width, at
    return blocks


@inlined
def field(blocks, block, name):
    """A field of a block of the directory at an address."""
    return word_at(blocks + 8 * (FIELDS * block + name))


@kernel
def block_of(blocks, count, row):
    """The block, of so many, that a row is in."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) >> 1
        if field(blocks, middle, START) <= row:
            low = middle
        else:
            high = middle
    return low


@inlined
def on_line(key, exponent):
    """Whether a key is a whole number of 10^-exponent, and which."""
    return (True, key) if exponent < 0 else whole_number(key, exponent)


@inlined
def plane_size(blocks, block):
    """The words of one plane of a block."""
    return plane_words(field(blocks, block, ROWS))
