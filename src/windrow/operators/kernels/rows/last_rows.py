"""Windows of rows: rows numbered in their partition, and the window that slides over each group's own panes.

A cell is the state of one group in one pane of its partition. Each group keeps its cells in a ring, a stretch of a
common pool; the oldest FRONT cells of a ring carry the greatest of themselves and the front cells after them (two
stacks, in place), `back` is the greatest of the others. A partition chains the groups that have cells from HEAD by
NEXT. Every cell is pushed, flipped and popped once, so a window costs its new cells, its expired cells and its answers,
whatever RANGE/SLIDE is. Where every row of a partition is a cell of one group, the places in the ring say which panes
they are: `panes` is then empty, and what is kept of a cell are columns of its row, from which what it added is found
again when it leaves.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.panes.cells import keep_greater
from windrow.operators.kernels.panes.sliding import LEAST

PANE, PANE_LEFT, NEXT_WINDOW, WINDOW_LEFT, HEAD, ACTIVE = 0, 1, 2, 3, 4, 5
"""What is known of a partition: the pane and the window that its next row is counted in, its groups."""
START, ROOM, BEGIN, SIZE, FRONT, NEXT, OWNER, CELL, FRESH = 0, 1, 2, 3, 4, 5, 6, 7, 8
"""What is known of a group: its ring, its partition, its latest cell of this batch and how many it has."""
UNLISTED = -2
LARGE_RING = 256
"""Rings of so many cells grow by a quarter, smaller ones by half."""
PARTITION, WINDOW, CELLS = 0, 1, 2
"""The end of a window: of which partition, which window, and how many cells there were by then."""
CODE, FROM, GONE, LEFT, FLIPPED, HAS_FRONT, END, UPTO = 0, 1, 2, 3, 4, 5, 6, 7
"""A group's turn at the end of a window: where its ring began, how many cells leave, how many are left."""


@inlined
def wrapped(place, room):
    """A place in a ring, counted from the first of its room."""
    return place - room if place >= room else place


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


@kernel
def plan_visits(
    ends, pushed, cells, cell_codes, cell_panes, range_panes, slide_panes, progress, rings, panes, places, visits
):
    """Where each cell goes in the pool, and which cells leave each ring when a window of its partition ends.

    A cell of the pane that is newest in its ring is combined with it; the place of any other is given as ~place. At
    the end of a window every cell pushed for its partition is whole, so no open cell is ever flipped. Stops when
    `visits` may not hold the next. Returns (ends done, cells pushed, visits, answers).
    """
    visit, written = 0, 0
    for e in range(len(ends) + 1):
        upto = ends[e, CELLS] if e < len(ends) else cells
        for i in range(pushed, upto):
            code = cell_codes[i]
            start, room, size = rings[code, START], rings[code, ROOM], rings[code, SIZE]
            end = rings[code, BEGIN] + size
            if size > 0 and len(panes) and panes[start + wrapped(end - 1, room)] == cell_panes[i]:
                places[i] = start + wrapped(end - 1, room)
            else:
                at = start + wrapped(end, room)
                if len(panes):
                    panes[at] = cell_panes[i]
                rings[code, SIZE] = size + 1
                places[i] = ~at
            if rings[code, NEXT] == UNLISTED:
                list_group(code, rings, progress)
        pushed = upto
        if e == len(ends) or visit + progress[ends[e, PARTITION], ACTIVE] > len(visits):
            return e, pushed, visit, written
        first = ends[e, WINDOW] * slide_panes - range_panes
        visit, written = visit_groups(
            ends[e, PARTITION], first, range_panes, e, pushed, rings, progress, panes, visits, visit, written
        )
    return len(ends), pushed, visit, written


@kernel
def list_group(code, rings, progress):
    """Chain a group to its partition."""
    owner = rings[code, OWNER]
    rings[code, NEXT] = progress[owner, HEAD]
    progress[owner, HEAD] = code
    progress[owner, ACTIVE] += 1


