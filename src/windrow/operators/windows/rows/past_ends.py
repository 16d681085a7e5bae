"""The ends of windows already reported, as far back as late rows or empty windows ask for them."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows.per_row import missed_ends
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.windows.rows.row_timeline import Ends


class PastEnds(RowStore):
    """Ends in order, numbered on, each with the group that its window is for; -1: of one that is forgotten."""

    def __init__(self) -> None:
        super().__init__(RowBlock({"place": np.empty(0, np.int64), "code": NO_CODES}), by="place")

    def add(self, ends: Ends) -> None:
        self.append(RowBlock({"place": ends.times, "code": ends.codes}))

    def from_number(self, number: int) -> int | None:
        """The end of this number; None when there is none yet."""
        return int(self.times_of(np.array([number]))[0]) if number < self.count else None

    def times_of(self, numbers: Integers) -> Integers:
        return self.gather("place", numbers)

    def missed(
        self, times: Integers, bounds: Integers, codes: Codes, ahead: Ends | None = None
    ) -> tuple[Integers, Integers, Integers]:
        """How many ends lie from each time to its bound, of its group; the first and the last, or the time itself.

        `ahead` are further ends, none of them before those known here.
        """
        counts, firsts, lasts = np.zeros(len(times), np.int64), times.copy(), times.copy()
        known = self.read(self.search(int(times.min())) if len(times) else 0, len(self))
        if ahead is not None and len(ahead.times):
            known = RowBlock.joined([known, RowBlock({"place": ahead.times, "code": ahead.codes})])
        missed_ends(times, bounds, codes, known["place"], known["code"], counts, firsts, lasts)
        return counts, firsts, lasts
