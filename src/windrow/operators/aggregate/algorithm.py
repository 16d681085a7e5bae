"""Which algorithm computes the windows of an operator: fixed by the plan, or chosen by the first rows of the stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import gcd
from typing import TypeAlias

import numpy as np

from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch
from windrow.operators.late.bounds import Bounds
from windrow.operators.state.layout import Table
from windrow.operators.windows.adaptive.windower import AdaptWid
from windrow.operators.windows.base import Closed, Windower
from windrow.operators.windows.buffer import Buffer
from windrow.operators.windows.extents import first_windows, last_windows
from windrow.operators.windows.grouped_rows import GroupedRows, Pending
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.rows.counted_rows import CountedRows
from windrow.operators.windows.rows.per_row import PerRow
from windrow.operators.windows.sessions.windower import SessionWindows
from windrow.operators.windows.wid import Wid
from windrow.physical.costs import Constants, Statistics
from windrow.physical.planner import Choice, choose
from windrow.plan.nodes import Late, Strategy, WindowAggregate
from windrow.plan.types.kinds import Shape
from windrow.semantics.progress.policies import START
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import RowsWindow, Session, SlideByTuple, Sliding

ENOUGH = 1 << 15
"""Rows from which the statistics of a stream are taken, if no window closes before."""
FEW = 1 << 8
"""Fewer rows than this have no statistics worth using."""
Make: TypeAlias = Callable[[Strategy], Windower]
ToRows: TypeAlias = Callable[[Batch, Callable[[Callable[[Table], Table]], None]], GroupedRows]


def windowing_of(
    node: WindowAggregate, shape: Shape, grouping: Grouping, *, threads: int = 1, within: int = 0
) -> tuple[Bounds, ToRows, Make]:
    """The bounds of an operator, how rows of a batch are made ready, and what makes its algorithm for a strategy.

    `within` is for how long results are corrected, under LATE REVISE.
    """
    window, plan = node.window, grouping.plan
    if isinstance(window, RowsWindow):
        counted = CountedRows(node, shape, grouping)
        partitions = Bounds(window, counted.names, lambda: counted.partitions)
        return partitions, lambda batch, _: counted.rows(batch), lambda _: counted
    names = [e.name if isinstance(e, Column) else None for _, e in node.keys]
    bounds = Bounds(window, names, lambda: grouping.groups)

    def make(strategy: Strategy) -> Windower:
        if isinstance(window, Session):
            return SessionWindows(window, plan, bounds, within if node.late is Late.REVISE else None)
        if isinstance(window, SlideByTuple):
            return PerRow(node, window, plan)
        if strategy is Strategy.PANES:
            return PanedWid(window, plan, threads=threads, keep=within)
        if strategy is Strategy.BUFFER:
            return Buffer(window, plan)
        assert isinstance(window, Sliding)
        return AdaptWid(window, plan) if strategy is Strategy.ADAPTIVE else Wid(window, plan)

    return bounds, grouping.rows, make


@dataclass
class StrategyTrial:
    """The first rows of a stream, which wait until they show how its windows are best computed."""

    node: WindowAggregate
    constants: Constants
    rows: Pending = field(default_factory=Pending)
    passed: int = START
    """Windows that end up to here closed before the first row."""

    def choice(self, rows: GroupedRows | None) -> Choice:
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


def measured(rows: GroupedRows, window: Sliding) -> Statistics:
    """Groups, their rows a pane, and the kinds of groups there are, from the rows of one window.

    Where rows reach over less than a pane, they are taken for all of it.
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


class Algorithm:
    """What computes the windows of one operator. With a trial, the first rows wait until they have chosen it."""

    def __init__(self, make: Make, choice: Choice, trial: StrategyTrial | None = None) -> None:
        self._make = make
        self.choice = choice
        self.trial = trial
        self.running = make(choice.strategy) if trial is None else None
        """None while the trial goes on."""

    def windower(self, groups: int) -> Windower:
        """The first use of it ends the trial."""
        if self.trial is not None:
            self._settle(self.trial, groups)
        assert self.running is not None
        return self.running

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        if self.trial is None:
            return self._put(rows, groups)
        self.trial.rows.put(rows)
        if self.trial.rows.count >= ENOUGH:
            self._settle(self.trial, groups)
        return ()

    def _put(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        windower = self.windower(groups)
        windower.witness(rows.span[1])
        return windower.add(rows, groups)

    def _settle(self, trial: StrategyTrial, groups: int) -> None:
        """End the trial: its rows are the first that the algorithm sees."""
        rows = trial.rows.take() if trial.rows.count else None
        self._begin(trial.choice(rows))
        if trial.passed != START:
            list(self.windower(groups).close(trial.passed, groups))
        if rows is not None:
            self._put(rows, groups)

    def _begin(self, choice: Choice) -> None:
        self.choice, self.trial = choice, None
        self.running = self._make(choice.strategy)

    def skips_to(self, bound: int) -> bool:
        """Whether windows up to a bound closed before the first row, so that there is nothing to report."""
        if self.trial is None or self.trial.rows.count:
            return False
        self.trial.passed = bound
        return True

    def next_end(self, closed: int, groups: int) -> int:
        """Where the earliest window to come ends, when those up to `closed` are; a question that ends no trial."""
        if self.trial is None:
            return self.windower(groups).next_end(closed)
        assert isinstance(self.trial.node.window, Sliding)
        return closed + self.trial.node.window.slide

    def take_up(self, strategy: str, *reasons: str) -> None:
        """State is about to come from an operator that had this one."""
        if self.trial is not None or self.choice.strategy is not Strategy(strategy):
            self._begin(Choice(Strategy(strategy), reasons))

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        if self.running is not None:
            self.running.regrow(convert)

    def to_json(self) -> list[str]:
        return [self.choice.strategy.value, *self.choice.reasons]

    @property
    def nbytes(self) -> int:
        known = self.running if self.trial is None else self.trial.rows
        return 0 if known is None else known.nbytes

    @property
    def open_windows(self) -> int:
        known = self.running if self.trial is None else self.trial
        return 0 if known is None else known.open_windows