@kernel
def visit_groups(partition, first, range_panes, end, pushed, rings, progress, panes, visits, visit, written):
    """Take the cells of panes below `first` from the rings of a partition's groups; those left without any leave it.

    Without `panes` cells follow pane by pane, up to the end of the window.
    """
    before, code = -1, progress[partition, HEAD]
    while code >= 0:
        following = rings[code, NEXT]
        start, room, begin, size = rings[code, START], rings[code, ROOM], rings[code, BEGIN], rings[code, SIZE]
        gone = 0
        if len(panes):
            while gone < size and panes[start + wrapped(begin + gone, room)] < first:
                gone += 1
        else:
            gone = max(size - range_panes, 0)
        front = rings[code, FRONT] - gone
        visits[visit, CODE], visits[visit, FROM], visits[visit, GONE] = code, begin, gone
        visits[visit, LEFT], visits[visit, FLIPPED] = size - gone, front < 0
        visits[visit, END], visits[visit, UPTO] = end, pushed
        rings[code, BEGIN], rings[code, SIZE] = wrapped(begin + gone, room), size - gone
        rings[code, FRONT] = size - gone if front < 0 else front
        visits[visit, HAS_FRONT] = rings[code, FRONT] > 0
        visit += 1
        if size > gone:
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
    return visit, written


@kernel
def name_answers(visits, ends, out_windows, out_codes):
    """Window and group of each answer: of each visit that left cells in the ring."""
    row = 0
    for v in range(len(visits)):
        if visits[v, LEFT] > 0:
            out_windows[row], out_codes[row] = ends[visits[v, END], WINDOW], visits[v, CODE]
            row += 1


@kernel
def slide_row_adds(visits, pushed, last, cell_codes, places, fresh, rings, adds, running, out):
    """Additive state along the visits: running difference. Cells pushed..last are put into the pool on the way."""
    width, row = adds.shape[1], 0
    for v in range(len(visits) + 1):
        upto = visits[v, UPTO] if v < len(visits) else last
        for i in range(pushed, upto):
            code, at = cell_codes[i], places[i]
            is_new, at = at < 0, at if at >= 0 else ~at
            for j in range(width):
                adds[at, j] = fresh[i, j] if is_new else adds[at, j] + fresh[i, j]
                running[code, j] += fresh[i, j]
        pushed = upto
        if v == len(visits):
            break
        code = visits[v, CODE]
        start, room, begin = rings[code, START], rings[code, ROOM], visits[v, FROM]
        for k in range(visits[v, GONE]):
            for j in range(width):
                running[code, j] -= adds[start + wrapped(begin + k, room), j]
        if visits[v, LEFT] > 0:
            for j in range(width):
                out[row, j] = running[code, j]
            row += 1


@kernel
def slide_rows(visits, pushed, last, places, fresh, rings, kept, out):
    """Columns of rows along the visits: each into its place, and those of rows that leave into `out`, in that order."""
    width, row = kept.shape[1], 0
    for v in range(len(visits) + 1):
        upto = visits[v, UPTO] if v < len(visits) else last
        for i in range(pushed, upto):
            for j in range(width):
                kept[~places[i], j] = fresh[i, j]
        pushed = upto
        if v == len(visits):
            break
        code, begin = visits[v, CODE], visits[v, FROM]
        for k in range(visits[v, GONE]):
            at = rings[code, START] + wrapped(begin + k, rings[code, ROOM])
            for j in range(width):
                out[row, j] = kept[at, j]
            row += 1


@kernel
def slide_numbers(visits, pushed, last, cell_codes, places, fresh, rings, kept, columns, running, out):
    """Additive state along the visits where what a row adds stands in its columns: 1, then those of `columns`."""
    width, row = running.shape[1], 0
    for v in range(len(visits) + 1):
        upto = visits[v, UPTO] if v < len(visits) else last
        for i in range(pushed, upto):
            code = cell_codes[i]
            for j in range(kept.shape[1]):
                kept[~places[i], j] = fresh[i, j]
            running[code, 0] += 1
            for j in range(1, width):
                running[code, j] += fresh[i, columns[j]]
        pushed = upto
        if v == len(visits):
            break
        code, begin = visits[v, CODE], visits[v, FROM]
        running[code, 0] -= visits[v, GONE]
        for k in range(visits[v, GONE]):
            at = rings[code, START] + wrapped(begin + k, rings[code, ROOM])
            for j in range(1, width):
                running[code, j] -= kept[at, columns[j]]
        if visits[v, LEFT] > 0:
            for j in range(width):
                out[row, j] = running[code, j]
            row += 1


@kernel
def slide_adds(visits, pushed, last, cell_codes, fresh, leaving, running, out):
    """Additive state along the visits, of rows that come in, `fresh`, and of those that leave, in their order."""
    width, row, gone = running.shape[1], 0, 0
    for v in range(len(visits) + 1):
        upto = visits[v, UPTO] if v < len(visits) else last
        for i in range(pushed, upto):
            for j in range(width):
                running[cell_codes[i], j] += fresh[i, j]
        pushed = upto
        if v == len(visits):
            break
        code = visits[v, CODE]
        for _ in range(visits[v, GONE]):
            for j in range(width):
                running[code, j] -= leaving[gone, j]
            gone += 1
        if visits[v, LEFT] > 0:
            for j in range(width):
                out[row, j] = running[code, j]
            row += 1


