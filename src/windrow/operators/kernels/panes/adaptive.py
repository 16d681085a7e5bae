"""Groups that are eager and groups that are lazy: rows weighed, divided, and put side by side into answers."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.panes.cells import cell_place, mix


@kernel
def weigh_rows(panes, first, codes, groups, least, seen, rows, cells, chosen):
    """Rows and different panes of each group; `chosen` gets the groups with at least so many rows. Returns how many.

    `seen` has a byte for each (pane from `first` on, group).
    """
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        slot = (panes[i] - first) * groups + code
        rows[code] += 1
        cells[code] += 1 - seen[slot]
        seen[slot] = 1
        if rows[code] == least:
            chosen[count] = code
            count += 1
    return count


@kernel
def weigh_few_rows(panes, codes, least, group_index, cell_index, used, rows, cells, chosen):
    """The same for few rows of many groups, by hash: `used` gets the groups there are, `chosen` places in that.

    Both indexes are -1 throughout, of the same power of two in length, at least twice the rows.
    """
    count, found, mask = 0, 0, len(group_index) - 1
    for i in range(len(codes)):
        at = np.int64(mix(codes[i]) & np.uint64(mask))
        while group_index[at] >= 0 and used[group_index[at]] != codes[i]:
            at = (at + 1) & mask
        if group_index[at] < 0:
            group_index[at] = count
            used[count] = codes[i]
            count += 1
        group = group_index[at]
        rows[group] += 1
        if rows[group] == least:
            chosen[found] = group
            found += 1
        at = cell_place(cell_index, panes[i], codes[i], panes, codes)
        if cell_index[at] < 0:
            cell_index[at] = i
            cells[group] += 1
    return found


@kernel
def know_groups(outer, levels, known):
    """The code of each group's cells; of a lazy group -2 less that; -1 of a group without cells."""
    known[:] = -1
    for i in range(len(outer)):
        known[outer[i]] = i if levels[i] > 0 else -2 - i


@kernel
def divide_rows(codes, known, spare, inner, lazy):
    """`inner[i]` = what is known of row i's group, `spare` where that is below 0; `lazy`, one longer than the rows,
    gets the rows where it is. Returns how many. Without branches: which group comes next is anyone's guess.
    """
    found = 0
    for i in range(len(codes)):
        code = known[codes[i]]
        lazy[found] = i
        found += code < 0
        inner[i] = code if code >= 0 else spare
    return found


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
