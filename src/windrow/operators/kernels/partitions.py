"""What the rows so far imply where each partition has its own bound: a row at a time, whatever the number of partitions.

The bounds of the partitions are the leaves of a tree, of which each inner node is the least of the two below it: node i
is above 2 i and 2 i + 1, partition c is leaf `len(tree) // 2 + c`, node 1 is the least of all. A partition that holds
nothing back is END. A row that moves its partition changes few nodes: the way up ends where another is less.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.disorder import note_behind, note_jump
from windrow.operators.kernels.input import GRACE

START, END = -(1 << 63), (1 << 63) - 1


@inlined
def _raise(tree, leaf, value):
    tree[leaf] = value
    node = leaf >> 1
    while node >= 1:
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:
            break
        tree[node] = least
        node >>= 1


@kernel
def set_leaves(tree, codes, values):
    """These partitions count with these bounds."""
    half = len(tree) // 2
    for i in range(len(codes)):
        _raise(tree, half + codes[i], values[i])


@kernel
def partition_bounds(times, codes, slack, idle, highs, promised, tree, furthest, out, grid, first, notes):
    """`out[i]` gets what is implied before row i, and after the last; `out[0]` is given. Returns the new `furthest`.

    `highs` and `promised` are of each partition, `furthest` is the largest bound of any. `idle` is how far behind that
    one may hold back the others; below 0: any. `grid` is where windows may end, as origin and step; `first` is the
    number of the first row, `notes` are of `kernels.disorder`.
    """
    half = len(tree) // 2
    origin, step = grid
    bound = out[0]
    implied = bound if bound == START else origin + (bound - origin) // step * step
    for i in range(len(times)):
        time, code = times[i], codes[i]
        if time < implied:
            note_behind(notes, first + i, time, time, slack, 1, GRACE, bound + slack)
        if time > highs[code] or tree[half + code] == END:
            highs[code] = max(highs[code], time)
            reach = max(highs[code] - slack, promised[code])
            _raise(tree, half + code, reach)
            furthest = max(furthest, reach)
            now = tree[1] if idle < 0 else max(tree[1], furthest - idle)
            if now > bound:
                if now == reach or (idle >= 0 and now == reach - idle):
                    note_jump(notes, first + i, time, bound if bound == START else bound + slack, slack + step, GRACE)
                bound = now
                implied = origin + (bound - origin) // step * step
        out[i + 1] = bound
    return furthest


@kernel
def early_rows_of(times, codes, highs, lead, limit, early, against):
    """`kernels.input.early_rows` where each partition has its own `highs`, which are changed."""
    for i in range(len(times)):
        high = highs[codes[i]]
        against[i] = high
        early[i] = times[i] >= limit or (high != START and times[i] > high + lead)
        if not early[i]:
            highs[codes[i]] = max(high, times[i])