@kernel
def slide_row_greatest(visits, pushed, last, cell_codes, places, fresh, rings, state, back, together, out):
    """Greatest-of state along the visits, by two stacks in the ring itself."""
    row = 0
    for v in range(len(visits) + 1):
        upto = visits[v, UPTO] if v < len(visits) else last
        for i in range(pushed, upto):
            code, at = cell_codes[i], places[i]
            if at < 0:
                for j in range(fresh.shape[1]):
                    state[~at, j] = fresh[i, j]
            else:
                keep_greater(fresh, i, state, at, state, at, together)
            keep_greater(fresh, i, back, code, back, code, together)
        pushed = upto
        if v == len(visits):
            break
        code = visits[v, CODE]
        start, room = rings[code, START], rings[code, ROOM]
        begin, left = wrapped(visits[v, FROM] + visits[v, GONE], room), visits[v, LEFT]
        if visits[v, FLIPPED]:
            for k in range(left - 2, -1, -1):
                at, after = start + wrapped(begin + k, room), start + wrapped(begin + k + 1, room)
                keep_greater(state, after, state, at, state, at, together)
            for j in range(back.shape[1]):
                back[code, j] = LEAST
        if left > 0:
            if visits[v, HAS_FRONT]:
                keep_greater(state, start + begin, back, code, out, row, together)
            else:
                for j in range(back.shape[1]):
                    out[row, j] = back[code, j]
            row += 1


@kernel
def count_fresh(codes, rings):
    """Note how many of these rows each group has."""
    for i in range(len(codes)):
        rings[codes[i], FRESH] += 1


@kernel
def room_wanted(codes, most, rings):
    """How much of the pool the groups want whose rings are too short for their FRESH cells.

    FRESH is then the room each of them needs, below zero. No ring need hold more than `most` cells.
    """
    total = 0
    for i in range(len(codes)):
        code = codes[i]
        if rings[code, FRESH] > 0:
            need, room = min(rings[code, SIZE] + rings[code, FRESH], most), rings[code, ROOM]
            if room < need:
                room = max(need, min(room + (room >> 1 if room < LARGE_RING else room >> 2), most))
            rings[code, FRESH] = -room
            total += room if room > rings[code, ROOM] else 0
    return total


@kernel
def give_room(codes, used, rings, moves):
    """Rings that want more room get it at the end of the pool: `moves` gets which cells go where.

    Returns how many moves there are, and how much of the pool is then used.
    """
    count = 0
    for i in range(len(codes)):
        code = codes[i]
        if -rings[code, FRESH] > rings[code, ROOM]:
            count = _move(code, used, rings, moves, count)
            rings[code, ROOM] = -rings[code, FRESH]
            used += rings[code, ROOM]
        rings[code, FRESH] = 0
    return count, used


@inlined
def _move(code, to, rings, moves, count):
    size = rings[code, SIZE]
    if size:
        moves[count, 0], moves[count, 1] = rings[code, START], rings[code, ROOM]
        moves[count, 2], moves[count, 3], moves[count, 4] = rings[code, BEGIN], size, to
        count += 1
    rings[code, START], rings[code, BEGIN] = to, 0
    return count


@kernel
def pack(rings, moves):
    """All rings into another pool, one after the other, with the room that each wants; empty ones that want none go.

    Returns how many moves there are, and how much is used.
    """
    count, used = 0, 0
    for code in range(len(rings)):
        count = _move(code, used, rings, moves, count)
        if rings[code, SIZE] == 0 and rings[code, FRESH] == 0:
            rings[code, ROOM] = 0
        rings[code, ROOM] = max(rings[code, ROOM], -rings[code, FRESH])
        used += rings[code, ROOM]
    return count, used


@kernel
def move_cells(moves, source, target):
    """One matrix of the pool, or of two, along with the rings: up to the end of each, then from its front."""
    for m in range(len(moves)):
        start, room, begin, size, to = moves[m, 0], moves[m, 1], moves[m, 2], moves[m, 3], moves[m, 4]
        behind = min(size, room - begin)
        target[to : to + behind] = source[start + begin : start + begin + behind]
        target[to + behind : to + size] = source[start : start + size - behind]
