"""Groups that are eager and groups that are lazy: found by hash, weighed, and put side by side into answers."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.cells import mix
from windrow.operators.kernels.compiled import inlined, kernel


@inlined
def _place(index, code, codes):
    """The position in `index` of a code, or of the free place where it belongs."""
    mask = len(index) - 1
    at = np.int64(mix(code) & np.uint64(mask))
    while index[at] >= 0 and codes[index[at]] != code:
        at = (at + 1) & mask
    return at


@kernel
def index_codes(index, codes):
    """Fill an empty index, a power of two long, with the places of different codes."""
    for i in range(len(codes)):
        index[_place(index, codes[i], codes)] = i


@kernel
def find_codes(wanted, index, codes, missing, out):
    """`out[i]` = the place of `wanted[i]` in `codes`, or `missing`. Returns how many are missing."""
    absent = 0
    for i in range(len(wanted)):
        found = index[_place(index, wanted[i], codes)]
        if found < 0:
            found = missing
            absent += 1
        out[i] = found
    return absent


@kernel
def count_cells(panes, first, codes, groups, seen, rows, cells):
    """Rows and different panes of each group; `seen` has a byte for each (pane from `first` on, group)."""
    for i in range(len(codes)):
        code = codes[i]
        rows[code] += 1
        slot = (panes[i] - first) * groups + code
        if not seen[slot]:
            seen[slot] = 1
            cells[code] += 1


@kernel
def number_answers(lows, highs, codes, offsets, cell_codes, known, row_slots, cell_slots, out_places, out_codes):
    """Number the answers of some windows, one after the other, for the groups of their cells and of their rows.

    Window w holds the rows lows[w]..highs[w] of `codes` and the cells offsets[w]..offsets[w + 1]. `known` is -1 for
    each group at first. `row_slots` and `cell_slots` get the answer each goes into. Returns the number of answers.
    """
    count, row = 0, 0
    for w in range(len(lows)):
        begin = count
        for i in range(offsets[w], offsets[w + 1]):
            code = cell_codes[i]
            known[code] = count
            cell_slots[i] = count
            out_places[count], out_codes[count] = w, code
            count += 1
        for i in range(lows[w], highs[w]):
            code = codes[i]
            if known[code] < begin:
                known[code] = count
                out_places[count], out_codes[count] = w, code
                count += 1
            row_slots[row] = known[code]
            row += 1
    return count
