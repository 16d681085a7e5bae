"""Values at places of a packed column: one pass, where arrays would take one for each step."""

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
