"""From a plan to connected operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from math import gcd

import pyarrow as pa

from windrow.errors import ConfigurationError, InternalError
from windrow.operators.base import Batch, Element, GroupPunctuations, LateRows, Operator
from windrow.operators.choosing import Trial
from windrow.operators.distinct import DupElim
from windrow.operators.grid import Grid
from windrow.operators.meld import Meld
from windrow.operators.ordering import Sort
from windrow.operators.partials import Partials
from windrow.operators.per_row_aggregate import PerRowOperator
from windrow.operators.progress import Input
from windrow.operators.project import Project
from windrow.operators.rows_aggregate import RowsOperator
from windrow.operators.select import Select
from windrow.operators.session_aggregate import SessionOperator
from windrow.operators.smoothing import EAGER, Flush, When, why_not_smooth
from windrow.operators.window_aggregate import WindowOperator
from windrow.plan import nodes
from windrow.plan.check import check_supported, shape_of, walk
from windrow.plan.costs import MEASURED, Constants, Statistics
from windrow.plan.describe import keys_below, usable_keys
from windrow.plan.planner import choose, is_open
from windrow.plan.windows import every_of, within_of
from windrow.semantics.amounts import Domain
from windrow.semantics.progress import Idle, Punctuation, Slack
from windrow.semantics.windows import Landmark, Rows, Session, SlideByTuple, Sliding

READ_AHEAD = {Domain.TIME: 1_000_000, Domain.INTEGER: 1_000}
"""Units of the attribute: a second, or what may come to a batch of rows."""


@dataclass
class Stage:
    """An operator and where its output goes."""

    operator: Operator
    label: str
    after: Stage | None = None
    port: int = 0


@dataclass
class Pipeline:
    """All stages of a query. `push` takes elements of a source to the end."""

    schema: pa.Schema
    late_schema: pa.Schema | None = None
    stages: list[Stage] = field(default_factory=list)
    inputs: dict[str, list[Stage]] = field(default_factory=dict)
    entries: list[Stage] = field(default_factory=list)
    """The stages of `inputs` in the order of the plan's streams, left to right."""
    on_result: Callable[[pa.RecordBatch], None] = lambda _: None
    on_late: Callable[[pa.RecordBatch], None] = lambda _: None
    results: int = 0

    def push(self, source: str, element: Batch | Punctuation) -> None:
        for stage in self.inputs[source]:
            self.feed(stage, element)

    def feed(self, stage: Stage, element: Batch | Punctuation | GroupPunctuations) -> None:
        """An element of a source into one of the places where it is read."""
        self._feed(stage, element, 0)

    def merge(self, stage: Stage, partials: Partials) -> None:
        """Pane partials of rows that would have come in at this stage."""
        stage.operator.counters.rows_in += partials.rows
        window, operator = self.window_above(stage)
        for out in operator.merge(partials):
            self._feed(window.after, out, window.port)

    def speak(self, stage: Stage) -> None:
        """Early results of the window aggregate above an input."""
        window, operator = self.window_above(stage)
        if operator.early is not None:
            for out in operator.early.speak():
                self._feed(window.after, out, window.port)

    def resume(self) -> None:
        """A slice of the answers that wait, of each window aggregate that gives them in slices."""
        for stage in self.stages:
            if isinstance(stage.operator, WindowOperator) and stage.operator.smoothing is not None:
                for out in stage.operator.smoothing.resume():
                    self._feed(stage.after, out, stage.port)

    def window_above(self, stage: Stage) -> tuple[Stage, WindowOperator]:
        """The window aggregate that takes the rows of an input; nothing but unions may lie between."""
        above = stage.after
        while above is not None and isinstance(above.operator, Meld):
            above = above.after
        if above is None or not isinstance(above.operator, WindowOperator):
            raise InternalError("must be followed by a window aggregate", parameter=stage.label)
        return above, above.operator

    def _feed(self, stage: Stage | None, element: Element, port: int) -> None:
        if isinstance(element, LateRows):
            self.on_late(element.data)
        elif stage is None:
            self._emit(element)
        else:
            for out in _taken(stage.operator, element, port):
                self._feed(stage.after, out, stage.port)

    def _emit(self, element: Element) -> None:
        if isinstance(element, Batch):
            data = element.compact().data
            self.results += len(data)
            if len(data):
                self.on_result(data)


def _taken(operator: Operator, element: Batch | Punctuation | GroupPunctuations, port: int) -> Iterable[Element]:
    if isinstance(element, Batch):
        return operator.process(element, port)
    if isinstance(element, Punctuation):
        return operator.punctuate(element, port)
    return operator.punctuate_groups(element, port)


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


def build(plan: nodes.Node, how: How = How()) -> Pipeline:  # noqa: B008 - frozen
    """Check the plan and connect its operators."""
    check_supported(plan)
    if how.flush.when is not When.EAGER:
        _check_smooth(plan, how.flush)
    pipeline = Pipeline(shape_of(plan).schema)
    _add(pipeline, plan, None, 0, None, how)
    return pipeline


