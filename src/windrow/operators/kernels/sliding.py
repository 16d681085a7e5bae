"""Windows from panes: one pass over cells sorted by pane, any number of windows a call.

Additive columns keep a running difference. Greatest-of columns keep two stacks, sparse: the cells before `FRONT`
carry the maximum of their group from themselves to the end of the front (`suffix`), chained per group by
`following` from `heads`; cells after it are folded into `back`. Every cell is pushed, flipped and popped once, so
the cost of a window is that of its new and expired cells plus its answers, whatever RANGE/SLIDE is.

Invariants: cells TAIL..HEAD are in the current window; `heads[g]` is the first cell of group g in TAIL..FRONT or
-1; groups with rows in the window are in `active[:ACTIVE]`.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel

TAIL, HEAD, FRONT, ACTIVE, NEXT = 0, 1, 2, 3, 4
LEAST = -(1 << 63)


@inlined
def _raise_pair(pairs, row, j, time, key):
    if time > pairs[row, j] or (time == pairs[row, j] and key > pairs[row, j + 1]):
        pairs[row, j] = time
        pairs[row, j + 1] = key


@kernel
def flip(tail, head, codes, maxs, pairs, suffix_maxs, suffix_pairs, following, back_maxs, back_pairs, heads):
    """Make the whole window the front stack."""
    for i in range(tail, head):
        group = codes[i]
        heads[group] = -1
        back_maxs[group, :] = LEAST
        back_pairs[group, :] = LEAST
    for i in range(head - 1, tail - 1, -1):
        group = codes[i]
        after = heads[group]
        for j in range(maxs.shape[1]):
            suffix_maxs[i, j] = maxs[i, j] if after < 0 else max(maxs[i, j], suffix_maxs[after, j])
        for j in range(pairs.shape[1]):
            suffix_pairs[i, j] = pairs[i, j]
        if after >= 0:
            for j in range(0, pairs.shape[1], 2):
                _raise_pair(suffix_pairs, i, j, suffix_pairs[after, j], suffix_pairs[after, j + 1])
        following[i] = after
        heads[group] = i


@inlined
def _push(i, codes, adds, maxs, pairs, running, back_maxs, back_pairs, active, listed, position):
    group = codes[i]
    for j in range(adds.shape[1]):
        running[group, j] += adds[i, j]
    for j in range(maxs.shape[1]):
        back_maxs[group, j] = max(back_maxs[group, j], maxs[i, j])
    for j in range(0, pairs.shape[1], 2):
        _raise_pair(back_pairs, group, j, pairs[i, j], pairs[i, j + 1])
    if not listed[group]:
        listed[group] = 1
        active[position[ACTIVE]] = group
        position[ACTIVE] += 1


@inlined
def _pop(
    start, panes, codes, adds, maxs, pairs, suffix_maxs, suffix_pairs, following,
    running, back_maxs, back_pairs, heads, position, stacks,
):  # fmt: skip
    """Take the cells before pane `start` out of the window."""
    while position[TAIL] < position[HEAD] and panes[position[TAIL]] < start:
        i = position[TAIL]
        if stacks:
            if i >= position[FRONT]:
                flip(i, position[HEAD], codes, maxs, pairs, suffix_maxs, suffix_pairs, following,
                     back_maxs, back_pairs, heads)  # fmt: skip
                position[FRONT] = position[HEAD]
            heads[codes[i]] = following[i]
        for j in range(adds.shape[1]):
            running[codes[i], j] -= adds[i, j]
        position[TAIL] += 1


@inlined
def _keep_active(running, active, listed, position):
    """Groups without rows leave the list of active ones. Returns how many stay."""
    kept = 0
    for k in range(position[ACTIVE]):
        group = active[k]
        if running[group, 0] > 0:
            active[kept] = group
            kept += 1
        else:
            listed[group] = 0
    position[ACTIVE] = kept
    return kept


@inlined
def _write(row, group, running, back_maxs, back_pairs, heads, suffix_maxs, suffix_pairs, out_adds, out_maxs, out_pairs):
    """The state of a group over the current window."""
    for j in range(running.shape[1]):
        out_adds[row, j] = running[group, j]
    head = heads[group]
    for j in range(back_maxs.shape[1]):
        best = back_maxs[group, j]
        out_maxs[row, j] = best if head < 0 else max(best, suffix_maxs[head, j])
    for j in range(back_pairs.shape[1]):
        out_pairs[row, j] = back_pairs[group, j]
    if head >= 0:
        for j in range(0, back_pairs.shape[1], 2):
            _raise_pair(out_pairs, row, j, suffix_pairs[head, j], suffix_pairs[head, j + 1])


@kernel
def slide(
    panes, codes, adds, maxs, pairs, suffix_maxs, suffix_pairs, following, count,
    running, back_maxs, back_pairs, heads, active, listed, position,
    range_panes, slide_panes, last_window, forever,
    out_windows, out_codes, out_adds, out_maxs, out_pairs,
):  # fmt: skip
    """Report windows NEXT..last_window of the closed cells 0..count; stops early when the output is full.

    Window k covers panes [k * slide_panes - range_panes, k * slide_panes), all panes below its end when `forever`.
    Returns (answers written, whether all windows are done).
    """
    written = 0
    window = position[NEXT]
    stacks = maxs.shape[1] + pairs.shape[1] > 0 and not forever
    while window <= last_window:
        end = window * slide_panes
        start = LEAST if forever else end - range_panes
        _pop(start, panes, codes, adds, maxs, pairs, suffix_maxs, suffix_pairs, following,
             running, back_maxs, back_pairs, heads, position, stacks)  # fmt: skip
        while position[HEAD] < count and panes[position[HEAD]] < end:
            if panes[position[HEAD]] >= start:
                _push(
                    position[HEAD], codes, adds, maxs, pairs, running, back_maxs, back_pairs, active, listed, position
                )
            else:  # between two windows
                position[TAIL] += 1
                position[FRONT] = max(position[FRONT], position[TAIL])
            position[HEAD] += 1
        kept = _keep_active(running, active, listed, position)
        if kept == 0:  # on to the first window that holds the next cell
            after = last_window if position[HEAD] == count else panes[position[HEAD]] // slide_panes
            window = max(window, after) + 1
            continue
        if written + kept > len(out_codes):
            position[NEXT] = window
            return written, False
        for k in range(kept):
            out_windows[written + k] = window
            out_codes[written + k] = active[k]
            _write(written + k, active[k], running, back_maxs, back_pairs, heads,
                   suffix_maxs, suffix_pairs, out_adds, out_maxs, out_pairs)  # fmt: skip
        written += kept
        window += 1
    position[NEXT] = max(position[NEXT], last_window + 1)
    return written, True
