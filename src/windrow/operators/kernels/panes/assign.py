"""Which pane a row falls into, and where its cell is in a dense scratch table."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel


@kernel
def pane_slots(times, codes, base, size, groups, out):
    """`out[i]` = pane of `times[i]`, counted from `base`, times `groups`, plus its group code.

    Needs `times >= base` and a span below 2^52. Division is a multiplication by the reciprocal, corrected by one
    where rounding went wrong, so that the loop vectorises.
    """
    inverse = 1.0 / size
    for i in range(len(times)):
        above = times[i] - base
        pane = np.int64(above * inverse)
        rest = above - pane * size
        pane += np.int64(rest >= size) - np.int64(rest < 0)
        out[i] = pane * groups
    if len(codes):
        for i in range(len(times)):
            out[i] += codes[i]


@kernel
def compress(values, selected, out):
    """Copy the selected values to the front of `out`, one longer than `values`; returns how many.

    Runs of eight rows without a selected one are skipped at once.
    """
    count = 0
    words = selected[: len(selected) // 8 * 8].view(np.uint64)
    for w in range(len(words)):
        if words[w]:
            for i in range(8 * w, 8 * w + 8):
                out[count] = values[i]
                count += selected[i]
    for i in range(8 * len(words), len(values)):
        out[count] = values[i]
        count += selected[i]
    return count


@kernel
def look_up(table, indices, out):
    """`out[i] = table[indices[i]]`."""
    for i in range(len(indices)):
        out[i] = table[indices[i]]
