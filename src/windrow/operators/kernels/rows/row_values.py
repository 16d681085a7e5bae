"""Windows of rows: values kept in rings of their groups, where those of each answer are; rows by partition."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.rows.last_rows import BEGIN, NEXT_WINDOW, OWNER, ROOM, SIZE, START, wrapped


@kernel
def push_values(codes, panes_of, keys_of, rings, panes, keys):
    """Values of rows into the rings of their groups, which have room for them."""
    for i in range(len(codes)):
        code = codes[i]
        at = rings[code, START] + wrapped(rings[code, BEGIN] + rings[code, SIZE], rings[code, ROOM])
        panes[at], keys[at, 0] = panes_of[i], keys_of[i]
        rings[code, SIZE] += 1


@inlined
def _first_from(code, pane, rings, panes):
    """The place in a group's ring of the first value of `pane` or later."""
    start, room, begin = rings[code, START], rings[code, ROOM], rings[code, BEGIN]
    low, high = 0, rings[code, SIZE]
    while low < high:
        middle = (low + high) // 2
        if panes[start + wrapped(begin + middle, room)] < pane:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_extents(windows, codes, range_panes, slide_panes, rings, panes, firsts, lasts):
    """Where in its group's ring the values of each answer begin and end."""
    for i in range(len(codes)):
        end = windows[i] * slide_panes
        firsts[i] = _first_from(codes[i], end - range_panes, rings, panes)
        lasts[i] = _first_from(codes[i], end, rings, panes)


@kernel
def list_values(codes, starts, rings, kept, column, out):
    """A column of what these groups keep, in their order, that of the i-th group from `starts[i]` on."""
    for i in range(len(codes)):
        code = codes[i]
        start, room, begin = rings[code, START], rings[code, ROOM], rings[code, BEGIN]
        for k in range(rings[code, SIZE]):
            out[starts[i] + k] = kept[start + wrapped(begin + k, room), column]


@kernel
def list_fresh(codes, following, fresh, column, out):
    """A column of rows that are in no ring yet, of each group from `following[code]` on, which moves; -1: of no use."""
    for i in range(len(codes)):
        at = following[codes[i]]
        if at >= 0:
            out[at] = fresh[i, column]
            following[codes[i]] += 1


@kernel
def forget_values(codes, range_panes, slide_panes, progress, owners, rings, panes):
    """Take from the rings of these groups the values that no window to come holds."""
    for i in range(len(codes)):
        code = codes[i]
        first = progress[owners[code, OWNER], NEXT_WINDOW] * slide_panes - range_panes
        start, room = rings[code, START], rings[code, ROOM]
        while rings[code, SIZE] > 0 and panes[start + rings[code, BEGIN]] < first:
            rings[code, BEGIN] = wrapped(rings[code, BEGIN] + 1, room)
            rings[code, SIZE] -= 1


@kernel
def gather(partitions, count, order):
    """The order by partition, rows of the same as they came."""
    place = np.zeros(count + 1, np.int64)
    for i in range(len(partitions)):
        place[partitions[i] + 1] += 1
    for p in range(count):
        place[p + 1] += place[p]
    for i in range(len(partitions)):
        order[place[partitions[i]]] = i
        place[partitions[i]] += 1
