"""Values that repeat: a sorted dictionary and places in it, or runs and their lengths."""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import inlined, kernel

MOST = 256
"""Dictionaries have at most so many entries."""
SPARE = 8
_SLOTS = 1024
_SHIFT = np.uint64(64 - 10)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@inlined
def new_slots():
    """Where distinct values are looked up: the entry of each slot, -1 where it has none."""
    return np.empty(_SLOTS, np.int64)


@kernel
def find_distinct(words, count, slots, entries, places, most):
    """The distinct values as they come, and the entry of each value; how many, or more than `most` where given up."""
    slots[:] = -1
    size = 0
    for i in range(count):
        word = words[i]
        slot = np.int64((word * _GOLDEN) >> _SHIFT)
        while slots[slot] >= 0 and entries[slots[slot]] != word:
            slot = (slot + 1) & (_SLOTS - 1)
        if slots[slot] < 0:
            if size == most:
                return most + 1
            entries[size] = word
            slots[slot] = size
            size += 1
        places[i] = np.uint64(slots[slot])
    return size


@kernel
def sort_entries(entries, size, order, codes):
    """Sort the entries, and turn codes of entries as they came into codes of sorted ones (`codes[entry]`)."""
    for k in range(size):
        order[k] = k
    gap = 1
    while gap < size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, size):
            entry, spot = order[k], k
            while spot >= gap and entries[order[spot - gap]] > entries[entry]:
                order[spot] = order[spot - gap]
                spot -= gap
            order[spot] = entry
        gap //= 3
    for k in range(size):
        codes[order[k]] = np.uint64(k)


@kernel
def count_runs(words, count):
    """How many runs of equal neighbours there are, and the length of the longest."""
    runs, began, longest = 1, 0, 1
    for i in range(1, count):
        if words[i] != words[i - 1]:
            longest = max(longest, i - began)
            runs, began = runs + 1, i
    return runs, max(longest, count - began)


@kernel
def find_runs(words, count, values, lengths):
    """The value and the length less one of each run; how many."""
    runs, began = 0, 0
    for i in range(1, count + 1):
        if i == count or words[i] != words[began]:
            values[runs] = words[began]
            lengths[runs] = np.uint64(i - began - 1)
            runs, began = runs + 1, i
    return runs


@kernel
def spread_runs(values, lengths, runs, words, count):
    """Write every value as often as its run is long; False where that is not `count` in all.

    Most runs are short, so a few words are written without looking at the length: `words` has `SPARE` more.
    """
    at = np.int64(0)
    for k in range(runs):
        if lengths[k] >= np.uint64(count - at):
            return False
        value, stop = values[k], at + np.int64(lengths[k]) + 1
        for i in range(SPARE):
            words[at + i] = value
        for i in range(at + SPARE, stop):
            words[i] = value
        at = stop
    return at == count
