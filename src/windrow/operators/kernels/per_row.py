"""Windows that end with rows: which rows close one, which cells come and go with it, late rows into their place.

The schedule has the shape that `kernels.sliding` follows; cells are single rows here, sorted by time.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel
from windrow.operators.kernels.searching import first_not_before
from windrow.operators.kernels.sliding import (
    FOLLOWING,
    HEAD,
    OUT_TO,
    POP_FROM,
    POP_TO,
    PUSH_FROM,
    PUSH_TO,
    TAIL,
    TAIL_TO,
    WINDOW,
)


@kernel
def count_off(codes, every, counters, closes):
    """Which rows are the `every`-th of their group; `counters` hold how many each group has since the last."""
    for i in range(len(codes)):
        counters[codes[i]] += 1
        closes[i] = counters[codes[i]] == every
        if closes[i]:
            counters[codes[i]] = 0


@kernel
def plan_ends(times, count, position, ends, first, reach, steps):
    """Which of the rows 0..count leave and enter with each of the windows `(end - reach, end]`, numbered from `first`.

    Rows that lie between two windows are passed over. OUT_TO is one answer a window, for schedules that have it so.
    """
    tail, head = position[TAIL], position[HEAD]
    for s in range(len(ends)):
        end = ends[s]
        steps[s, WINDOW], steps[s, POP_FROM] = first + s, tail
        while tail < head and end - times[tail] >= reach:
            tail += 1
        steps[s, POP_TO] = tail
        while head < count and end - times[head] >= reach:
            head += 1
            tail = head
        steps[s, PUSH_FROM] = head
        while head < count and times[head] <= end:
            head += 1
        steps[s, PUSH_TO], steps[s, TAIL_TO] = head, tail
        steps[s, OUT_TO], steps[s, FOLLOWING] = s + 1, first + s + 1


@kernel
def insert_rows(
    late_times, late_codes, late_adds, late_maxs, late_pairs, times, codes, adds, maxs, pairs, count
):  # fmt: skip
    """Sorted late rows into the sorted rows 0..count, in place; only rows after the earliest of them move.

    Returns where that one went. There must be room.
    """
    i, j = count - 1, len(late_times) - 1
    to = count + j
    while j >= 0:
        if i >= 0 and times[i] > late_times[j]:
            times[to], codes[to] = times[i], codes[i]
            adds[to, :], maxs[to, :], pairs[to, :] = adds[i, :], maxs[i, :], pairs[i, :]
            i -= 1
        else:
            times[to], codes[to] = late_times[j], late_codes[j]
            adds[to, :], maxs[to, :], pairs[to, :] = late_adds[j, :], late_maxs[j, :], late_pairs[j, :]
            j -= 1
        to -= 1
    return to + 1


@kernel
def missed_ends(times, codes, ends, end_codes, counts, firsts, lasts):
    """For late rows: how many of the sorted ends lie at or after each, of its group, with the first and the last.

    Where there is none, `firsts` and `lasts` stay as they are. The cost is that of the ends a row is late for.
    """
    for i in range(len(times)):
        at = len(ends)
        while at > 0 and ends[at - 1] >= times[i]:
            at -= 1
            if end_codes[at] == codes[i]:
                if counts[i] == 0:
                    lasts[i] = ends[at]
                firsts[i] = ends[at]
                counts[i] += 1


@kernel
def find_extents(codes, times, window_codes, ends, reach, lows, highs):
    """The rows `lows[i]..highs[i]`, of those sorted by (code, time), that lie in each window `(end - reach, end]`."""
    for i in range(len(ends)):
        lows[i] = first_not_before(codes, times, 0, len(codes), window_codes[i], ends[i] - reach + 1)
        highs[i] = first_not_before(codes, times, lows[i], len(codes), window_codes[i], ends[i] + 1)


@inlined
def _count(tree, place, change):
    """Add to the count of a place in a Fenwick tree."""
    i = place + 1
    while i < len(tree):
        tree[i] += change
        i += i & -i


@inlined
def _place_of(tree, top, rank):
    """The place of the `rank`-th smallest (0-based); the last place when there are not so many."""
    at, left, step = 0, rank + 1, top
    while step > 0:
        if at + step < len(tree) and tree[at + step] < left:
            at += step
            left -= tree[at]
        step //= 2
    return min(at, len(tree) - 2)


@kernel
def slide_ranks(places, lows, highs, ranks, tree, out, after):
    """The `ranks[w]`-th smallest place among rows `lows[w]..highs[w]` of each window, and the next one.

    `lows` and `highs` never go back. `tree` is zero and one longer than there are places. A row enters and leaves once;
    each of that and each answer costs the logarithm of the places.
    """
    top = 1
    while 2 * top < len(tree):
        top *= 2
    tail, head = lows[0], lows[0]
    for w in range(len(lows)):
        while head < highs[w]:
            _count(tree, places[head - lows[0]], 1)
            head += 1
        while tail < lows[w]:
            _count(tree, places[tail - lows[0]], -1)
            tail += 1
        out[w] = _place_of(tree, top, ranks[w])
        after[w] = _place_of(tree, top, ranks[w] + 1) if ranks[w] + 1 < highs[w] - lows[w] else out[w]
