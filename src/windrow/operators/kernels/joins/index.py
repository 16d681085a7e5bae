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
def _search(words, down, keys, at, stop, wanted, bound, up_to):
    """The first row in [at, stop) after (wanted, bound), or without `up_to` not before it.

    In steps that grow, then by halving what lies between the last two.
    """
    step = 4
    while at + step < stop:
        group, key = np.int64(words[at + step] >> down) if len(words) else wanted, keys[at + step]
        if not (group < wanted or (group == wanted and (key < bound or (up_to and key == bound)))):
            break
        at += step
        step *= 4
    end = min(stop, at + step)
    while at < end:
        middle = (at + end) >> 1
        group, key = np.int64(words[middle] >> down) if len(words) else wanted, keys[middle]
        if group < wanted or (group == wanted and (key < bound or (up_to and key == bound))):
            at = middle + 1
        else:
            end = middle
    return at


@kernel
def find_starts(probes, run, down, shift, span, offset, starts):
    """For each probe the first row of a run that it may want, or -1. Probe i is the one at `offset` + i.

    Of probes sorted by group and low end, each looks on from where the one before it began.
    """
    words_wanted, lows, highs, first, last = probes
    words, keys, offsets = run
    wanted, low, at, stop = np.int64(-1), np.int64(0), np.int64(0), np.int64(0)
    for i in range(len(starts)):
        probe = offset + i
        starts[i] = -1
        if first[probe] > span[1] or last[probe] < span[0]:
            continue
        group = np.int64(words_wanted[probe] >> down) if len(words) else np.int64(0)
        if group != wanted or lows[probe] < low:
            at, stop = np.int64(0), np.int64(len(keys))
            if len(words):
                at, stop = np.int64(offsets[group >> shift]), np.int64(offsets[(group >> shift) + 1])
        wanted, low = group, np.int64(lows[probe])
        at = _search(words, down, keys, at, stop, wanted, low, False)
        if at < stop and keys[at] <= highs[probe] and (len(words) == 0 or np.int64(words[at] >> down) == wanted):
            starts[i] = at


@kernel
def find_ends(probes, run, down, offset, starts, ends):
    """For each probe that has a first row, the row after the last that it may want; found in the same way."""
    words_wanted, _, highs, _, _ = probes
    words, keys, _ = run
    stop = np.int64(len(keys))
    for i in range(len(starts)):
        at, probe = starts[i], offset + i
        if at < 0:
            continue
        wanted, high = np.int64(words_wanted[probe] >> down) if len(words) else np.int64(0), np.int64(highs[probe])
        at += 1  # the first one is wanted; most often there is no other
        ends[i] = at
        if at == stop or keys[at] > high or (len(words) and np.int64(words[at] >> down) != wanted):
            continue
        ends[i] = _search(words, down, keys, at, stop, wanted, high, True)


@kernel
def scan(probes, run, down, span, starts, ends, offset, probing, at, mine, theirs):
    """Pairs of the owners of probes and rows of a run. Goes on from `probing` at row `at` (-1: where it starts).

    Stops when there is no room for more. Returns the probe and the row to go on from, and how many pairs were found.
    """
    owners, wanted, first, last, other_lows, other_highs = probes
    words, places, others = run
    exact = len(words) == 0 or down == 0
    found = 0
    for i in range(probing, len(starts)):
        if starts[i] < 0:
            continue
        row = at if i == probing and at >= 0 else starts[i]
        stop = min(ends[i], row + len(theirs) - found)
        probe = offset + i
        owner, earliest, latest = owners[probe], first[probe], last[probe]
        inside = len(places) == 0 or (earliest <= span[0] and span[1] <= latest)
        # Rows are written in any case and counted if they fit: a branch that cannot be foreseen costs more.
        if len(others) and inside and exact:
            low_other, high_other = other_lows[probe], other_highs[probe]
            for here in range(row, stop):
                mine[found], theirs[found] = owner, here
                found += (others[here] >= low_other) & (others[here] <= high_other)
        else:
            other = probe if len(others) else 0
            word, low_other, high_other = wanted[probe if len(words) else 0], other_lows[other], other_highs[other]
            for here in range(row, stop):
                mine[found], theirs[found] = owner, here
                fits = exact or words[here] == word
                if len(others):
                    fits &= (others[here] >= low_other) & (others[here] <= high_other)
                if not inside:
                    fits &= (places[here] >= earliest) & (places[here] <= latest)
                found += fits
        if stop < ends[i]:
            return i, stop, found
    return len(starts), -1, found
