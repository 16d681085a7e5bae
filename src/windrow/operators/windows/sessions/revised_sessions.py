"""Sessions that are reported when they are over, and again when late rows have changed them.

A late row can only make a session longer or join several into one. So a correction covers all that it replaces, and
results that a newer one of their group overlaps are void.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.sessions.open_sessions import Sessions
from windrow.semantics.windows.kinds import Session


class RevisedSessions(Sessions):
    """For every session: how often it, or one that it covers, was reported, and whether it has changed since."""

    def __init__(self, window: Session, plan: Plan) -> None:
        super().__init__(window, plan)
        self.reports: Integers = np.empty(0, np.int64)
        self.changed: npt.NDArray[np.bool_] = np.empty(0, np.bool_)

    def _merge(self, codes: Codes, starts: Integers, lasts: Integers, table: Table) -> tuple[Integers, Integers]:
        reports = np.concatenate([self.reports, np.zeros(len(codes), np.int64)])
        changed = np.concatenate([self.changed, np.ones(len(codes), np.bool_)])
        order, first = super()._merge(codes, starts, lasts, table)
        self.reports = np.maximum.reduceat(reports[order], first) if len(first) else reports
        self.changed = np.logical_or.reduceat(changed[order], first) if len(first) else changed
        return order, first

    def report(self, bounds: Integers, moved: npt.NDArray[np.bool_]) -> Iterator[Closed]:
        """The sessions of groups whose bound moved that are over and have changed; they stay."""
        chosen = self.over(bounds) & self.changed & moved[self.codes]
        if not chosen.any():
            return
        closed = self._answers(chosen, leave=False)
        closed.revisions = self.reports[chosen]
        self.reports[chosen] += 1
        self.changed[chosen] = False
        yield closed.by_end()

    def _keep(self, staying: npt.NDArray[np.bool_]) -> None:
        super()._keep(staying)
        self.reports, self.changed = self.reports[staying], self.changed[staying]

    def state(self) -> dict[str, pa.Table]:
        return super().state() | {"revised": tabled(reports=self.reports, changed=self.changed.astype(np.int64))}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        super().restore(tables)
        reports, changed = (np.array(tables["revised"][name].combine_chunks()) for name in ("reports", "changed"))
        self.reports, self.changed = reports, changed.astype(np.bool_)
