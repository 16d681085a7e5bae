"""Physical nodes: one frozen class a way of executing, with all that its executor needs and the reasons for it.

Each node says which logical node it answers (`asked`) and reads from `inputs`. The plans of several queries are one
graph: what they share is the same object, so identity says what is executed once, and equality what could be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import reduce
from math import gcd
from typing import ClassVar, TypeAlias

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.physical.costs import MEASURED, Constants
from windrow.physical.how import EAGER, Flush
from windrow.plan import nodes as logical
from windrow.plan.conditions import Conditions
from windrow.plan.nodes import JoinStrategy, Strategy, WindowAggregate, inputs_of
from windrow.semantics.progress.policies import END, LIMIT, START, AtEnd
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.windows.kinds import Landmark, Sliding


@dataclass(frozen=True)
class Grid:
    """Where windows above may end: origin + k * step. Punctuations in between say nothing to them."""

    origin: int = 0
    step: int = 1
    pace: int = 1
    """How far one source may be read ahead of another; at least a step."""
    rows: int = 1
    """How many rows of one source are read at least before it is another's turn: where order decides nothing."""
    by_arrival: bool = False
    """Rows are counted as they come, so that it matters which source is read first."""
    together: bool = False
    """Rows that came under different bounds may come in one batch, which has the bound of each."""
    keys: frozenset[str] = frozenset()
    """The columns that windows above group by: promises for groups of other columns say nothing to them."""

    @property
    def paced(self) -> Grid:
        return Grid(self.origin, max(self.step, self.pace))

    def refined(self, other: Grid) -> Grid:
        """Where windows of either may end."""
        step = gcd(self.step, other.step, self.origin - other.origin)
        return replace(self, step=step, together=self.together and other.together)

    def round_down(self, bound: int) -> int:
        if bound in (START, END):
            return bound
        return self.origin + (bound - self.origin) // self.step * self.step

    def rounded_down(self, bounds: Integers) -> Integers:
        """The same for many; whatever lies beyond all times is as good as the limit."""
        return self.origin + (np.clip(bounds, -LIMIT, LIMIT) - self.origin) // self.step * self.step


@dataclass(frozen=True)
class Physical:
    """What all nodes have."""

    asked: logical.Node
    inputs: tuple[Physical, ...] = ()
    reasons: tuple[str, ...] = ()


Plans: TypeAlias = tuple[Physical, ...]
"""A root for each query."""


@dataclass(frozen=True)
class Undecided(Physical):
    """A logical node before a rule has decided how it is executed."""


@dataclass(frozen=True)
class Answer(Physical):
    """The root of a query; `asked` is its whole plan, as this query wrote it."""


# Rows as they come


@dataclass(frozen=True)
class Read(Physical):
    """The rows of a stream, with the punctuations that its policy implies."""

    asked: logical.Stream
    slack: int = 0
    lead: int | None = None
    """How far ahead rows may be, in units of their time; None: any."""
    idle: int | None = None
    """How far one of its partitions may hold back the others, in units of their time; None: as far as it is behind."""
    silence: float | None = None
    """After how many seconds of silence one of its partitions no longer holds back the others."""
    keys: frozenset[str] = frozenset()
    """The columns for whose single groups promises are passed on."""
    grids: tuple[Grid | None, ...] = field(default=(), compare=False)
    """What each query that reads it can use of its punctuations. The first decides how sources are read."""
    leads: bool = field(default=False, compare=False)
    """Whether one of these queries reads several sources."""

    @property
    def first(self) -> Grid:
        return (self.grids[0] if self.grids else None) or Grid()

    @property
    def grid(self) -> Grid | None:
        """Where windows of any query above may end; None when nothing above uses them."""
        grids = [one for one in self.grids if one is not None]
        return reduce(Grid.refined, grids) if grids else None

    @property
    def is_patient(self) -> bool:
        """When its rows come does not matter: it promises nothing before its end, or nothing above uses it."""
        unused = not self.grids or self.grids[0] is None
        return unused or (isinstance(self.asked.policy, AtEnd) and not self.first.by_arrival)


@dataclass(frozen=True)
class Select(Physical):
    """The rows for which the predicate is true, marked in place."""

    asked: logical.Filter


@dataclass(frozen=True)
class ProjectRows(Physical):
    """New columns, row by row."""

    asked: logical.Project


@dataclass(frozen=True)
class Meld(Physical):
    """Rows of several inputs as they come; an input that lags is waited for as long as is said here."""

    asked: logical.Union
    idle: tuple[int | None, ...] = ()
    """By how much each input holds the others back at most, in units of their time."""
    silence: tuple[float | None, ...] = ()
    """The seconds of silence after which an input is not waited for."""


@dataclass(frozen=True)
class DistinctRows(Physical):
    """Each different row once, remembered until no window that could hold it is open."""

    asked: logical.Distinct
    grid: Grid = field(default_factory=Grid)


@dataclass(frozen=True)
class Sort(Physical):
    """Rows wait for the promise that no smaller one follows."""

    asked: logical.OrderedOutput
    pace: int = 1
    """How far one source of a union may be read ahead where rows wait for each other."""


# Windows


@dataclass(frozen=True)
class Window(Physical):
    """A window aggregate; `passes` are the columns out by which nodes above can use promises for single groups."""

    asked: WindowAggregate
    passes: frozenset[str] = frozenset()
    within: int = 0
    """How long windows are corrected, in units of time."""
    strategy: Strategy = field(default=Strategy.AUTO, kw_only=True)


