"""Binary search over what is sorted by two columns."""

from __future__ import annotations

from windrow.operators.kernels.compiled import kernel


@kernel
def first_not_before(majors, minors, low, high, major, minor):
    """The first place in [low, high) whose (major, minor) is not before the one given."""
    while low < high:
        middle = (low + high) // 2
        if majors[middle] < major or (majors[middle] == major and minors[middle] < minor):
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def find_runs(majors, minors, codes, lows, highs, firsts, lasts):
    """For each code the stretch of what is sorted by (major, minor) with that major and low <= minor < high."""
    for i in range(len(codes)):
        firsts[i] = first_not_before(majors, minors, 0, len(majors), codes[i], lows[i])
        lasts[i] = first_not_before(majors, minors, firsts[i], len(majors), codes[i], highs[i])


@kernel
def find_cells(late_panes, late_codes, panes, codes, count, places):
    """Where each late cell is among the cells 0..count; -1 where there is none."""
    for i in range(len(late_panes)):
        low = first_not_before(panes, codes, 0, count, late_panes[i], late_codes[i])
        found = low < count and panes[low] == late_panes[i] and codes[low] == late_codes[i]
        places[i] = low if found else -1
