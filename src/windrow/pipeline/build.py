"""From physical plans to connected operators: one maker a kind of node, and nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.trial import StrategyTrial
from windrow.operators.base import Operator
from windrow.operators.divided.operator import DividedOperator
from windrow.operators.divided.pre_aggregate import PreAggregatedOperator
from windrow.operators.handshake.lookup import Lookup
from windrow.operators.handshake.operator import HandshakeJoin
from windrow.operators.handshake.scanning import Scan
from windrow.operators.input.input import Input
from windrow.operators.input.lead import LeadLimit
from windrow.operators.joins.asof import AsOfJoinOperator
from windrow.operators.joins.in_order import InOrderJoinOperator
from windrow.operators.joins.operator import JoinOperator
from windrow.operators.panes.shared import SharedPanesOperator
from windrow.operators.rowwise.distinct import DupElim
from windrow.operators.rowwise.meld import MeldOperator
from windrow.operators.rowwise.project import ProjectOperator
from windrow.operators.rowwise.select import SelectOperator
from windrow.operators.rowwise.sort import SortOperator
from windrow.physical import nodes
from windrow.physical.how import How
from windrow.physical.make import make
from windrow.physical.nodes import walk
from windrow.physical.planner import Choice
from windrow.physical.rules.choose_joins import shapes_below
from windrow.pipeline.graph import End, Pipeline, Stage
from windrow.plan import nodes as logical
from windrow.plan.checks.nodes import loses_unasked, shape_of
from windrow.plan.nodes import walk as walk_asked
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import lead_of


def build(*plans: logical.Node, how: How = How()) -> Pipeline:  # noqa: B008 - frozen
    """Decide how plans are executed, and connect their operators."""
    return connect(make(plans, how))


def connect(plans: nodes.Plans) -> Pipeline:
    """Connect the operators of physical plans; what these share is there once."""
    builder = _Builder()
    for plan in plans:
        builder.add(plan)
    builder.share_panes()
    for stages in builder.pipeline.inputs.values():
        stages.sort(key=lambda stage: stage not in builder.leading)
    return builder.pipeline


class _Builder:
    """Makes the stages of one plan after another, numbered as they are met from the top down."""

    def __init__(self) -> None:
        self.pipeline = Pipeline()
        self.made: dict[int, Stage] = {}
        self.sharers: dict[int, list[Stage]] = {}
        self.panes: dict[int, nodes.SharedPanes] = {}
        self.leading: list[Stage] = []

    def add(self, plan: nodes.Physical) -> None:
        end = End(shape_of(plan.asked).schema)
        (top,) = plan.inputs
        stage = self.stage(top, end)
        stage.ends.append(end)
        end.unasked = list(self._losing(plan))
        self.pipeline.ends.append(end)

    def stage(self, node: nodes.Physical, end: End) -> Stage:
        """The stage of a node and those below it, for a query."""
        stage = self.made.get(id(node))
        fresh = stage is None
        stage = stage or self._new(node)
        stage.queries.append(end)
        if isinstance(node, nodes.Read):
            end.entries.append(stage)
        for place, child in enumerate(node.inputs):
            if isinstance(child, nodes.SharedPanes):
                self._wait_for(child, stage)
                self.stage(child.inputs[0], end)
            elif fresh:
                self.stage(child, end).after.append((stage, place))
            else:
                self.stage(child, end)
        return stage

    def _new(self, node: nodes.Physical) -> Stage:
        word, maker = MAKERS[type(node)]
        stage = Stage(maker(node), f"{len(self.pipeline.stages)} {word}")
        self.pipeline.stages.append(stage)
        self.made[id(node)] = stage
        if isinstance(node, nodes.Read):
            stage.label += f" {node.asked.name}"
            self.pipeline.inputs.setdefault(node.asked.name, []).append(stage)
            self.pipeline.entries.append(stage)
            self.leading += [stage] if node.leads else []
        return stage

    def _losing(self, plan: nodes.Physical) -> Iterator[Stage]:
        """The stages of a query that lose late rows without anybody having chosen it.

        The query itself is asked: of a part that it shares, another one may have chosen what becomes of late rows.
        """
        losing = [part for part in walk_asked(plan.asked) if loses_unasked(part, plan.asked)]
        for node in walk(plan.inputs[0]):
            if node.asked in losing and id(node) in self.made:
                yield self.made[id(node)]

    def _wait_for(self, panes: nodes.SharedPanes, stage: Stage) -> None:
        self.panes[id(panes)] = panes
        sharers = self.sharers.setdefault(id(panes), [])
        if stage not in sharers:
            sharers.append(stage)

    def share_panes(self) -> None:
        """Shared panes come last, in the order of what they read from."""
        numbers = {stage: number for number, stage in enumerate(self.pipeline.stages)}
        for panes in sorted(self.panes.values(), key=lambda one: numbers[self.made[id(one.inputs[0])]]):
            word, maker = MAKERS[type(panes)]
            sharers = self.sharers[id(panes)]
            stage = Stage(
                maker(panes),
                f"{len(self.pipeline.stages)} {word}",
                [(sharer, 0) for sharer in sharers],
                queries=list(dict.fromkeys(end for sharer in sharers for end in sharer.queries)),
            )
            self.made[id(panes.inputs[0])].after.append((stage, 0))
            self.pipeline.stages.append(stage)


# One maker a kind of node


def _input(node: nodes.Read) -> Operator:
    stream, lead = node.asked, lead_of(node.asked.policy)
    return Input(
        stream.name,
        stream.time,
        stream.policy,
        slack=node.slack,
        lead=None if lead is None or node.lead is None else LeadLimit(node.lead, lead.wall_clock),
        grid=node.grid,
        pace=node.first.paced,
        stride=node.first.rows,
        is_patient=node.is_patient,
        schema=stream.schema,
    )


def _select(node: nodes.Select) -> Operator:
    return SelectOperator(node.asked.predicate)


def _project(node: nodes.ProjectRows) -> Operator:
    return ProjectOperator(node.asked.columns, shape_of(node.asked).schema)


def _meld(node: nodes.Meld) -> Operator:
    return MeldOperator(len(node.inputs), shape_of(node.asked).schema, idle=node.idle, silence=node.silence)


def _distinct(node: nodes.DistinctRows) -> Operator:
    return DupElim(shape_of(node.asked).schema, node.grid)


def _sort(node: nodes.Sort) -> Operator:
    shape = shape_of(node.asked)
    return SortOperator(shape.schema, time=shape.time)


def _window(node: nodes.Window, choice: Choice | None = None, **options: Any) -> Operator:
    choice = choice or Choice(node.strategy, node.reasons)
    options |= {"within": node.within, "passes": node.passes}
    return WindowAggregateOperator(node.asked, *_shapes(node), choice, **options)


def _sliding(node: nodes.SlidingWindow, **options: Any) -> Operator:
    return _window(node, threads=node.threads, early=node.early, **options)


def _trial(node: nodes.TrialWindow) -> Operator:
    return _sliding(node, choice=Choice(node.usual, node.reasons), trial=StrategyTrial(node.asked, node.constants))


def _smoothed(node: nodes.SmoothedWindow) -> Operator:
    return _sliding(node, flush=node.flush)


def _panes(node: nodes.SharedPanes) -> Operator:
    return SharedPanesOperator(node.asked, node.windows, shape_of(node.asked.input), threads=node.threads)


def _join(node: nodes.PhysicalJoin, made: Callable[..., Operator] = JoinOperator, **options: Any) -> Operator:
    options |= {"threads": node.threads, "passes": node.passes}
    return made(node.asked, shapes_below(node.asked), shape_of(node.asked), node.conditions, **options)


def _in_order(node: nodes.InOrderJoin) -> Operator:
    return _join(node, InOrderJoinOperator)


def _handshake(node: nodes.Handshake) -> Operator:
    return _join(node, HandshakeJoin, local=Lookup if node.looks_up else Scan)


def _as_of(node: nodes.AsOfJoin) -> Operator:
    return AsOfJoinOperator(node.asked, shapes_below(node.asked), shape_of(node.asked))


def _divided(node: nodes.DividedGroups) -> Operator:
    make = partial(MAKERS[type(node.each)][1], node.each)
    if isinstance(node.each, nodes.PanedWindow) and node.panes:
        asked = node.each.asked
        return PreAggregatedOperator(
            asked, shape_of(asked.input), make, node.routes[0], shards=node.shards, threads=node.threads
        )
    return DividedOperator(make, node.routes, shards=node.shards, threads=node.threads)


def _shapes(node: nodes.Window) -> tuple[Shape, Shape]:
    return shape_of(node.asked.input), shape_of(node.asked)


MAKERS: dict[type[nodes.Physical], tuple[str, Callable[[Any], Operator]]] = {
    nodes.Read: ("input", _input),
    nodes.Select: ("select", _select),
    nodes.ProjectRows: ("project", _project),
    nodes.Meld: ("meld", _meld),
    nodes.DistinctRows: ("distinct", _distinct),
    nodes.Sort: ("sort", _sort),
    nodes.PanedWindow: ("window", _sliding),
    nodes.EagerWindow: ("window", _sliding),
    nodes.AdaptiveWindow: ("window", _sliding),
    nodes.KeptRowsWindow: ("window", _sliding),
    nodes.SlidingWindow: ("window", _sliding),
    nodes.TrialWindow: ("window", _trial),
    nodes.SmoothedWindow: ("window", _smoothed),
    nodes.SessionWindow: ("window", _window),
    nodes.PerRowWindow: ("window", _window),
    nodes.LastRowsWindow: ("window", _window),
    nodes.DividedGroups: ("window", _divided),
    nodes.SharedPanes: ("panes", _panes),
    nodes.IndexJoin: ("join", _join),
    nodes.ScanJoin: ("join", _join),
    nodes.Handshake: ("join", _handshake),
    nodes.InOrderJoin: ("join", _in_order),
    nodes.AsOfJoin: ("join", _as_of),
}
"""For each kind of node the word in the names of its stages, and what makes its operator."""
