"""From physical plans to connected operators: nothing is decided here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from windrow.operators.aggregate.algorithm import StrategyTrial
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.partials import SharedPanesOperator
from windrow.operators.base import Operator
from windrow.operators.divided.operator import DividedOperator
from windrow.operators.divided.pre_aggregate import PreAggregatedOperator
from windrow.operators.input.input import Input
from windrow.operators.input.partitions import PartitionProgress
from windrow.operators.input.policy import LeadLimit
from windrow.operators.rowwise.distinct import DupElim
from windrow.operators.rowwise.meld import MeldOperator
from windrow.operators.rowwise.select_project import ProjectOperator, SelectOperator
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
from windrow.semantics.progress.partitions import partitioned_by
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
        self.sharers: dict[int, tuple[nodes.SharedPanes, list[Stage]]] = {}
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
        word, operator = operator_of(node)
        stage = Stage(operator, f"{len(self.pipeline.stages)} {word}")
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
        sharers = self.sharers.setdefault(id(panes), (panes, []))[1]
        if stage not in sharers:
            sharers.append(stage)

    def share_panes(self) -> None:
        """Shared panes come last, in the order of what they read from."""
        numbers = {stage: number for number, stage in enumerate(self.pipeline.stages)}
        below = [(self.made[id(panes.inputs[0])], panes, sharers) for panes, sharers in self.sharers.values()]
        for source, panes, sharers in sorted(below, key=lambda one: numbers[one[0]]):
            stage = self._new(panes)
            stage.after = [(sharer, 0) for sharer in sharers]
            stage.queries = list(dict.fromkeys(end for sharer in sharers for end in sharer.queries))
            source.after.append((stage, 0))


def operator_of(node: nodes.Physical) -> tuple[str, Operator]:
    """The operator of a node, and the word in the name of its stage."""
    if isinstance(node, nodes.Read):
        return "input", _input(node)
    if isinstance(node, nodes.Select):
        return "select", SelectOperator(node.asked.predicate)
    if isinstance(node, nodes.Window):
        return "window", _window(node)
    if isinstance(node, nodes.DividedGroups):
        return "window", _divided(node)
    if isinstance(node, nodes.SharedPanes):
        shape = shape_of(node.asked.input)
        return "panes", SharedPanesOperator(node.asked, node.windows, shape, threads=node.threads)
    if isinstance(node, nodes.PhysicalJoin):
        return "join", _join(node)
    shape = shape_of(node.asked)
    if isinstance(node, nodes.ProjectRows):
        return "project", ProjectOperator(node.asked.columns, shape.schema)
    if isinstance(node, nodes.Meld):
        return "meld", MeldOperator(len(node.inputs), shape.schema, idle=node.idle, silence=node.silence)
    if isinstance(node, nodes.DistinctRows):
        return "distinct", DupElim(shape.schema, node.grid)
    assert isinstance(node, nodes.Sort)
    return "sort", SortOperator(shape.schema, time=shape.time)


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
        partitions=_partitions(node),
    )


def _partitions(node: nodes.Read) -> PartitionProgress | None:
    per = partitioned_by(node.asked.policy)
    if not per:
        return None
    return PartitionProgress(per, node.asked.schema, slack=node.slack, idle=node.idle, silence=node.silence)


def _window(node: nodes.Window) -> Operator:
    choice = Choice(node.among[0] if isinstance(node, nodes.TrialWindow) else node.strategy, node.reasons)
    options: dict[str, Any] = {"within": node.within, "passes": node.passes}
    if isinstance(node, nodes.SlidingWindow):
        options |= {"threads": node.threads, "early": node.early}
    if isinstance(node, nodes.TrialWindow):
        options["trial"] = StrategyTrial(node.asked, node.constants)
    if isinstance(node, nodes.SmoothedWindow):
        options["flush"] = node.flush
    return WindowAggregateOperator(node.asked, shape_of(node.asked.input), shape_of(node.asked), choice, **options)


def _join(node: nodes.PhysicalJoin) -> Operator:
    """Operators of joins are imported here: a query without one starts sooner."""
    asked, shapes, output = node.asked, shapes_below(node.asked), shape_of(node.asked)
    if isinstance(node, nodes.AsOfJoin):
        from windrow.operators.joins.asof import AsOfJoinOperator

        return AsOfJoinOperator(asked, shapes, output)
    options: dict[str, Any] = {"threads": node.threads, "passes": node.passes}
    if isinstance(node, nodes.Handshake):
        from windrow.operators.handshake.lookup import Lookup
        from windrow.operators.handshake.operator import HandshakeJoin
        from windrow.operators.handshake.scanning import Scan

        options["local"] = Lookup if node.looks_up else Scan
        return HandshakeJoin(asked, shapes, output, node.conditions, **options)
    from windrow.operators.joins.in_order import InOrderJoinOperator
    from windrow.operators.joins.operator import JoinOperator

    made = InOrderJoinOperator if isinstance(node, nodes.InOrderJoin) else JoinOperator
    return made(asked, shapes, output, node.conditions, **options)


def _divided(node: nodes.DividedGroups) -> Operator:
    def make() -> Operator:
        return operator_of(node.each)[1]

    divided: dict[str, Any] = {"shards": node.shards, "threads": node.threads}
    if isinstance(node.each, nodes.PanedWindow) and node.panes:
        asked = node.each.asked
        return PreAggregatedOperator(asked, shape_of(asked.input), make, node.routes[0], **divided)
    return DividedOperator(make, node.routes, **divided)
