"""Late cells into the sorted timeline of closed panes."""

from __future__ import annotations

from windrow.operators.kernels.compiled import kernel
from windrow.operators.kernels.panes.sliding import later
from windrow.operators.kernels.searching import first_not_before


@kernel
def amend(
    late_panes, late_codes, late_adds, late_maxs, late_pairs,
    panes, codes, adds, maxs, pairs, count, running_from, running, missing,
):  # fmt: skip
    """Combine late cells into cells that exist; `missing[i]` says that cell i does not.

    Cells of panes from `running_from` on are in the current window: their additive state goes there too.
    """
    for i in range(len(late_panes)):
        pane, code = late_panes[i], late_codes[i]
        low = first_not_before(panes, codes, 0, count, pane, code)
        found = low < count and panes[low] == pane and codes[low] == code
        missing[i] = not found
        if found:
            for j in range(adds.shape[1]):
                adds[low, j] += late_adds[i, j]
            for j in range(maxs.shape[1]):
                maxs[low, j] = max(maxs[low, j], late_maxs[i, j])
            for j in range(0, pairs.shape[1], 2):
                if later(late_pairs[i, j], late_pairs[i, j + 1], pairs[low, j], pairs[low, j + 1]):
                    pairs[low, j], pairs[low, j + 1] = late_pairs[i, j], late_pairs[i, j + 1]
        if pane >= running_from:
            for j in range(adds.shape[1]):
                running[code, j] += late_adds[i, j]
