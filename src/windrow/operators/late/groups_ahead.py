"""Groups that promises of their own have carried ahead of the others: where they are closed, what was reported."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.late.group_bounds import GroupBounds, group_names
from windrow.operators.state.groups import Codes
from windrow.operators.windows.extents import last_closed
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Sliding


class Ahead(GroupBounds):
    """By the code of a group: the boundary below which its windows are closed, and the last window reported of it."""

    def __init__(self, grouping: Grouping, node: WindowAggregate) -> None:
        super().__init__(group_names(node), lambda: grouping.groups)
        self.window = node.window
        self.reported: Integers = np.empty(0, np.int64)

    def grow(self) -> None:
        first = len(self.closed)
        super().grow()
        self.reported = np.concatenate([self.reported, np.full(len(self.closed) - first, START, np.int64)])
        if isinstance(self.window, Sliding) and first < len(self.closed):
            known = np.flatnonzero(self.closed[first:] != START) + first
            self.reported[known] = last_closed(self.window, self.closed[known])

    def remap(self, mapping: Codes, groups: int) -> None:
        self.reported = self.reported[np.flatnonzero(mapping[: len(self.reported)] >= 0)]
        super().remap(mapping, groups)

    def state(self) -> dict[str, pa.Table]:
        tables = super().state()
        return {**tables, "ahead": tabled(closed=self.closed, reported=self.reported)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.reported = np.array(tables["ahead"]["reported"].combine_chunks())
        super().restore(tables)
