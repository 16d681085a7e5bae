"""Late rows in the windows they still belong to: answers of windows in order of their ends get them added.

Row k comes in with the first window that ends at or above `entries[k]`, the bound it met, and leaves `reach` after its
own time. Rows are sorted by entry. `owners[i]` is the place of the group of answer i among groups with late rows, -1
for the others.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel


@kernel
def add_late(ends, owners, times, places, entries, exits, reach, adds, position, running, out):
    """Additive state: running difference. `exits` are the rows by time; `position` counts who came in and left."""
    entered, gone, width = position[0], position[1], adds.shape[1]
    for i in range(len(ends)):
        while entered < len(entries) and entries[entered] <= ends[i]:
            for j in range(width):
                running[places[entered], j] += adds[entered, j]
            entered += 1
        while gone < len(exits) and ends[i] - times[exits[gone]] >= reach:
            for j in range(width):
                running[places[exits[gone]], j] -= adds[exits[gone], j]
            gone += 1
        if owners[i] >= 0:
            for j in range(width):
                out[i, j] += running[owners[i], j]
    position[0], position[1] = entered, gone


@inlined
def _is_above(value, row, other, other_row, j, last):
    """Whether a state is not below another, by its first column, then by its last."""
    return value[row, j] > other[other_row, j] or (
        value[row, j] == other[other_row, j] and value[row, last] >= other[other_row, last]
    )


@inlined
def _link(k, j, last, times, values, before, after, heads, tails, own):
    """Put a row among those of its group that some window may still answer with: later ones are smaller.

    It is left out if a row that leaves later is not below it, and takes out those that leave earlier and are not above.
    """
    nearer, farther = tails[own, j], -1
    while nearer >= 0 and times[nearer] > times[k]:
        farther = nearer
        nearer = before[nearer, j]
    if farther >= 0 and _is_above(values, farther, values, k, j, last):
        return
    while nearer >= 0 and _is_above(values, k, values, nearer, j, last):
        nearer = before[nearer, j]
    before[k, j], after[k, j] = nearer, farther
    if nearer >= 0:
        after[nearer, j] = k
    else:
        heads[own, j] = k
    if farther >= 0:
        before[farther, j] = k
    else:
        tails[own, j] = k


@kernel
def greatest_late(
    ends, owners, times, places, entries, reach, together, values, position, before, after, heads, tails, out
):  # fmt: skip
    """Greatest-of state, as many columns by themselves as `together` has entries (two: they compare as a pair)."""
    entered, step = position[0], len(together)
    for i in range(len(ends)):
        while entered < len(entries) and entries[entered] <= ends[i]:
            for j in range(0, values.shape[1], step):
                _link(entered, j, j + step - 1, times, values, before, after, heads, tails, places[entered])
            entered += 1
        own = owners[i]
        if own < 0:
            continue
        for j in range(0, values.shape[1], step):
            first = heads[own, j]
            while first >= 0 and ends[i] - times[first] >= reach:
                first = after[first, j]
            heads[own, j] = first
            if first < 0:
                tails[own, j] = -1
                continue
            before[first, j] = -1
            if _is_above(values, first, out, i, j, j + step - 1):
                for c in range(j, j + step):
                    out[i, c] = values[first, c]
    position[0] = entered
