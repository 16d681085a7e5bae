"""A hash of cells: (pane, group) -> slot in growable state arrays. Open addressing, linear probing."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel

FEW = 8
"""Up to this many columns of state are moved one by one: a row of one or two costs ten times as much as its numbers."""


@inlined
def mix(word):
    """Spread the bits of a 64-bit word (the finaliser of splitmix64)."""
    word = np.uint64(word)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@inlined
def cell_place(index, pane, code, panes, codes):
    """The position in `index` of the cell, or of the free place where it belongs."""
    mask = len(index) - 1
    at = np.int64(mix(pane * 1_000_003 + code) & np.uint64(mask))
    while index[at] >= 0 and (panes[index[at]] != pane or codes[index[at]] != code):
        at = (at + 1) & mask
    return at


@kernel
def upsert(new_panes, new_codes, start, index, panes, codes, count, out):
    """Find or make the cell of each row from `start` on; stops early when the table is full.

    Returns the row reached and the number of cells.
    """
    limit = min(len(panes), len(index) // 2)
    for i in range(start, len(new_panes)):
        code = new_codes[i] if len(new_codes) else 0
        at = cell_place(index, new_panes[i], code, panes, codes)
        if index[at] < 0:
            if count == limit:
                return i, count
            index[at] = count
            panes[count] = new_panes[i]
            codes[count] = code
            count += 1
        out[i] = index[at]
    return len(new_panes), count


@kernel
def rebuild(index, panes, codes, count):
    """Fill an empty index for cells 0..count."""
    for slot in range(count):
        index[cell_place(index, panes[slot], codes[slot], panes, codes)] = slot


@kernel
def combine_adds(slots, rows, adds):
    """Add state rows to the cells `slots`."""
    for i in range(len(slots)):
        slot = slots[i]
        for j in range(adds.shape[1]):
            adds[slot, j] += rows[i, j]


@inlined
def keep_greater(one, i, other, k, out, row, together):
    """Write the greater of two rows of state: each column by itself, or with its next as a pair.

    `together` has as many entries as columns are compared as one: the loop is compiled for that number.
    """
    for j in range(0, out.shape[1], len(together)):
        last = j + len(together) - 1
        is_one = (one[i, j] > other[k, j]) | ((one[i, j] == other[k, j]) & (one[i, last] > other[k, last]))
        head, tail = (one[i, j], one[i, last]) if is_one else (other[k, j], other[k, last])
        out[row, j] = head
        out[row, last] = tail


@kernel
def combine_maxs(slots, rows, maxs):
    """The same where each column keeps the greatest."""
    for i in range(len(slots)):
        keep_greater(rows, i, maxs, slots[i], maxs, slots[i], (0,))


@kernel
def combine_pairs(slots, rows, pairs):
    """The same where two columns keep the greatest pair."""
    for i in range(len(slots)):
        keep_greater(rows, i, pairs, slots[i], pairs, slots[i], (0, 0))


@kernel
def take_out(slots, neutral, state, out):
    """Copy the rows of these slots, and leave them neutral; few columns one after the other, which is far quicker."""
    if state.shape[1] > FEW:
        for i in range(len(slots)):
            out[i] = state[slots[i]]
            state[slots[i]] = neutral
        return
    for j in range(state.shape[1]):
        for i in range(len(slots)):
            out[i, j] = state[slots[i], j]
            state[slots[i], j] = neutral


@kernel
def admit(new_panes, new_codes, index, panes, codes, free, left, out, evicted):
    """The slot of each row's cell in a table where each cell has one place, and drives out the cell that is there.

    The slots of cells driven out go to `evicted`, and are not used again yet.

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
