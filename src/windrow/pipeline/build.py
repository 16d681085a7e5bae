"""From plans to connected operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import gcd
from typing import TypeAlias

from windrow.operators.aggregate.last_rows import RowsOperator
from windrow.operators.aggregate.per_row import PerRowOperator
from windrow.operators.aggregate.sessions import SessionOperator
from windrow.operators.aggregate.sliding import WindowOperator
from windrow.operators.aggregate.smoothing import EAGER, Flush, When, check_smooth
from windrow.operators.aggregate.trial import Trial
from windrow.operators.base import Operator
from windrow.operators.baselines.in_order_join import InOrderJoin
from windrow.operators.handshake.lookup import Lookup
from windrow.operators.handshake.operator import HandshakeJoin
from windrow.operators.handshake.scanning import Scan
from windrow.operators.input.grid import Grid
from windrow.operators.input.input import Input
from windrow.operators.input.lead import LeadLimit
from windrow.operators.joins.asof import AsOfJoin
from windrow.operators.joins.operator import JoinOperator
from windrow.operators.joins.reach import reach_of
from windrow.operators.panes.shared import SharedPanes
from windrow.operators.rowwise.distinct import DupElim
from windrow.operators.rowwise.meld import Meld
from windrow.operators.rowwise.project import Project
from windrow.operators.rowwise.select import Select
from windrow.operators.rowwise.sort import Sort
from windrow.physical.costs import MEASURED, Constants, Statistics
from windrow.physical.group_promises import keys_below, usable_keys
from windrow.physical.join_choice import choose_join, shapes_below
from windrow.physical.planner import choose, is_open
from windrow.pipeline.graph import End, Pipeline, Stage
from windrow.pipeline.sharing import pane_groups
from windrow.plan import nodes
from windrow.plan.checks.lateness import loses_unasked
from windrow.plan.checks.nodes import check_supported, inputs_of, shape_of, walk
from windrow.plan.checks.windows import every_of, within_of
from windrow.plan.nodes import JoinStrategy, Strategy
from windrow.semantics.joins import AsOf, LastRows
from windrow.semantics.progress.policies import External, Idle, Slack, lead_of
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.windows.kinds import Landmark, Rows, Session, SlideByTuple, Sliding

READ_AHEAD = {Domain.TIME: 1_000_000, Domain.INTEGER: 1_000}
"""Units of the attribute: a second, or what may come to a batch of rows."""
ROWS_AHEAD = 1 << 14
"""Rows of one side that a join takes at once, however short its windows are."""


@dataclass(frozen=True)
class How:
    """How operators run: on how many threads, what is known of the streams, and what costs to choose strategies by.

    With `trial`, strategies that nothing fixes are chosen by the first rows: for a process that sees all of them.
    `flush` says when closed windows are given.
    """

    threads: int = 1
    statistics: Statistics | None = None
    constants: Constants = MEASURED
    trial: bool = False
    flush: Flush = EAGER


def build(*plans: nodes.Node, how: How = How()) -> Pipeline:  # noqa: B008 - frozen
    """Check plans and connect their operators; what they have in common is there once."""
    for plan in plans:
        check_supported(plan)
        check_smooth(plan, how.flush)
    builder = _Builder(how)
    for plan in plans:
        builder.add(plan)
    builder.finish()
    return builder.pipeline


_Key: TypeAlias = tuple[nodes.Node, frozenset[str], tuple[int, int] | None]


@dataclass
class _Listeners:
    """What the windows above one input can use of its promises, query by query."""

    node: nodes.Stream
    leading: list[Grid | None] = field(default_factory=list)
    """Of queries over several sources: these decide how sources are read."""
    others: list[Grid | None] = field(default_factory=list)


class _Builder:
    """Makes the stages of one plan after another; a part that an earlier plan has too is used again."""

    def __init__(self, how: How) -> None:
        self.how = how
        self.pipeline = Pipeline()
        self.made: dict[_Key, list[Stage]] = {}
        self.below: dict[Stage, list[Stage]] = {}
        self.listeners: dict[Stage, _Listeners] = {}
        self.windows: dict[Stage, nodes.WindowAggregate] = {}

    def add(self, plan: nodes.Node) -> None:
        end = End(shape_of(plan).schema)
        leads = len({node.name for node in walk(plan) if isinstance(node, nodes.Stream)}) > 1
        stage = self.stage(plan, None, end, leads)
        stage.ends.append(end)
        end.unasked = list(self._unasked(stage, plan, plan))
        self.pipeline.ends.append(end)

    def _unasked(self, stage: Stage, node: nodes.Node, plan: nodes.Node) -> Iterator[Stage]:
        """The stages of a plan that lose late rows without anybody having chosen it."""
        if loses_unasked(node, plan):
            yield stage
        for below, child in zip(self.below[stage], inputs_of(node), strict=True):
            yield from self._unasked(below, child, plan)

    def finish(self) -> None:
        """Once all plans are known, so is what inputs are listened to for, and which windows can share panes."""
        for stage, heard in self.listeners.items():
            first, *others = [*heard.leading, *heard.others]
            stage.operator = _input(heard.node, first, others)
        for stages in self.pipeline.inputs.values():
            stages.sort(key=lambda stage: not self.listeners[stage].leading)
        if self.how.flush.when is When.EAGER:  # windows that close in slices have cells of their own
            for stage in list(self.pipeline.stages):
                self._share_panes(stage)

    def stage(self, node: nodes.Node, grid: Grid | None, end: End, leads: bool, known: Stage | None = None) -> Stage:
        """The stage of a node and those below it for a query; `grid` is where windows above may end."""
        stage = known or self._found(node, grid, end)
        fresh = stage is None
        stage = stage or self._new(node, grid)
        stage.queries.append(end)
        if isinstance(node, nodes.Stream):
            end.entries.append(stage)
            heard = self.listeners[stage]
            (heard.leading if leads else heard.others).append(grid)
        for place, child in enumerate(inputs_of(node)):
            below = self.stage(
                child, _grid_below(node, grid, stage), end, leads, None if fresh else self.below[stage][place]
            )
            if fresh:
                below.after.append((stage, place))
                self.below[stage].append(below)
        return stage

    def _found(self, node: nodes.Node, grid: Grid | None, end: End) -> Stage | None:
        """A stage that does the same for another query; within one query each place has its own."""
        return next((stage for stage in self.made.get(_key(node, grid), ()) if self._is_free(stage, end)), None)

    def _is_free(self, stage: Stage, end: End) -> bool:
        return end not in stage.queries and all(self._is_free(below, end) for below in self.below[stage])

    def _new(self, node: nodes.Node, grid: Grid | None) -> Stage:
        operator, label = _operator(node, grid, self.how)
        stage = Stage(operator, f"{len(self.pipeline.stages)} {label}")
        self.pipeline.stages.append(stage)
        self.made.setdefault(_key(node, grid), []).append(stage)
        self.below[stage] = []
        if isinstance(node, nodes.Stream):
            self.listeners[stage] = _Listeners(node)
            self.pipeline.inputs.setdefault(node.name, []).append(stage)
            self.pipeline.entries.append(stage)
        elif isinstance(node, nodes.WindowAggregate):
            self.windows[stage] = node
        return stage

    def _share_panes(self, stage: Stage) -> None:
        """Between a stage and the windows above it that can use the same panes goes what makes these."""
        above = {self.windows[one]: one for one, _ in stage.after if one in self.windows}
        for group in pane_groups(list(above)):
            sharers = [above[node] for node in group]
            for sharer in sharers:
                assert isinstance(sharer.operator, WindowOperator)
                sharer.operator.algorithm.take_up(Strategy.PANES.value, "it shares panes with other queries")
            panes = Stage(
                SharedPanes(group, shape_of(group[0].input), threads=self.how.threads),
                f"{len(self.pipeline.stages)} panes",
                [(sharer, 0) for sharer in sharers],
                queries=list(dict.fromkeys(end for sharer in sharers for end in sharer.queries)),
            )
            stage.after = [(one, port) for one, port in stage.after if one not in sharers] + [(panes, 0)]
            self.pipeline.stages.append(panes)


def _key(node: nodes.Node, grid: Grid | None) -> _Key:
    """What must be the same to be used again.

    Promises for single groups are for windows with certain keys only, and how long duplicates are known depends on
    where the windows above end.
    """
    grid = grid or Grid()
    policies = (part.policy for part in walk(node) if isinstance(part, nodes.Stream))
    promised = any(isinstance(policy, External) and policy.per for policy in policies)
    promised = promised or any(isinstance(part, nodes.Join) for part in walk(node))
    return node, grid.keys if promised else frozenset(), (grid.origin, grid.step) if _forgets(node) else None


def _forgets(node: nodes.Node) -> bool:
    """Whether rows that come out of a node went through a DISTINCT since the last window."""
    if isinstance(node, (nodes.Distinct, nodes.WindowAggregate)):
        return isinstance(node, nodes.Distinct)
    return any(map(_forgets, inputs_of(node)))


def _operator(node: nodes.Node, grid: Grid | None, how: How) -> tuple[Operator, str]:
    """The operator of a node, and what it is called."""
    if isinstance(node, nodes.Stream):
        return _input(node, grid, ()), f"input {node.name}"
    if isinstance(node, nodes.Filter):
        return Select(node.predicate), "select"
    if isinstance(node, nodes.Project):
        return Project(node.columns, shape_of(node).schema), "project"
    if isinstance(node, nodes.Union):
        return _meld(node), "meld"
    if isinstance(node, nodes.Distinct):
        return DupElim(shape_of(node).schema, grid or Grid()), "distinct"
    if isinstance(node, nodes.OrderedOutput):
        shape = shape_of(node)
        return Sort(shape.schema, time=shape.time), "sort"
    if isinstance(node, nodes.Join):
        return _join(node, grid, how), "join"
    return _window(node, grid, how), "window"


def _grid_below(node: nodes.Node, grid: Grid | None, stage: Stage) -> Grid | None:
    """Where windows above the inputs of a node may end."""
    if isinstance(node, nodes.WindowAggregate):
        below = _grid(node)
        takes_bounds = isinstance(stage.operator, PerRowOperator) and stage.operator.takes_bounds
        return below if below is None else replace(below, together=takes_bounds)
    if isinstance(node, nodes.Distinct):
        # Without windows above, every punctuation says something: it makes rows below it late.
        return Grid() if grid is None else replace(grid, together=False)
    if isinstance(node, nodes.OrderedOutput):
        return Grid(pace=_pace(node))
    if isinstance(node, nodes.Join):
        return _join_grid(node)
    if isinstance(node, nodes.Project) and grid is not None:
        return replace(grid, keys=keys_below(node, grid.keys))
    if isinstance(stage.operator, Meld) and grid is not None:
        # Which bound rows of a union meet is known where it is made.
        return replace(_idle_grid(grid, stage.operator), together=False, rows=1)
    return grid


def _input(node: nodes.Stream, grid: Grid | None, others: Sequence[Grid | None]) -> Input:
    policy = node.policy
    slack = policy.amount.resolve(shape_of(node).domain, "slack") if isinstance(policy, Slack) else 0
    return Input(
        node.name, node.time, policy, slack=slack, lead=_lead(node), grid=grid, others=others, schema=node.schema
    )


def _lead(node: nodes.Stream) -> LeadLimit | None:
    lead = lead_of(node.policy)
    if lead is None:
        return None
    return LeadLimit(lead.amount.resolve(shape_of(node).domain, "lead"), lead.wall_clock)


def _grid(node: nodes.WindowAggregate) -> Grid | None:
    """What a window aggregate can use of the promises of its input; None: nothing."""
    window = node.window
    if isinstance(window, (Sliding, Landmark)):
        return Grid(window.origin, window.slide, keys=usable_keys(node))
    if isinstance(window, SlideByTuple):
        return Grid(pace=window.range, keys=usable_keys(node))
    if isinstance(window, Rows):
        # Which rows of a union come first must not depend on batches. By arrival no promise says anything.
        united = any(isinstance(part, nodes.Union) for part in walk(node))
        return Grid(by_arrival=united, keys=usable_keys(node)) if united or window.order is not None else None
    return Grid(pace=window.gap, keys=usable_keys(node))


def _pace(node: nodes.OrderedOutput) -> int:
    """How far one source of a union may be read ahead where rows wait for each other: by its slack, or a little."""
    domain = shape_of(node).domain
    slacks = (part.policy for part in walk(node) if isinstance(part, nodes.Stream) and isinstance(part.policy, Slack))
    return max([READ_AHEAD[domain], *(slack.amount.resolve(domain, "slack") for slack in slacks)])


def _window(
    node: nodes.WindowAggregate, grid: Grid | None, how: How
) -> WindowOperator | SessionOperator | PerRowOperator | RowsOperator:
    shape, output = shape_of(node.input), shape_of(node)
    choice = choose(node, how.statistics, how.constants)
    passes = frozenset() if grid is None else grid.keys
    if isinstance(node.window, Session):
        return SessionOperator(node, shape, output, within=within_of(node, shape.domain), passes=passes)
    if isinstance(node.window, SlideByTuple):
        return PerRowOperator(node, shape, output, passes=passes)
    if isinstance(node.window, Rows):
        return RowsOperator(node, shape, output)
    return WindowOperator(
        node,
        shape,
        output,
        choice,
        trial=Trial(node, how.constants) if how.trial and how.statistics is None and is_open(node) else None,
        threads=how.threads,
        within=within_of(node, shape.domain),
        passes=passes,
        early=every_of(node, shape.domain),
        flush=how.flush,
    )


def _join(node: nodes.Join, grid: Grid | None, how: How) -> Operator:
    """The operator of a join; other ways to join than looking partners up have their place here."""
    if isinstance(node.window, AsOf):
        choose_join(node)
        return AsOfJoin(node, shapes_below(node), shape_of(node))
    shapes = shapes_below(node)
    choice = choose_join(node)
    passes = frozenset() if grid is None else grid.keys
    if choice.strategy is JoinStrategy.HANDSHAKE:
        found = choice.conditions
        local = Lookup if found.equalities or found.bands else Scan
        return HandshakeJoin(node, shapes, shape_of(node), found, threads=how.threads, passes=passes, local=local)
    join = JoinOperator(node, shapes, shape_of(node), choice.conditions, threads=how.threads, passes=passes)
    return InOrderJoin(join) if choice.strategy is JoinStrategy.OPIB else join


def _join_grid(node: nodes.Join) -> Grid:
    """What a join can use of the promises of its inputs: all of them; one side may be a window's reach ahead."""
    if isinstance(node.window, LastRows):
        return Grid(by_arrival=True)
    return Grid(pace=reach_of(node.window), rows=ROWS_AHEAD, together=True)


def _meld(node: nodes.Union) -> Meld:
    shape = shape_of(node)
    idles = [_idle_of(child) for child in node.inputs]
    shared = [None if idle is None or idle.wall_clock else idle.amount.resolve(shape.domain, "idle") for idle in idles]
    return Meld(len(node.inputs), shape.schema, idle=shared, silence=[silence_of(idle) for idle in idles])


def silence_of(idle: Idle | None) -> float | None:
    """After how many seconds of silence a stream no longer holds others back, where it goes by the clock."""
    return None if idle is None or not idle.wall_clock else idle.amount.resolve(Domain.TIME, "idle") / 1e6


def _idle_grid(grid: Grid, meld: Meld) -> Grid:
    """Less its idle time, a punctuation on this grid may still fall where windows end."""
    step = gcd(grid.step, *(amount for amount in meld.idle if amount is not None))
    return replace(grid, step=step, pace=max(grid.step, grid.pace))


def _idle_of(node: nodes.Node) -> Idle | None:
    """The idle policy of the stream under a chain of single-input nodes."""
    while not isinstance(node, nodes.Stream):
        if isinstance(node, (nodes.Union, nodes.Join)):
            return None
        node = node.input
    return node.idle
