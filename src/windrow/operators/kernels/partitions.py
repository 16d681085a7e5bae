"""What the rows so far imply where each partition has its own bound.

The bounds of the partitions are the leaves of a tree, of which each inner node is the least of the two below it: node i
is above 2 i and 2 i + 1, partition c is leaf `len(tree) // 2 + c`, node 1 is the least of all. A partition that holds
nothing back is END there, START among the `highs`, and its largest value is among those that are `rested`. A row that
moves its partition changes few nodes: the way up ends where another is less.

`reached` is what changes with the rows: the largest bound of any partition, and what is implied for the whole stream.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel, shared
from windrow.operators.kernels.disorder import note_behind, note_jump
from windrow.operators.kernels.input import GRACE, span

START, END = -(1 << 63), (1 << 63) - 1
FURTHEST, BOUND = 0, 1
BLOCK = 512


@inlined
def _round_down(bound, origin, step):
    return bound if bound == START else origin + (bound - origin) // step * step


@shared
def _is_plain(times, codes, begin, end, reach, highs, old):
    """Take in rows that move no partition that rested, and none by far; how many of them there are from `begin` on."""
    for i in range(begin, end):
        high = highs[codes[i]]
        old[i - begin] = high
        if times[i] > high:
            if high == START or times[i] - high > reach:
                return i - begin
            highs[codes[i]] = times[i]
    return end - begin


@shared
def _least_of(tree, highs, promised, slack):
    """The least bound, once the leaves of all partitions that count are what their highs say."""
    half = len(tree) // 2
    for code in range(len(highs)):
        if tree[half + code] != END:
            high = highs[code]
            tree[half + code] = promised[code] if high == START else max(high - slack, promised[code])
    for node in range(half - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    return tree[1]


@shared
def _row_by_row(times, codes, begin, end, slack, idle, highs, rested, promised, tree, reached, out, grid, first, notes):
    """Take in rows; `out` gets what is implied before each."""
    origin, step = grid
    half = len(tree) // 2
    furthest, bound = reached[FURTHEST], reached[BOUND]
    implied = _round_down(bound, origin, step)
    for i in range(begin, end):
        time, code = times[i], codes[i]
        out[i - begin] = bound
        if time < implied:
            note_behind(notes, first + i, time, time, slack, 1, GRACE, bound + slack)
        high = highs[code]
        if time <= high:
            continue
        leaf = half + code
        highs[code] = time if tree[leaf] != END else max(time, rested[code])
        reach = max(highs[code] - slack, promised[code])
        furthest = max(furthest, reach)
        tree[leaf] = reach
        node = leaf >> 1
        while node >= 1:
            least = min(tree[2 * node], tree[2 * node + 1])
            if tree[node] == least:
                break
            tree[node] = least
            node >>= 1
        now = tree[1] if idle < 0 else max(tree[1], furthest - idle)
        if now > bound:
            far = high == START or time - high > slack + step
            if far and (now == reach or (idle >= 0 and now == reach - idle)):
                note_jump(notes, first + i, time, bound if bound == START else bound + slack, slack + step, GRACE)
            bound = now
            implied = _round_down(bound, origin, step)
    reached[FURTHEST], reached[BOUND] = furthest, bound


@kernel
def set_leaves(tree, codes, values):
    """These partitions count with these bounds."""
    half = len(tree) // 2
    for i in range(len(codes)):
        tree[half + codes[i]] = values[i]
    if len(codes) == 1:
        node = (half + codes[0]) >> 1
        while node >= 1:
            tree[node] = min(tree[2 * node], tree[2 * node + 1])
            node >>= 1
        return
    for node in range(half - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])


@kernel
def partition_cuts(
    times, codes, slack, idle, highs, rested, promised, tree, reached, old, grid, bound, cuts, bounds, first, notes
):
    """Cuts as `kernels.input.cut_points` makes them. Returns how many, the smallest and the largest time.

    `idle` is how far behind the furthest partition one may hold back the others; below 0: any. `grid` is where windows
    may end, as origin and step. Rows are taken a block at a time, no fewer than there are partitions (`old` has room
    for one): where none of them is below what all of them imply, in which order they came says nothing.
    """
    found, smallest, largest = 0, times[0], times[0]
    origin, step = grid
    for begin in range(0, len(times), len(old)):
        end = min(begin + len(old), len(times))
        least, most = span(times[begin:end])
        smallest, largest = min(smallest, least), max(largest, most)
        taken = _is_plain(times, codes, begin, end, slack + step, highs, old)
        if taken == end - begin:
            furthest = max(reached[FURTHEST], most - slack)
            implied = max(reached[BOUND], _least_of(tree, highs, promised, slack))
            if idle >= 0:
                implied = max(implied, furthest - idle)
            if least >= _round_down(implied, origin, step):
                reached[FURTHEST], reached[BOUND] = furthest, implied
                continue
        for i in range(begin + taken - 1, begin - 1, -1):
            highs[codes[i]] = old[i - begin]
        if taken == end - begin:
            _least_of(tree, highs, promised, slack)
        _row_by_row(
            times, codes, begin, end, slack, idle, highs, rested, promised, tree, reached, old, grid, first, notes
        )
        for i in range(begin, end):
            implied = _round_down(old[i - begin], origin, step)
            if times[i] < implied and implied > bound:
                cuts[found], bounds[found] = i, implied
                found += 1
                bound = implied
    return found, smallest, largest


@kernel
def partition_bounds(times, codes, slack, idle, highs, rested, promised, tree, reached, out, first, notes):
    """`out[i]` gets what is implied before row i. The other arguments are those of `partition_cuts`."""
    n, grid = len(times), (0, 1)
    _row_by_row(times, codes, 0, n, slack, idle, highs, rested, promised, tree, reached, out, grid, first, notes)


@kernel
def early_rows_of(times, codes, highs, lead, limit, early, against):
    """`kernels.input.early_rows` where each partition has its own `highs`, which are changed."""
    for i in range(len(times)):
        high = highs[codes[i]]
        against[i] = high
        early[i] = times[i] >= limit or (high != START and times[i] > high + lead)
        if not early[i]:
            highs[codes[i]] = max(high, times[i])
