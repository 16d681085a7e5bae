"""Values at places of kept columns: one pass, where arrays would take one for each step."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel


@kernel
def pick_integers(offsets, base, rows, out):
    """`out[i] = base + offsets[rows[i]]`, which wraps around."""
    for i in range(len(rows)):
        out[i] = np.int64(base) + np.int64(offsets[rows[i]])


@kernel
def pick_decimals(offsets, base, power, rows, out):
    """The same as doubles, divided by a power of ten."""
    for i in range(len(rows)):
        out[i] = np.float64(np.int64(base) + np.int64(offsets[rows[i]])) / power


@kernel
def look_into(slots, block_rows, values, used, look, rows, out):
    """`out[i]` becomes the value of row `rows[i]`; how many blocks they are in, or -1 where one of these is missing.

    Line `slots[b]` of `values` has block `b`; of each that was looked into `used` becomes the number of the look.
    """
    blocks = 0
    for i in range(len(rows)):
        block = rows[i] // block_rows
        slot = slots[block]
        if slot < 0:
            return -1
        if used[slot] != look:
            used[slot] = look
            blocks += 1
        out[i] = values[slot, rows[i] - block * block_rows]
    return blocks