def _check_smooth(plan: nodes.Node, flush: Flush) -> None:
    """Refuse to smooth a query none of whose windows can be."""
    reasons = [why_not_smooth(node) for node in walk(plan) if isinstance(node, nodes.WindowAggregate)]
    if None not in reasons:
        raise ConfigurationError(
            f"has nothing to smooth: {reasons[0] if reasons else 'the query has no windows'}",
            parameter="flush",
            value=flush.when.value,
            hint="leave it out, or say eager",
        )


def _add(pipeline: Pipeline, node: nodes.Node, after: Stage | None, port: int, grid: Grid | None, how: How) -> None:
    """Add the operator of a node and those below it; `grid` is where windows above may end."""
    if isinstance(node, nodes.Stream):
        stage = _stage(pipeline, _input(node, grid), f"input {node.name}", after, port)
        pipeline.inputs.setdefault(node.name, []).append(stage)
        pipeline.entries.append(stage)
    elif isinstance(node, nodes.Filter):
        stage = _stage(pipeline, Select(node.predicate), "select", after, port)
        _add(pipeline, node.input, stage, 0, grid, how)
    elif isinstance(node, nodes.Project):
        stage = _stage(pipeline, Project(node.columns, shape_of(node).schema), "project", after, port)
        below = None if grid is None else replace(grid, keys=keys_below(node, grid.keys))
        _add(pipeline, node.input, stage, 0, below, how)
    elif isinstance(node, nodes.Union):
        meld = _meld(node)
        stage = _stage(pipeline, meld, "meld", after, port)
        for place, child in enumerate(node.inputs):
            _add(pipeline, child, stage, place, grid and _idle_grid(grid, meld), how)
    elif isinstance(node, nodes.Distinct):
        stage = _stage(pipeline, DupElim(shape_of(node).schema), "distinct", after, port)
        # Without windows above, every punctuation says something: it makes rows below it late.
        below = Grid() if grid is None else replace(grid, together=False)
        _add(pipeline, node.input, stage, 0, below, how)
    elif isinstance(node, nodes.OrderedOutput):
        shape = shape_of(node)
        stage = _stage(pipeline, Sort(shape.schema, time=shape.time), "sort", after, port)
        _add(pipeline, node.input, stage, 0, Grid(pace=_pace(node)), how)
    else:
        operator = _window(node, grid, how)
        stage = _stage(pipeline, operator, "window", after, port)
        below = _grid(node)
        if below is not None and isinstance(operator, PerRowOperator) and operator.takes_bounds:
            below = replace(below, together=True)
        if after is None or pipeline.late_schema is None:
            pipeline.late_schema = operator.late_schema
        _add(pipeline, node.input, stage, 0, below, how)


def _stage(pipeline: Pipeline, operator: Operator, label: str, after: Stage | None, port: int) -> Stage:
    stage = Stage(operator, f"{len(pipeline.stages)} {label}", after, port)
    pipeline.stages.append(stage)
    return stage


def _input(node: nodes.Stream, grid: Grid | None) -> Input:
    policy = node.policy
    slack = policy.amount.resolve(shape_of(node).domain, "slack") if isinstance(policy, Slack) else 0
    return Input(node.name, node.time, policy, slack=slack, grid=grid, schema=node.schema)


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
        return SessionOperator(node, shape, output, passes=passes)
    if isinstance(node.window, SlideByTuple):
        return PerRowOperator(node, shape, output, passes=passes)
    if isinstance(node.window, Rows):
        return RowsOperator(node, shape, output)
    within = within_of(node, shape.domain)
    slide = node.window.slide
    within = -(-within // slide) * slide
    return WindowOperator(
        node,
        shape,
        output,
        choice,
        trial=Trial(node, how.constants) if how.trial and how.statistics is None and is_open(node) else None,
        threads=how.threads,
        within=within,
        passes=passes,
        early=every_of(node, shape.domain),
        flush=how.flush,
    )


def _meld(node: nodes.Union) -> Meld:
    shape = shape_of(node)
    idles = [_idle_of(child) for child in node.inputs]
    amounts = [None if idle is None else idle.amount.resolve(shape.domain, "idle") for idle in idles]
    walls = [idle is not None and idle.wall_clock for idle in idles]
    return Meld(
        len(node.inputs),
        shape.schema,
        idle=[None if wall else amount for wall, amount in zip(walls, amounts, strict=True)],
        silence=[
            amount / 1e6 if wall and amount is not None else None for wall, amount in zip(walls, amounts, strict=True)
        ],
    )


def _idle_grid(grid: Grid, meld: Meld) -> Grid:
    """Less its idle time, a punctuation on this grid may still fall where windows end."""
    step = gcd(grid.step, *(amount for amount in meld.idle if amount is not None))
    return replace(grid, step=step, pace=max(grid.step, grid.pace), together=False)


def _idle_of(node: nodes.Node) -> Idle | None:
    """The idle policy of the stream under a chain of single-input nodes."""
    while not isinstance(node, nodes.Stream):
        if isinstance(node, nodes.Union):
            return None
        node = node.input
    return node.idle
