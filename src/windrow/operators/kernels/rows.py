"""Windows of rows: rows numbered in their partition, and the window that slides over each group's own panes.

A cell is the state of one group in one pane of its partition. Each group keeps its cells in a ring, a stretch of a
common pool whose length is a power of two; the oldest FRONT cells of a ring carry the greatest of themselves and the
front cells after them (two stacks, in place), `back` is the greatest of the others. A partition chains the groups
that have cells from HEAD by NEXT. Every cell is pushed, flipped and popped once, so a window costs its new cells, its
expired cells and its answers, whatever RANGE/SLIDE is.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.searching import first_not_before
from windrow.operators.kernels.sliding import LEAST, later

PANE, PANE_LEFT, NEXT_WINDOW, WINDOW_LEFT, HEAD, ACTIVE = 0, 1, 2, 3, 4, 5
"""What is known of a partition: the pane and the window that its next row is counted in, its groups."""
START, ROOM, BEGIN, SIZE, FRONT, NEXT, OWNER, CELL, FRESH = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What is known of a group: its ring, its partition, its latest cell of this batch and how many it has."""
UNLISTED = -2
PARTITION, WINDOW, CELLS = 0, 1, 2
"""The end of a window: of which partition, which window, and how many cells there were by then."""


@kernel
def number_rows(
    partitions, codes, base, pane_rows, range_rows, slide_rows, progress, rings, slots, cell_codes, cell_panes, ends
):
    """The cell of each row, made when it is the first of its group and pane in this batch, and the windows that end.

    Rows between two windows are in cell 0, which is none. `base` is above every cell number given before. Returns
    (cells, ends).
    """
    cells, ended = 1, 0
    for i in range(len(slots)):
        partition = partitions[i] if len(partitions) else 0
        code = codes[i] if len(codes) else 0
        pane = progress[partition, PANE]
        cell = rings[code, CELL] - base
        if progress[partition, WINDOW_LEFT] > range_rows:
            cell = 0
        elif cell < 0 or cell_panes[cell] != pane:
            cell = cells
            cells += 1
            cell_codes[cell], cell_panes[cell] = code, pane
            rings[code, CELL], rings[code, OWNER] = base + cell, partition
            rings[code, FRESH] += 1
        slots[i] = cell
        progress[partition, PANE_LEFT] -= 1
        if progress[partition, PANE_LEFT] == 0:
            progress[partition, PANE] += 1
            progress[partition, PANE_LEFT] = pane_rows
        progress[partition, WINDOW_LEFT] -= 1
        if progress[partition, WINDOW_LEFT] == 0:
            ends[ended, PARTITION], ends[ended, WINDOW] = partition, progress[partition, NEXT_WINDOW]
            ends[ended, CELLS] = cells
            ended += 1
            progress[partition, NEXT_WINDOW] += 1
            progress[partition, WINDOW_LEFT] = slide_rows
    return cells, ended


@inlined
def _push(
    i, cell_codes, cell_panes, from_adds, from_maxs, from_pairs,
    progress, rings, panes, adds, maxs, pairs, running, back, back_pairs,
):  # fmt: skip
    """Cell i into its group's ring: combined with the newest cell when that is of the same pane, which is then open."""
    code = cell_codes[i]
    size, mask = rings[code, SIZE], rings[code, ROOM] - 1
    at = rings[code, START] + ((rings[code, BEGIN] + size - 1) & mask)
    if size == 0 or panes[at] != cell_panes[i]:
        at = rings[code, START] + ((rings[code, BEGIN] + size) & mask)
        rings[code, SIZE] += 1
        panes[at] = cell_panes[i]
        adds[at, :], maxs[at, :], pairs[at, :] = 0, LEAST, LEAST
    for j in range(adds.shape[1]):
        adds[at, j] += from_adds[i, j]
        running[code, j] += from_adds[i, j]
    for j in range(maxs.shape[1]):
        maxs[at, j] = max(maxs[at, j], from_maxs[i, j])
        back[code, j] = max(back[code, j], from_maxs[i, j])
    for j in range(0, pairs.shape[1], 2):
        if later(from_pairs[i, j], from_pairs[i, j + 1], pairs[at, j], pairs[at, j + 1]):
            pairs[at, j], pairs[at, j + 1] = from_pairs[i, j], from_pairs[i, j + 1]
        if later(from_pairs[i, j], from_pairs[i, j + 1], back_pairs[code, j], back_pairs[code, j + 1]):
            back_pairs[code, j], back_pairs[code, j + 1] = from_pairs[i, j], from_pairs[i, j + 1]
    if rings[code, NEXT] == UNLISTED:
        owner = rings[code, OWNER]
        rings[code, NEXT] = progress[owner, HEAD]
        progress[owner, HEAD] = code
        progress[owner, ACTIVE] += 1


