"""What is decided for some blocks in a row, as an array of whole numbers, and the byte that says it in a header.

A block's byte has how its values are changed into small ones in its lowest bits, then one bit for each choice below.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined

REFERENCE, DELTA, DELTA_OF_DELTA, DICTIONARY, RUNS, CONSTANT, RAW = range(7)
"""How values are changed: above the least, differences, differences of them, places in a dictionary, values of runs."""
CHANGE = 7
AROUND, DIVIDED, DECIMALS = 8, 16, 32
"""Differences lie on both sides of a centre; values are multiples; floats are decimal fractions."""
KNOWN = CHANGE | AROUND | DIVIDED | DECIMALS

KIND, DIVISOR, EXPONENT, BYTES, ROWS, AGE = range(6)
"""Fields of a plan: byte of the header, divisor, power of ten, bytes and rows of its first block, blocks since."""
PLAN_FIELDS = 6


@inlined
def new_plan():
    """A plan that fits nothing yet, so that the first block decides."""
    plan = np.zeros(PLAN_FIELDS, np.int64)
    plan[AGE] = -1
    return plan
