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
