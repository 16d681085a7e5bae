"""Scan stored rows for those that may lie within the bounds of probes, by codes of 16 bits.

A code lies in [low, low + width] exactly when `code - low`, modulo 2^16, is at most `width`: one subtraction and one
comparison a column, without a branch, so that the counting loop is compiled to vector instructions. Only where it
counts something are the candidates looked up.
"""

from __future__ import annotations

import numpy as np

from windrow.operators.kernels.compiled import kernel

CHUNK = 1024
"""Stored rows that are tried with all probes before the next ones: they stay in the first-level cache."""


@kernel
def count_one(codes, low, width):
    """How many codes lie within one probe's bounds."""
    found = np.uint16(0)
    for i in range(len(codes)):
        found = np.uint16(found + np.uint16(np.uint16(codes[i] - low) <= width))
    return found


@kernel
def count_two(codes, low, width, others, other_low, other_width):
    """The same of two columns."""
    found = np.uint16(0)
    for i in range(len(codes)):
        is_near = np.uint16(codes[i] - low) <= width
        is_other_near = np.uint16(others[i] - other_low) <= other_width
        found = np.uint16(found + np.uint16(is_near & is_other_near))
    return found


@kernel
def scan_one(codes, lows, widths, times, firsts, lasts, at, probes, places):
    """Rows whose code is within bounds and whose time is within [first, last], from `at` = (row, probe) on.

    Gives how many were found; `at` is where to go on, behind the last row when all is done. `probes` and `places` need
    room for a chunk of matches.
    """
    found = 0
    while at[0] < len(codes):
        start, end = at[0], min(at[0] + CHUNK, len(codes))
        here, moments = codes[start:end], times[start:end]
        for p in range(at[1], len(lows)):
            if count_one(here, lows[p], widths[p]) == 0:
                continue
            if found + len(here) > len(places):
                at[1] = p
                return found
            for i in range(len(here)):
                if np.uint16(here[i] - lows[p]) <= widths[p] and firsts[p] <= moments[i] <= lasts[p]:
                    probes[found], places[found] = p, start + i
                    found += 1
        at[0], at[1] = end, 0
    return found


@kernel
def scan_two(codes, lows, widths, others, other_lows, other_widths, times, firsts, lasts, at, probes, places):
    """The same of two columns."""
    found = 0
    while at[0] < len(codes):
        start, end = at[0], min(at[0] + CHUNK, len(codes))
        here, there, moments = codes[start:end], others[start:end], times[start:end]
        for p in range(at[1], len(lows)):
            if count_two(here, lows[p], widths[p], there, other_lows[p], other_widths[p]) == 0:
                continue
            if found + len(here) > len(places):
                at[1] = p
                return found
            for i in range(len(here)):
                is_near = np.uint16(here[i] - lows[p]) <= widths[p]
                is_near = is_near & (np.uint16(there[i] - other_lows[p]) <= other_widths[p])
                if is_near and firsts[p] <= moments[i] <= lasts[p]:
                    probes[found], places[found] = p, start + i
                    found += 1
        at[0], at[1] = end, 0
    return found
