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
def _is_below(words, down, group, keys, low, row):
    """Whether a row comes before (group, low)."""
    if len(words):
        here = np.int64(words[row] >> down)
        return here < group or (here == group and keys[row] < low)
    return keys[row] < low


@inlined
def _start(words, down, group, keys, low, start, end):
    """The first row of start..end that is not below (group, low), looked for in steps that grow, then by halving."""
    step = 4
    while start + step < end and _is_below(words, down, group, keys, low, start + step):
        start += step
        step *= 4
    end = min(end, start + step + 1)
    while end - start > 4:
        middle = (start + end) >> 1
        if _is_below(words, down, group, keys, low, middle):
            start = middle + 1
        else:
            end = middle
    while start < end and _is_below(words, down, group, keys, low, start):
        start += 1
    return start


@inlined
def _scan(
    owner,
    word,
    high,
    first,
    last,
    low_other,
    high_other,
    words,
    down,
    keys,
    places,
    others,
    inside,
    row,
    end,
    found,
    mine,
    theirs,
):
    """Note the rows from `row` on that fit a probe. Returns -1, or the row for which there was no room."""
    room = len(theirs)
    while row < end and keys[row] <= high:
        if len(words) and words[row] != word:
            if (words[row] >> down) != (word >> down):
                break
            row += 1
            continue
        if found == room:
            return row, found
        # Written in any case and counted if it fits: a branch that cannot be foreseen costs more.
        mine[found] = owner
        theirs[found] = row
        fits = True
        if len(others):
            fits = (others[row] >= low_other) & (others[row] <= high_other)
        if not inside:
            fits &= (places[row] >= first) & (places[row] <= last)
        found += fits
        row += 1
    return -1, found


@kernel
def probe(
    owners,
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
    """Pairs of the owners of probes and rows of a run. Goes on from probe `probing` (at row `at`, -1 for its first).

    Stops when there is no room for more. Returns the probe and the row to go on from, and how many pairs were found.
    Of probes sorted by group and low end, each begins where the one before did.
    """
    found = 0
    group, low = np.int64(-1), np.int64(0)
    start, end = np.int64(0), np.int64(0)
    for i in range(probing, until):
        if first[i] > span[1] or last[i] < span[0]:
            continue
        before = group
        group = np.int64(wanted[i] >> down) if len(words) else np.int64(0)
        if group != before or lows[i] < low:
            start, end = np.int64(0), np.int64(len(keys))
            if len(words):
                bucket = group >> shift
                start, end = np.int64(offsets[bucket]), np.int64(offsets[bucket + 1])
        low = np.int64(lows[i])
        start = _start(words, down, group, keys, lows[i], start, end)
        row = at if i == probing and at >= 0 else start
        inside = len(places) == 0 or (first[i] <= span[0] and span[1] <= last[i])
        row, found = _scan(
            owners[i],
            wanted[i if len(words) else 0],
            highs[i],
            first[i],
            last[i],
            other_lows[i if len(others) else 0],
            other_highs[i if len(others) else 0],
            words,
            down,
            keys,
            places,
            others,
            inside,
            row,
            end,
            found,
            found_probes,
            found_rows,
        )
        if row >= 0:
            return i, row, found
    return until, -1, found


@kernel
def gather(values, index, out):
    """`values[index]`."""
    for i in range(len(index)):
        out[i] = values[index[i]]
