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

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.panes.cells import keep_greater

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
def flip(tail, head, codes, state, suffix, following, back, heads, together):
    """Make cells tail..head the front stack."""
    for i in range(tail, head):
        heads[codes[i]] = -1
        back[codes[i], :] = LEAST
    for i in range(head - 1, tail - 1, -1):
        after = heads[codes[i]]
        if after < 0:
            for j in range(state.shape[1]):
                suffix[i, j] = state[i, j]
        else:
            keep_greater(suffix, after, state, i, suffix, i, together)
        following[i] = after
        heads[codes[i]] = i


@kernel
def slide_greatest(steps, codes, state, suffix, following, back, heads, together, head, front, out_codes, out):
    """Greatest-of state along the schedule; `head` is the end of the window before it.

    Returns the end of the front.
    """
    row = 0
    for step in range(len(steps)):
        for i in range(steps[step, POP_FROM], steps[step, POP_TO]):
            if i >= front:
                front = head
                flip(i, front, codes, state, suffix, following, back, heads, together)
            heads[codes[i]] = following[i]
        for i in range(steps[step, PUSH_FROM], steps[step, PUSH_TO]):
            keep_greater(state, i, back, codes[i], back, codes[i], together)
        head = steps[step, PUSH_TO]
        while row < steps[step, OUT_TO]:
            group = out_codes[row]
            if heads[group] < 0:
                for j in range(back.shape[1]):
                    out[row, j] = back[group, j]
            else:
                keep_greater(suffix, heads[group], back, group, out, row, together)
            row += 1
    return front
