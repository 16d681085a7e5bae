"""Windows from panes: which cells come and go with each window, then each kind of state along that schedule.

Cells are sorted by pane. A step of the schedule is one window: cells POP_FROM..POP_TO leave it, cells
PUSH_FROM..PUSH_TO enter it, and its answers are written up to OUT_TO. Additive state keeps a running difference.
Greatest-of state keeps two stacks, sparse: the cells before `front` carry the greatest of their group from
themselves to the end of the front (`suffix`), chained per group by `following` from `heads`; later cells are folded
into `back`. Every cell is pushed, flipped and popped once, so a window costs its new cells, its expired cells and
its answers, whatever RANGE/SLIDE is.

All of these are single loops over local variables: calls with many arrays would cost more than the work.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel

TAIL, HEAD, ACTIVE, NEXT = 0, 1, 2, 3
POP_FROM, POP_TO, PUSH_FROM, PUSH_TO, OUT_TO, WINDOW, TAIL_TO, FOLLOWING = 0, 1, 2, 3, 4, 5, 6, 7
LEAST = -(1 << 63)


@kernel
def plan_steps(panes, count, position, held, range_panes, slide_panes, last, forever, steps):
    """Which of the closed cells 0..count leave and enter with each of the windows NEXT..last. Returns the steps.

    Window k covers panes [k * slide_panes - range_panes, k * slide_panes), all panes below its end when `forever`.
    `held`: a window that keeps everything holds cells already forgotten. Stretches of windows without
    cells take one step.
    """
    step, window = 0, position[NEXT]
    tail, head = position[TAIL], position[HEAD]
    while window <= last and step < len(steps):
        end = window * slide_panes
        start = LEAST if forever else end - range_panes
        steps[step, WINDOW], steps[step, POP_FROM] = window, tail
        while tail < head and panes[tail] < start:
            tail += 1
        steps[step, POP_TO] = tail
        while head < count and panes[head] < start:  # between two windows
            head += 1
            tail = head
        steps[step, PUSH_FROM] = head
        while head < count and panes[head] < end:
            head += 1
        steps[step, PUSH_TO], steps[step, TAIL_TO] = head, tail
        if tail == head and not held:  # on to the first window that holds the next cell
            window = max(window, last if head == count else panes[head] // slide_panes)
        window += 1
        steps[step, FOLLOWING] = window
        step += 1
    return step


@kernel
def plan_answers(steps, codes, rows, alive, active, listed, position, out_windows, out_codes):
    """Which groups answer in each step; `alive[g]` counts the rows of group g in the window, `active` lists the groups.

    Stops when the output is full, and moves the position past the steps taken. Returns (steps taken, answers).
    """
    taken, written, listed_count = 0, 0, position[ACTIVE]
    while taken < len(steps) and written + len(active) <= len(out_codes):
        for i in range(steps[taken, POP_FROM], steps[taken, POP_TO]):
            alive[codes[i]] -= rows[i]
        for i in range(steps[taken, PUSH_FROM], steps[taken, PUSH_TO]):
            group = codes[i]
            alive[group] += rows[i]
            if not listed[group]:
                listed[group] = 1
                active[listed_count] = group
                listed_count += 1
        kept = 0
        for k in range(listed_count):
            group = active[k]
            if alive[group] > 0:
                active[kept] = group
                out_windows[written + kept] = steps[taken, WINDOW]
                out_codes[written + kept] = group
                kept += 1
            else:
                listed[group] = 0
        listed_count = kept
        written += kept
        steps[taken, OUT_TO] = written
        taken += 1
    if taken:
        position[TAIL], position[HEAD] = steps[taken - 1, TAIL_TO], steps[taken - 1, PUSH_TO]
        position[NEXT], position[ACTIVE] = steps[taken - 1, FOLLOWING], listed_count
    return taken, written


@kernel
def slide_adds(steps, codes, adds, running, out_codes, out):
    """Additive state along the schedule: running difference."""
    width = adds.shape[1]
    row = 0
    for step in range(len(steps)):
        for i in range(steps[step, POP_FROM], steps[step, POP_TO]):
            for j in range(width):
                running[codes[i], j] -= adds[i, j]
        for i in range(steps[step, PUSH_FROM], steps[step, PUSH_TO]):
            for j in range(width):
                running[codes[i], j] += adds[i, j]
        while row < steps[step, OUT_TO]:
            for j in range(width):
                out[row, j] = running[out_codes[row], j]
            row += 1


@kernel
def flip_maxs(tail, head, codes, maxs, suffix, following, back, heads):
    """Make cells tail..head the front stack."""
    for i in range(tail, head):
        heads[codes[i]] = -1
        back[codes[i], :] = LEAST
    for i in range(head - 1, tail - 1, -1):
        after = heads[codes[i]]
        for j in range(maxs.shape[1]):
            suffix[i, j] = maxs[i, j] if after < 0 else max(maxs[i, j], suffix[after, j])
        following[i] = after
        heads[codes[i]] = i


@kernel
def slide_maxs(steps, codes, maxs, suffix, following, back, heads, head, front, out_codes, out):
    """Greatest-of state along the schedule, each column by itself; `head` is the end of the window before it.

    Returns the end of the front.
    """
    width = maxs.shape[1]
    row = 0
    for step in range(len(steps)):
        for i in range(steps[step, POP_FROM], steps[step, POP_TO]):
            if i >= front:
                front = head
                flip_maxs(i, front, codes, maxs, suffix, following, back, heads)
            heads[codes[i]] = following[i]
        for i in range(steps[step, PUSH_FROM], steps[step, PUSH_TO]):
            for j in range(width):
                back[codes[i], j] = max(back[codes[i], j], maxs[i, j])
        head = steps[step, PUSH_TO]
        while row < steps[step, OUT_TO]:
            group = out_codes[row]
            first = heads[group]
            for j in range(width):
                out[row, j] = back[group, j] if first < 0 else max(back[group, j], suffix[first, j])
            row += 1
    return front


@inlined
def later(time, key, other_time, other_key):
    """Whether a pair is above another: by its first part, then by its second."""
    return time > other_time or (time == other_time and key > other_key)


@kernel
def flip_pairs(tail, head, codes, pairs, suffix, following, back, heads):
    """The same for pairs that compare by their first column, then by their second."""
    for i in range(tail, head):
        heads[codes[i]] = -1
        back[codes[i], :] = LEAST
    for i in range(head - 1, tail - 1, -1):
        after = heads[codes[i]]
        for j in range(0, pairs.shape[1], 2):
            suffix[i, j], suffix[i, j + 1] = pairs[i, j], pairs[i, j + 1]
            if after >= 0 and later(suffix[after, j], suffix[after, j + 1], pairs[i, j], pairs[i, j + 1]):
                suffix[i, j], suffix[i, j + 1] = suffix[after, j], suffix[after, j + 1]
        following[i] = after
        heads[codes[i]] = i


@kernel
def slide_pairs(steps, codes, pairs, suffix, following, back, heads, head, front, out_codes, out):
    """Greatest-of state of pairs along the schedule. Returns the end of the front."""
    row = 0
    for step in range(len(steps)):
        for i in range(steps[step, POP_FROM], steps[step, POP_TO]):
            if i >= front:
                front = head
                flip_pairs(i, front, codes, pairs, suffix, following, back, heads)
            heads[codes[i]] = following[i]
        for i in range(steps[step, PUSH_FROM], steps[step, PUSH_TO]):
            for j in range(0, pairs.shape[1], 2):
                if later(pairs[i, j], pairs[i, j + 1], back[codes[i], j], back[codes[i], j + 1]):
                    back[codes[i], j], back[codes[i], j + 1] = pairs[i, j], pairs[i, j + 1]
        head = steps[step, PUSH_TO]
        while row < steps[step, OUT_TO]:
            group = out_codes[row]
            first = heads[group]
            for j in range(0, pairs.shape[1], 2):
                out[row, j], out[row, j + 1] = back[group, j], back[group, j + 1]
                if first >= 0 and later(suffix[first, j], suffix[first, j + 1], back[group, j], back[group, j + 1]):
                    out[row, j], out[row, j + 1] = suffix[first, j], suffix[first, j + 1]
            row += 1
    return front
