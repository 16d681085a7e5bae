"""Sessions that are reported when they are over, and again when late rows have changed them.

A late row can only make a session longer or join several into one. So a correction covers all that it replaces, and
results that a newer one of their group overlaps are void.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.store.row_block import RowBlock
from windrow.operators.windows.base import Closed
from windrow.operators.windows.sessions.open_sessions import Sessions


class RevisedSessions(Sessions):
    """For every session: how often it, or one that it covers, was reported, and whether it has changed since."""

    def _fresh(self, codes: Codes, starts: Integers, lasts: Integers, state: Table) -> RowBlock:
        rows = super()._fresh(codes, starts, lasts, state)
        return rows.having({"reports": np.zeros(len(rows), np.int64), "changed": np.ones(len(rows), np.bool_)})

    def _merged(self, rows: RowBlock, labels: Integers, first: Integers) -> RowBlock:
        reports, changed = np.maximum.reduceat(rows["reports"], first), np.logical_or.reduceat(rows["changed"], first)
        return super()._merged(rows, labels, first).having({"reports": reports, "changed": changed})

    def report(self, bounds: Integers, moved: npt.NDArray[np.bool_]) -> Iterator[Closed]:
        """The sessions of groups whose bound moved that are over and have changed; they stay."""
        chosen = self.over(bounds) & self.open["changed"] & moved[self.open["code"]]
        if not chosen.any():
            return
        closed, reports = self._answers(chosen, leave=False), self.open["reports"]
        closed.revisions = reports[chosen]
        self.open = self.open.having({"reports": reports + chosen, "changed": self.open["changed"] & ~chosen})
        yield closed.by_end()
