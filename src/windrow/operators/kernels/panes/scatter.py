"""Rows into cells: add and keep the greatest, one state column a pass; what registers hold.

`slots[i]` is the cell of row i; `valid` is empty when no argument is NULL.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel

LOW = (1 << 32) - 1


@kernel
def add_rows(adds, slots):
    for i in range(len(slots)):
        adds[slots[i], 0] += 1


@kernel
def add_integers(adds, column, slots, values, valid):
    if len(valid):
        for i in range(len(slots)):
            if valid[i]:
                adds[slots[i], column] += values[i]
    else:
        for i in range(len(slots)):
            adds[slots[i], column] += values[i]


@kernel
def add_halves(adds, column, slots, values, valid):
    """The high half at `column`, the low half after it: no sum of fewer than 2^31 rows overflows."""
    for i in range(len(slots)):
        if len(valid) == 0 or valid[i]:
            adds[slots[i], column] += values[i] >> 32
            adds[slots[i], column + 1] += values[i] & LOW


@kernel
def keep_greatest(maxs, column, slots, keys, valid):
    if len(valid):
        for i in range(len(slots)):
            if valid[i] and keys[i] > maxs[slots[i], column]:
                maxs[slots[i], column] = keys[i]
    else:
        for i in range(len(slots)):
            if keys[i] > maxs[slots[i], column]:
                maxs[slots[i], column] = keys[i]


@kernel
def keep_latest(pairs, column, slots, times, keys, valid):
    """The greatest (time, key) in lexicographic order."""
    for i in range(len(slots)):
        if len(valid) == 0 or valid[i]:
            slot = slots[i]
            time = pairs[slot, column]
            if times[i] > time or (times[i] == time and keys[i] > pairs[slot, column + 1]):
                pairs[slot, column] = times[i]
                pairs[slot, column + 1] = keys[i]


@kernel
def keep_marks(registers, column, slots, marks, valid):
    """The greatest low byte of the marks of each register, which is in the bits above it."""
    for i in range(len(slots)):
        if len(valid) == 0 or valid[i]:
            at, number = column + (marks[i] >> 8), marks[i] & 255
            if number > registers[slots[i], at]:
                registers[slots[i], at] = number


@kernel
def count_numbers(words, first, last, counts):
    """`counts[i, n]` = how many bytes of the words `first` to `last` of row i are n. Most words hold nothing but 0."""
    for i in range(len(words)):
        for j in range(first, last):
            word = words[i, j]
            if word == 0:
                counts[i, 0] += 8
                continue
            for _ in range(8):
                counts[i, word & np.uint64(255)] += 1
                word >>= np.uint64(8)
