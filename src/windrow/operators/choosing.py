"""Which algorithm computes the windows of an operator: fixed by the plan, or chosen by the first rows of the stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import gcd

import numpy as np

from windrow.operators.windows.adaptive import AdaptWid
from windrow.operators.windows.base import Plan, Rows
from windrow.operators.windows.buffer import Buffer
from windrow.operators.windows.extents import first_windows, last_windows
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.pending import Pending
from windrow.operators.windows.wid import Wid
from windrow.plan.costs import Constants, Statistics
from windrow.plan.nodes import Strategy, WindowAggregate
from windrow.plan.planner import Choice, choose
from windrow.semantics.progress import START
from windrow.semantics.windows import Landmark, Sliding

ENOUGH = 1 << 15
"""Rows from which the statistics of a stream are taken, if no window closes before."""
FEW = 1 << 8
"""Fewer rows than this say nothing about a stream."""


@dataclass
class Trial:
    """The first rows of a stream, which wait until they tell how its windows are best computed."""

    node: WindowAggregate
    constants: Constants
    rows: Pending = field(default_factory=Pending)
    passed: int = START
    """Windows that end up to here closed before the first row."""

    @property
    def is_over(self) -> bool:
        return self.rows.count >= ENOUGH

    def choice(self, rows: Rows | None) -> Choice:
        """By the statistics of these rows, where they are enough to have any."""
        assert isinstance(self.node.window, Sliding)
        if rows is None or len(rows) < FEW:
            return choose(self.node)
        return choose(self.node, measured(rows, self.node.window), self.constants)

    @property
    def open_windows(self) -> int:
        window = self.node.window
        if self.rows.count == 0 or not isinstance(window, Sliding):
            return 0
        least, most = (np.array([f(rows.span) for rows in self.rows.batches]) for f in (min, max))
        return max(0, int(last_windows(window, most).max() - first_windows(window, least).min()) + 1)


def measured(rows: Rows, window: Sliding) -> Statistics:
    """Groups, their rows a pane, and the kinds of groups there are, from the rows of one window.

    Where rows reach over less than a pane, they are taken for all of it: how many groups and rows are still to come in
    it, nobody knows.
    """
    least, most = rows.span
    inside = rows.times < least + window.range
    volumes = np.bincount(rows.group_codes()[inside])
    volumes = volumes[volumes > 0]
    panes = max(1.0, (min(most - least, window.range) + 1) / gcd(window.range, window.slide))
    kinds = np.log2(volumes).astype(np.int64)
    sizes, sums = np.bincount(kinds), np.bincount(kinds, weights=volumes)
    found = tuple((float(n), float(total / n / panes)) for n, total in zip(sizes, sums, strict=True) if n)
    return Statistics(float(len(volumes)), float(volumes.mean() / panes), kinds=found)


def make_windower(
    node: WindowAggregate, plan: Plan, strategy: Strategy, *, threads: int, keep: int
) -> Wid | Buffer | PanedWid:
    """The algorithm of a strategy for sliding and landmark windows."""
    window = node.window
    assert isinstance(window, (Sliding, Landmark))
    if strategy is Strategy.WID and isinstance(window, Sliding):
        return Wid(window, plan)
    if strategy is Strategy.ADAPTIVE and isinstance(window, Sliding):
        return AdaptWid(window, plan)
    if strategy is Strategy.BUFFER:
        return Buffer(window, plan)
    return PanedWid(window, plan, threads=threads, keep=keep)
