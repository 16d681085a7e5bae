"""Sorted runs of rows to look partners up in: rows by group (the top bits of a word), within it by key."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel

DIGIT = 11
"""Bits that one pass of the sort looks at; three passes see 32."""


@kernel
def sort_groups(words, down, order, spare):
    """Sort `order` by the group of its rows, equal groups as they are. `spare` is as long."""
    size = 1 << DIGIT
    counts = np.zeros((3, size), np.int64)
    for i in range(len(order)):
        group = np.int64(words[i] >> down)
        for place in range(3):
            counts[place, (group >> (DIGIT * place)) & (size - 1)] += 1
    source, target = order, spare
    for place in range(3):
        total = np.int64(0)
        for digit in range(size):
            count = counts[place, digit]
            counts[place, digit] = total
            total += count
        for i in range(len(source)):
            row = source[i]
            at = (np.int64(words[row] >> down) >> (DIGIT * place)) & (size - 1)
            target[counts[place, at]] = row
            counts[place, at] += 1
        source, target = target, source
    return source


@kernel
def find_offsets(words, down, shift, offsets):
    """Where each bucket, groups that begin with the same bits, starts in sorted words; after the last, the end."""
    at = 0
    for i in range(len(words)):
        bucket = np.int64(words[i] >> down) >> shift
        while at <= bucket:
            offsets[at] = i
            at += 1
    while at < len(offsets):
        offsets[at] = len(words)
        at += 1


@kernel
def merge_order(words, down, keys, other_words, other_keys, order):
    """The order that merges two sorted runs: places of the first run, then, from its length on, of the other."""
    i, j, size = 0, 0, len(keys)
    for out in range(len(order)):
        if i == size:
            first = False
        elif j == len(other_keys):
            first = True
        elif len(words) == 0:
            first = keys[i] <= other_keys[j]
        else:
            one, other = words[i] >> down, other_words[j] >> down
            first = keys[i] <= other_keys[j] if one == other else one < other
        if first:
            order[out] = i
            i += 1
        else:
            order[out] = size + j
            j += 1


@inlined
def _start(words, down, group, keys, low, start, end):
    """The first row of start..end that is not below (group, low)."""
    while end - start > 8:
        middle = (start + end) >> 1
        below = keys[middle] < low
        if len(words):
            here = np.int64(words[middle] >> down)
            below = here < group or (here == group and below)
        if below:
            start = middle + 1
        else:
            end = middle
    while start < end:
        below = keys[start] < low
        if len(words):
            here = np.int64(words[start] >> down)
            below = here < group or (here == group and below)
        if not below:
            break
        start += 1
    return start


@kernel
def probe(
    wanted,
    lows,
    highs,
    first,
    last,
    other_lows,
    other_highs,
    words,
    down,
    keys,
    places,
    others,
    offsets,
    shift,
    span,
    until,
    probing,
    at,
    found_probes,
    found_rows,
):
    """Pairs of probes and rows of a run. Goes on from probe `probing` (at row `at`, or -1 for its first).

    Stops when there is no room for more. Returns the probe and the row to go on from, and how many pairs were found.
    """
    found, room = 0, len(found_rows)
    low_place, high_place = span
    for i in range(probing, until):
        if first[i] > high_place or last[i] < low_place:
            continue
        start, end, group = 0, len(keys), np.int64(0)
        if len(words):
            group = np.int64(wanted[i] >> down)
            bucket = group >> shift
            start, end = offsets[bucket], offsets[bucket + 1]
        start = at if i == probing and at >= 0 else _start(words, down, group, keys, lows[i], start, end)
        for row in range(start, end):
            if len(words) and np.int64(words[row] >> down) != group:
                break
            if keys[row] > highs[i]:
                break
            if len(words) and words[row] != wanted[i]:
                continue
            if len(places) and (places[row] < first[i] or places[row] > last[i]):
                continue
            if len(others) and (others[row] < other_lows[i] or others[row] > other_highs[i]):
                continue
            if found == room:
                return i, row, found
            found_probes[found] = i
            found_rows[found] = row
            found += 1
    return until, -1, found