@dataclass(frozen=True)
class SlidingWindow(Window):
    """Sliding, tumbling and landmark windows, by the algorithm of a strategy that has no node of its own."""

    early: int = 0
    """How often open windows are given, in units of time; 0: never."""
    threads: int = 1


@dataclass(frozen=True)
class PanedWindow(SlidingWindow):
    """Each row into one pane; windows are put together from panes."""

    pane: int = 1
    strategy: Strategy = field(default=Strategy.PANES, kw_only=True)


@dataclass(frozen=True)
class EagerWindow(SlidingWindow):
    """Each row into every window that holds it."""

    strategy: Strategy = field(default=Strategy.WID, kw_only=True)


@dataclass(frozen=True)
class AdaptiveWindow(SlidingWindow):
    """Panes for the groups that are worth it, packed rows for the others."""

    strategy: Strategy = field(default=Strategy.ADAPTIVE, kw_only=True)


@dataclass(frozen=True)
class KeptRowsWindow(SlidingWindow):
    """Rows are kept, and aggregated when their window closes."""

    strategy: Strategy = field(default=Strategy.BUFFER, kw_only=True)


@dataclass(frozen=True)
class TrialWindow(SlidingWindow):
    """The first rows choose among these by what each would cost; the first is used where rows are too few."""

    among: tuple[Strategy, ...] = ()
    constants: Constants = MEASURED


@dataclass(frozen=True)
class SmoothedWindow(SlidingWindow):
    """Panes in two levels, whose answers leave in slices between batches."""

    pane: int = 1
    flush: Flush = EAGER
    strategy: Strategy = field(default=Strategy.PANES, kw_only=True)


@dataclass(frozen=True)
class SessionWindow(Window):
    """Rows are merged into open sessions."""


@dataclass(frozen=True)
class PerRowWindow(Window):
    """Windows that end with rows."""

    together: bool = False
    """Whether rows that met different bounds may come in one batch."""


@dataclass(frozen=True)
class LastRowsWindow(Window):
    """Windows of so many rows."""

    strategy: Strategy = field(default=Strategy.PANES, kw_only=True)


@dataclass(frozen=True)
class SharedPanes(Physical):
    """Rows into cells once, for all windows that read from it; `asked` is a tumbling window as long as a pane."""

    asked: WindowAggregate
    pane: int = 1
    windows: tuple[Sliding | Landmark, ...] = ()
    threads: int = 1


@dataclass(frozen=True)
class DividedGroups(Physical):
    """One operator as several, each with the groups that are routed to it, on the threads of this process."""

    each: Physical = field(kw_only=True)
    """What each of them is."""
    routes: tuple[tuple[Expression, ...], ...] = ()
    """What rows of each input are routed by."""
    panes: bool = False
    """Whether every thread puts rows into panes before these are routed."""
    shards: int = 1
    threads: int = 1


# Joins


@dataclass(frozen=True)
class PhysicalJoin(Physical):
    """A join: what it looks partners up by, and what it tries on those that were found."""

    asked: logical.Join
    conditions: Conditions = field(default_factory=Conditions)
    passes: frozenset[str] = frozenset()
    threads: int = 1
    strategy: ClassVar[JoinStrategy] = JoinStrategy.INDEX


@dataclass(frozen=True)
class IndexJoin(PhysicalJoin):
    """Partners are looked up by hash, or in cells as wide as a band."""


@dataclass(frozen=True)
class ScanJoin(PhysicalJoin):
    """Every pair in the window is tried."""

    strategy: ClassVar[JoinStrategy] = JoinStrategy.SCAN


@dataclass(frozen=True)
class Handshake(PhysicalJoin):
    """Rows of both sides pass each other on a chain of workers, which look up or try what they hold."""

    looks_up: bool = True
    strategy: ClassVar[JoinStrategy] = JoinStrategy.HANDSHAKE


@dataclass(frozen=True)
class InOrderJoin(PhysicalJoin):
    """Left rows wait until all that they can meet is there, so that results are in order."""

    strategy: ClassVar[JoinStrategy] = JoinStrategy.OPIB


@dataclass(frozen=True)
class AsOfJoin(PhysicalJoin):
    """Each left row with the one right row as of its time."""


# Plans as a graph


def undecided(node: logical.Node) -> Physical:
    """A logical plan for rules to decide on."""
    return Undecided(node, tuple(map(undecided, inputs_of(node))))


def walk(node: Physical) -> Iterator[Physical]:
    """The node and everything below it, top down."""
    yield node
    for child in node.inputs:
        yield from walk(child)


def each(plans: Plans) -> Iterator[Physical]:
    """The nodes of all plans, top down; what is shared comes once."""
    known: set[int] = set()
    for plan in plans:
        for node in walk(plan):
            if id(node) not in known:
                known.add(id(node))
                yield node


def rewrite(plans: Plans, change: Callable[[Physical, Physical], Physical]) -> Plans:
    """The plans with nodes changed bottom up: `change` gets each node as it was, and over its new inputs.

    What was shared stays shared, and what is not changed stays the same object.
    """
    made: dict[int, Physical] = {}

    def made_of(node: Physical) -> Physical:
        if id(node) not in made:
            inputs = tuple(map(made_of, node.inputs))
            same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
            made[id(node)] = change(node, node if same else replace(node, inputs=inputs))
        return made[id(node)]

    return tuple(map(made_of, plans))
