"""Windows over rows sorted by group and order: what is in them as they slide.

A window is the rows `lows[w]..highs[w]`; neither ever goes back. Values are places: their numbers in value order.
"""

from __future__ import annotations

from windrow.operators.kernels.compiled import inlined, kernel


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


@kernel
def slide_distinct(places, lows, highs, counts, out):
    """How many different places each window holds; `counts` is zero, one a place. A row costs the same anywhere."""
    tail, head, different = lows[0], lows[0], 0
    for w in range(len(lows)):
        while head < highs[w]:
            place = places[head - lows[0]]
            different += counts[place] == 0
            counts[place] += 1
            head += 1
        while tail < lows[w]:
            place = places[tail - lows[0]]
            counts[place] -= 1
            different -= counts[place] == 0
            tail += 1
        out[w] = different


@inlined
def _recount(counts, best, place, count):
    """Set the count of a place, and who is the most frequent under each node above it; equal counts: the smaller."""
    counts[place] = count
    node = (place + len(counts)) // 2
    while node > 0:
        left, right = best[2 * node], best[2 * node + 1]
        best[node] = right if counts[right] > counts[left] else left
        node //= 2


@kernel
def slide_frequent(places, lows, highs, least, counts, best, sizes, out, out_counts):
    """The most frequent places of each window, at most a row of `out`, each at least `least[w]` times.

    `counts` is zero and as long as a power of two; `best` is a tree over it whose leaves are the places. A row costs
    the logarithm of the places, and so does each place that is given.
    """
    tail, head = lows[0], lows[0]
    for w in range(len(lows)):
        while head < highs[w]:
            place = places[head - lows[0]]
            _recount(counts, best, place, counts[place] + 1)
            head += 1
        while tail < lows[w]:
            place = places[tail - lows[0]]
            _recount(counts, best, place, counts[place] - 1)
            tail += 1
        size = 0
        while size < out.shape[1] and counts[best[1]] > 0 and counts[best[1]] >= least[w]:
            place = best[1]
            out[w, size], out_counts[w, size] = place, counts[place]
            _recount(counts, best, place, 0)
            size += 1
        for k in range(size):
            _recount(counts, best, out[w, k], out_counts[w, k])
        sizes[w] = size
