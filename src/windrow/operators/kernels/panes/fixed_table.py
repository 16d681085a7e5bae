"""A table of cells in which each cell has one place: whoever comes to a place that is taken drives the other out."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.panes.cells import mix


@kernel
def admit(new_panes, new_codes, index, panes, codes, free, left, out, evicted):
    """The slot of each row's cell; the slots of cells driven out go to `evicted`, and are not used again yet.

    `free[:left]` are the slots to take: one a row must be left. Returns how many are left, and how many went.
    """
    gone, mask = 0, len(index) - 1
    for i in range(len(new_panes)):
        pane = new_panes[i]
        code = new_codes[i] if len(new_codes) else np.int32(0)
        at = np.int64(mix(pane * 1_000_003 + code) & np.uint64(mask))
        slot = index[at]
        if slot < 0 or panes[slot] != pane or codes[slot] != code:
            if slot >= 0:
                evicted[gone] = slot
                gone += 1
            left -= 1
            slot = free[left]
            panes[slot], codes[slot] = pane, code
            index[at] = slot
        out[i] = slot
    return left, gone


@kernel
def sweep(start, end, below, index, panes, evicted):
    """Drive out the cells of panes below `below` at the places `start` to `end`; returns how many went."""
    gone = 0
    for at in range(start, end):
        slot = index[at]
        if slot >= 0 and panes[slot] < below:
            evicted[gone] = slot
            gone += 1
            index[at] = -1
    return gone