@inlined
def _flip(code, rings, maxs, pairs, back, back_pairs):
    """Make the whole ring the front."""
    start, mask, begin = rings[code, START], rings[code, ROOM] - 1, rings[code, BEGIN]
    for k in range(rings[code, SIZE] - 2, -1, -1):
        at, after = start + ((begin + k) & mask), start + ((begin + k + 1) & mask)
        for j in range(maxs.shape[1]):
            maxs[at, j] = max(maxs[at, j], maxs[after, j])
        for j in range(0, pairs.shape[1], 2):
            if later(pairs[after, j], pairs[after, j + 1], pairs[at, j], pairs[at, j + 1]):
                pairs[at, j], pairs[at, j + 1] = pairs[after, j], pairs[after, j + 1]
    back[code, :], back_pairs[code, :] = LEAST, LEAST
    rings[code, FRONT] = rings[code, SIZE]


@inlined
def _expire(code, first, rings, panes, adds, maxs, pairs, running, back, back_pairs):
    """Take the cells of panes below `first` out of a ring."""
    start, mask, begin = rings[code, START], rings[code, ROOM] - 1, rings[code, BEGIN]
    gone = 0
    while gone < rings[code, SIZE] and panes[start + ((begin + gone) & mask)] < first:
        for j in range(adds.shape[1]):
            running[code, j] -= adds[start + ((begin + gone) & mask), j]
        gone += 1
    rings[code, BEGIN] = (begin + gone) & mask
    rings[code, SIZE] -= gone
    rings[code, FRONT] -= gone
    if rings[code, FRONT] < 0:
        _flip(code, rings, maxs, pairs, back, back_pairs)


@inlined
def _answer(code, row, rings, maxs, pairs, running, back, back_pairs, out_adds, out_maxs, out_pairs):
    top = rings[code, START] + rings[code, BEGIN]
    has_front = rings[code, FRONT] > 0
    for j in range(running.shape[1]):
        out_adds[row, j] = running[code, j]
    for j in range(maxs.shape[1]):
        out_maxs[row, j] = max(back[code, j], maxs[top, j]) if has_front else back[code, j]
    for j in range(0, pairs.shape[1], 2):
        out_pairs[row, j], out_pairs[row, j + 1] = back_pairs[code, j], back_pairs[code, j + 1]
        if has_front and later(pairs[top, j], pairs[top, j + 1], out_pairs[row, j], out_pairs[row, j + 1]):
            out_pairs[row, j], out_pairs[row, j + 1] = pairs[top, j], pairs[top, j + 1]


@kernel
def slide_rows(
    ends, pushed, cells, cell_codes, cell_panes, from_adds, from_maxs, from_pairs,
    range_panes, slide_panes, progress, rings, panes, adds, maxs, pairs, running, back, back_pairs,
    out_windows, out_codes, out_adds, out_maxs, out_pairs,
):  # fmt: skip
    """The answers of windows that end, as many as fit; then, when all fitted, the cells after the last of them.

    At the end of a window every cell pushed for its partition is whole, so no open cell is ever flipped. Returns
    (ends done, cells pushed, answers).
    """
    written = 0
    for e in range(len(ends) + 1):
        for i in range(pushed, ends[e, CELLS] if e < len(ends) else cells):
            _push(i, cell_codes, cell_panes, from_adds, from_maxs, from_pairs,
                  progress, rings, panes, adds, maxs, pairs, running, back, back_pairs)  # fmt: skip
        if e == len(ends):
            return e, cells, written
        pushed = ends[e, CELLS]
        partition = ends[e, PARTITION]
        if written + progress[partition, ACTIVE] > len(out_codes):
            return e, pushed, written
        before, code = -1, progress[partition, HEAD]
        while code >= 0:
            following = rings[code, NEXT]
            _expire(code, ends[e, WINDOW] * slide_panes - range_panes,
                    rings, panes, adds, maxs, pairs, running, back, back_pairs)  # fmt: skip
            if rings[code, SIZE] > 0:
                out_windows[written], out_codes[written] = ends[e, WINDOW], code
                _answer(code, written, rings, maxs, pairs, running, back, back_pairs, out_adds, out_maxs, out_pairs)
                written += 1
                before = code
            else:
                rings[code, NEXT] = UNLISTED
                progress[partition, ACTIVE] -= 1
                if before < 0:
                    progress[partition, HEAD] = following
                else:
                    rings[before, NEXT] = following
            code = following
    return len(ends), pushed, written


@kernel
def count_fresh(codes, rings):
    """Note how many of these rows each group has."""
    for i in range(len(codes)):
        rings[codes[i], FRESH] += 1


@kernel
def room_wanted(codes, most, rings):
    """How much of the pool the groups want whose rings are too short for their FRESH cells; FRESH then says so.

    No ring need hold more than `most` cells.
    """
    total = 0
    for i in range(len(codes)):
        code = codes[i]
        if rings[code, FRESH] > 0:
            need = min(rings[code, SIZE] + rings[code, FRESH], most)
            room = max(rings[code, ROOM], 1)
            while room < need:
                room *= 2
            rings[code, FRESH] = -room if room > rings[code, ROOM] else 0
            total += room if room > rings[code, ROOM] else 0
    return total


