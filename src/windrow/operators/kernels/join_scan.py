"""Scan stored columns for the rows that lie within the bounds of probes.

Bounds are told as unsigned numbers: a value lies in [low, low + width] exactly when `value - low`, taken modulo the
size of the type, is at most `width`. That is one subtraction and one comparison a column, without a branch, so that
the counting loop is compiled to vector instructions. Only where it counts something are the matches looked up.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel

CHUNK = 1024
"""Stored rows that are tried with all probes before the next ones: they stay in the first-level cache."""


@kernel
def count_one(column, low, width):
    """How many values lie within one probe's bounds."""
    kind = column.dtype.type
    found = np.uint32(0)
    for i in range(len(column)):
        found = np.uint32(found + np.uint32(kind(column[i] - low) <= width))
    return found


@kernel
def count_two(one, low, width, other, other_low, other_width):
    """The same of two columns."""
    kind, other_kind = one.dtype.type, other.dtype.type
    found = np.uint32(0)
    for i in range(len(one)):
        is_near = kind(one[i] - low) <= width
        is_other_near = other_kind(other[i] - other_low) <= other_width
        found = np.uint32(found + np.uint32(is_near & is_other_near))
    return found


@kernel
def scan_one(column, lows, widths, times, firsts, lasts, at, probes, places):
    """Matches of one column whose time is within [first, last] too, from `at` = (chunk, probe) on.

    Gives how many were found; `at` is where to go on, past the last chunk when all is done. `probes` and `places` need
    room for a chunk of matches.
    """
    kind = column.dtype.type
    found = 0
    while at[0] < len(column):
        start, end = at[0], min(at[0] + CHUNK, len(column))
        here, moments = column[start:end], times[start:end]
        for p in range(at[1], len(lows)):
            if count_one(here, lows[p], widths[p]) == 0:
                continue
            if found + len(here) > len(places):
                at[1] = p
                return found
            for i in range(len(here)):
                if kind(here[i] - lows[p]) <= widths[p] and firsts[p] <= moments[i] <= lasts[p]:
                    probes[found], places[found] = p, start + i
                    found += 1
        at[0], at[1] = end, 0
    return found


@kernel
def scan_two(one, lows, widths, other, other_lows, other_widths, times, firsts, lasts, at, probes, places):
    """The same of two columns."""
    kind, other_kind = one.dtype.type, other.dtype.type
    found = 0
    while at[0] < len(one):
        start, end = at[0], min(at[0] + CHUNK, len(one))
        here, there, moments = one[start:end], other[start:end], times[start:end]
        for p in range(at[1], len(lows)):
            if count_two(here, lows[p], widths[p], there, other_lows[p], other_widths[p]) == 0:
                continue
            if found + len(here) > len(places):
                at[1] = p
                return found
            for i in range(len(here)):
                near = kind(here[i] - lows[p]) <= widths[p] and other_kind(there[i] - other_lows[p]) <= other_widths[p]
                if near and firsts[p] <= moments[i] <= lasts[p]:
                    probes[found], places[found] = p, start + i
                    found += 1
        at[0], at[1] = end, 0
    return found
