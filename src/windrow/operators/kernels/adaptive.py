"""Groups that are eager and groups that are lazy: rows weighed, divided, and put side by side into answers.

`known` says of each group the code of its cells when it is eager, -1 when it is lazy.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import kernel


@kernel
def weigh_rows(panes, first, codes, known, seen, rows, cells):
    """Rows and different panes of each lazy group; `seen` has a byte for each (pane from `first` on, group).

    Where all rows are of one pane, `panes` and `seen` are empty and `cells` is left alone.
    """
    groups = len(known)
    for i in range(len(codes)):
        code = codes[i]
        if known[code] < 0:
            rows[code] += 1
            if len(panes):
                slot = (panes[i] - first) * groups + code
                cells[code] += 1 - seen[slot]
                seen[slot] = 1


@kernel
def divide_rows(codes, known, spare, inner, lazy):
    """`inner[i]` = the cell code of row i's group, `spare` when that is lazy; `lazy` gets which rows are. Returns how
    many.
    """
    found = 0
    for i in range(len(codes)):
        code = known[codes[i]]
        if code < 0:
            code = spare
            lazy[found] = i
            found += 1
        inner[i] = code
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