@kernel
def give_room(codes, used, rings, panes, adds, maxs, pairs):
    """Move the rings that want more room to the end of the pool. Returns how much of it is then used."""
    for i in range(len(codes)):
        code = codes[i]
        if rings[code, FRESH] < 0:
            _move(code, used, rings, panes, adds, maxs, pairs, panes, adds, maxs, pairs)
            rings[code, ROOM], rings[code, FRESH] = -rings[code, FRESH], 0
            used += rings[code, ROOM]
    return used


@inlined
def _move(code, to, rings, panes, adds, maxs, pairs, to_panes, to_adds, to_maxs, to_pairs):
    start, mask, begin = rings[code, START], rings[code, ROOM] - 1, rings[code, BEGIN]
    for k in range(rings[code, SIZE]):
        at = start + ((begin + k) & mask)
        to_panes[to + k] = panes[at]
        to_adds[to + k, :] = adds[at, :]
        to_maxs[to + k, :] = maxs[at, :]
        to_pairs[to + k, :] = pairs[at, :]
    rings[code, START], rings[code, BEGIN] = to, 0


@kernel
def pack(count, rings, panes, adds, maxs, pairs, to_panes, to_adds, to_maxs, to_pairs):
    """All rings into another pool, one after the other; empty ones give up their room. Returns how much is used."""
    used = 0
    for code in range(count):
        _move(code, used, rings, panes, adds, maxs, pairs, to_panes, to_adds, to_maxs, to_pairs)
        if rings[code, SIZE] == 0:
            rings[code, ROOM] = 0
        used += rings[code, ROOM]
    return used


@kernel
def push_values(codes, panes_of, keys_of, rings, panes, keys):
    """Values of rows into the rings of their groups, which have room for them."""
    for i in range(len(codes)):
        code = codes[i]
        at = rings[code, START] + ((rings[code, BEGIN] + rings[code, SIZE]) & (rings[code, ROOM] - 1))
        panes[at], keys[at, 0] = panes_of[i], keys_of[i]
        rings[code, SIZE] += 1


@inlined
def _first_from(code, pane, rings, panes):
    """The place in a group's ring of the first value of `pane` or later."""
    start, mask, begin = rings[code, START], rings[code, ROOM] - 1, rings[code, BEGIN]
    low, high = 0, rings[code, SIZE]
    while low < high:
        middle = (low + high) // 2
        if panes[start + ((begin + middle) & mask)] < pane:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_extents(windows, codes, range_panes, slide_panes, rings, panes, firsts, starts):
    """Where in its group's ring the values of each answer begin, and `starts` = where its values are in a list of all.

    `starts` is one longer than there are answers.
    """
    starts[0] = 0
    for i in range(len(codes)):
        end = windows[i] * slide_panes
        firsts[i] = _first_from(codes[i], end - range_panes, rings, panes)
        starts[i + 1] = starts[i] + _first_from(codes[i], end, rings, panes) - firsts[i]


@kernel
def list_extents(codes, firsts, starts, rings, keys, out):
    """The values of each answer, sorted, one answer after the other."""
    for i in range(len(codes)):
        code = codes[i]
        start, mask, begin = rings[code, START], rings[code, ROOM] - 1, rings[code, BEGIN]
        for k in range(starts[i + 1] - starts[i]):
            out[starts[i] + k] = keys[start + ((begin + firsts[i] + k) & mask), 0]
        if starts[i + 1] - starts[i] > 1:
            out[starts[i] : starts[i + 1]].sort()


@kernel
def forget_values(codes, range_panes, slide_panes, progress, owners, rings, panes):
    """Take from the rings of these groups the values that no window to come holds."""
    for i in range(len(codes)):
        code = codes[i]
        first = progress[owners[code, OWNER], NEXT_WINDOW] * slide_panes - range_panes
        start, mask = rings[code, START], rings[code, ROOM] - 1
        while rings[code, SIZE] > 0 and panes[start + rings[code, BEGIN]] < first:
            rings[code, BEGIN] = (rings[code, BEGIN] + 1) & mask
            rings[code, SIZE] -= 1


@kernel
def find_runs(majors, minors, codes, lows, highs, firsts, lasts):
    """For each code the stretch of what is sorted by (major, minor) with that major and low <= minor < high."""
    for i in range(len(codes)):
        firsts[i] = first_not_before(majors, minors, 0, len(majors), codes[i], lows[i])
        lasts[i] = first_not_before(majors, minors, firsts[i], len(majors), codes[i], highs[i])


@kernel
def order_within(partitions, count, times, order):
    """The order by partition and, within each, by time, ties as they came. Only what is out of order is sorted."""
    starts = np.zeros(count + 1, np.int64)
    for i in range(len(times)):
        starts[(partitions[i] if len(partitions) else 0) + 1] += 1
    for p in range(count):
        starts[p + 1] += starts[p]
    place = starts[:-1].copy()
    for i in range(len(times)):
        partition = partitions[i] if len(partitions) else 0
        order[place[partition]] = i
        place[partition] += 1
    for p in range(count):
        for k in range(starts[p] + 1, starts[p + 1]):
            if times[order[k]] < times[order[k - 1]]:
                own = order[starts[p] : starts[p + 1]].copy()
                order[starts[p] : starts[p + 1]] = own[np.argsort(times[own], kind="mergesort")]
                break
