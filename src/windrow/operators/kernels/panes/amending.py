"""Late cells into the sorted timeline of closed panes."""

from __future__ import annotations

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.searching import first_not_before


@kernel
def find_cells(late_panes, late_codes, panes, codes, count, places):
    """Where each late cell is among the cells 0..count; -1 where there is none."""
    for i in range(len(late_panes)):
        low = first_not_before(panes, codes, 0, count, late_panes[i], late_codes[i])
        found = low < count and panes[low] == late_panes[i] and codes[low] == late_codes[i]
        places[i] = low if found else -1
