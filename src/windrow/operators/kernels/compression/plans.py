"""What is decided for some blocks in a row, as an array of whole numbers, and the byte that says it in a header.

A block's byte has how its values are changed into small ones in its lowest bits, then one bit for each choice below.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

REFERENCE, DELTA, DELTA_OF_DELTA, DICTIONARY, RUNS, CONSTANT, RAW, PLANES = range(8)
"""How values are changed: above the least, differences, differences of them, places in a dictionary, values of runs.

Those in planes lie above the least, too, but bit by bit; they are neither divided nor is any of them an exception.
"""
CHANGE = 7
AROUND, DIVIDED, DECIMALS = 8, 16, 32
"""Differences lie on both sides of a centre; values are multiples; floats are decimal fractions."""
KNOWN = CHANGE | AROUND | DIVIDED | DECIMALS

KIND, CODING, DIVISOR, EXPONENT, BYTES, ROWS, AGE, FOLDED = range(8)
"""Fields of a plan: byte of the header, how words are written, divisor, power of ten; then bytes and rows of the block
it was made for, how many blocks ago that was, and how
many sixteenths of it planes may take, 0 where they are not wanted."""
PLAN_FIELDS = 8
PAD = 64
"""Bytes of a buffer after the last one in use, so that eight whole words can be read there."""


def new_plan() -> npt.NDArray[np.int64]:
    """Nothing is decided yet."""
    plan = np.zeros(PLAN_FIELDS, np.int64)
    plan[AGE] = -1
    return plan
