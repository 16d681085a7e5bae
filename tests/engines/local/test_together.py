"""Queries that run together: each gives exactly what it gives alone, whatever they share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import KEYS, SCHEMA, STREAM, Split, approximately
from tests.saved import whole_tables
from windrow.engines.local import LocalOptions, Metrics, Receiver, run
from windrow.errors import SumOverflowError
from windrow.operators.aggregate.partials import SharedPanesOperator
from windrow.operators.base import Batch
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline
from windrow.plan.nodes import (
    AggregateCall,
    Distinct,
    Filter,
    Late,
    Lateness,
    Node,
    Project,
    Strategy,
    Stream,
    Union,
    WindowAggregate,
)
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, External, Ordered, Policy, Punctuation, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []

BOUNDED = ("count", "sum", "avg", "variance", "min", "max", "first", "last")
CALLS = st.one_of(
    st.just(AggregateCall("", "count")),
    st.builds(AggregateCall, st.just(""), st.sampled_from(BOUNDED), st.sampled_from((Column("x"), Column("y")))),
    st.builds(AggregateCall, st.just(""), st.sampled_from(("count", "min", "last")), st.just(Column("k"))),
)
PREDICATES: tuple[Expression | None, ...] = (
    None,
    None,
    Call(">", (Column("x"), Literal(0))),
    Call("=", (Column("k"), Literal("a"))),
)


@dataclass
class Given:
    """What one query gave."""

    results: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    metrics: Metrics | None = None
    overflow: bool = False

    @property
    def counts(self) -> tuple[int, ...]:
        assert self.metrics is not None
        return (
            self.metrics.rows_in,
            self.metrics.rows_used,
            self.metrics.rows_late,
            self.metrics.rows_filtered,
            self.metrics.results,
        )

    def delivery(self) -> tuple[Callable[[pa.RecordBatch], None], Callable[[pa.RecordBatch], None]]:
        return (lambda b: self.results.extend(b.to_pylist())), (lambda b: self.late.extend(b.to_pylist()))


def alone(plan: Node, sources: dict[str, Any], **options: Any) -> Given:
    found = Given()
    on_result, on_late = found.delivery()
    try:
        _, found.metrics = run([plan], sources, Receiver.of_one(on_result, on_late), LocalOptions(**options))
    except SumOverflowError:
        found.overflow = True
    return found


def together(plans: Sequence[Node], sources: dict[str, Any], **options: Any) -> tuple[list[Given], Metrics]:
    found = [Given() for _ in plans]
    deliveries = [one.delivery() for one in found]
    into = Receiver(lambda query, b: deliveries[query][0](b), lambda query, b: deliveries[query][1](b))
    each, whole = run(plans, sources, into, LocalOptions(**options))
    for one, metrics in zip(found, each, strict=True):
        one.metrics = metrics
    return found, whole


def final(plan: Node, rows: list[dict[str, Any]]) -> list[Any]:
    """The results as a set; of early ones only what stays: when they are given says nothing of the answer."""
    early = isinstance(plan, WindowAggregate) and plan.early is not None
    return streams.comparable(row for row in rows if not early or row["kind"] == "final")


# Sets of queries

POLICIES: tuple[Policy, ...] = (Ordered(), Slack(Amount.of(0)), Slack(Amount.of(7)), SlackRows(3))


@st.composite
def bounded_queries(draw: st.DrawFn, stream: Stream = STREAM) -> WindowAggregate:
    """Queries that can share panes, and some that cannot."""
    drawn = draw(st.lists(CALLS, min_size=1, max_size=3))
    predicate = draw(st.sampled_from(PREDICATES))
    return WindowAggregate(
        stream if predicate is None else Filter(stream, predicate),
        draw(st.one_of(streams.sliding(), streams.landmarks())),
        tuple((f"key_{name}", Column(name)) for name in draw(st.sampled_from(((), ("k",), ("k",), ("k", "g"))))),
        tuple(replace(call, name=f"a{place}") for place, call in enumerate(drawn)),
        emit=draw(st.sampled_from((Emit.NONEMPTY, Emit.NONEMPTY, Emit.EMPTY))),
        lateness=draw(st.sampled_from(Lateness)),
    )


@st.composite
def any_queries(draw: st.DrawFn, stream: Stream) -> Node:
    """Queries of every kind over a stream."""
    window: Window = draw(
        st.one_of(
            streams.windows(),
            streams.slide_by_tuple(),
            st.builds(RowsWindow, st.integers(1, 6), st.integers(1, 6), st.just(())),
            st.builds(RowsWindow, st.integers(1, 6), st.integers(1, 6), st.just(("k",)), st.just("ts")),
        )
    )
    calls = streams.calls(draw(streams.aggregate_lists(max_size=2)))
    predicate = draw(st.sampled_from(PREDICATES))
    below: Node = stream if predicate is None else Filter(stream, predicate)
    keys = ("k",) if isinstance(window, RowsWindow) and window.partition else draw(KEYS)
    node = WindowAggregate(
        draw(st.sampled_from((below, below, Distinct(below)))),
        window,
        tuple((name, Column(name)) for name in keys),
        tuple(AggregateCall(c.name, c.function, c.argument, c.parameters) for c in calls),
        late=draw(st.sampled_from((Late.DROP, Late.DROP, Late.SIDE))),
        lateness=draw(st.sampled_from(Lateness)),
    )
    if isinstance(window, Sliding) and node.late is Late.DROP:
        node = replace(node, early=draw(st.sampled_from((None, None, Amount.of(5)))))
        node = node if node.early else replace(node, strategy=draw(st.sampled_from((Strategy.AUTO, Strategy.WID))))
    if node.late is Late.DROP and node.early is None and draw(st.booleans()):
        return WindowAggregate(node, Sliding("window_end", 20, 10), (), (AggregateCall("n", "count"),))
    return node


@settings(max_examples=10_000 if SOAK else 30)
@given(data=st.data())
def test_windows_that_share_panes_give_the_answer_of_the_oracle(data: st.DataObject) -> None:
    elements = data.draw(streams.elements(late=True, extremes=False))
    plans = data.draw(st.lists(bounded_queries(), min_size=2, max_size=5))
    cuts = data.draw(st.sets(st.integers(0, 40)))
    found, _ = together(plans, {"s": Split(elements, cuts, data.draw(st.booleans()))})
    for plan, one in zip(plans, found, strict=True):
        note(str(plan))
        where = plan.input.predicate if isinstance(plan.input, Filter) else None
        expected = oracle.answer(
            elements,
            plan.window,
            keys=plan.keys,
            aggregates=plan.aggregates,
            emit=plan.emit,
            lateness=plan.lateness.value,
            where=where,
        )
        assert streams.comparable(approximately(expected.results, plan.aggregates)) == streams.comparable(
            approximately(one.results, plan.aggregates)
        )
        account, metrics = expected.account, one.metrics
        assert metrics is not None
        assert (account.rows_in, account.used, account.late) == (metrics.rows_in, metrics.rows_used, metrics.rows_late)


@settings(max_examples=10_000 if SOAK else 30)
@given(data=st.data())
def test_any_queries_give_together_what_they_give_alone(data: st.DataObject) -> None:
    rows = [e for e in data.draw(streams.elements(late=True)) if not isinstance(e, Punctuation)]
    stream = replace(STREAM, policy=data.draw(st.sampled_from(POLICIES)))
    query = st.one_of(any_queries(stream), bounded_queries(stream))
    plans = data.draw(st.lists(query, min_size=2, max_size=4))
    cuts = data.draw(st.sets(st.integers(0, 40)))
    expected = [alone(plan, {"s": Split(rows, ())}) for plan in plans]
    if any(one.overflow for one in expected):
        with pytest.raises(SumOverflowError):
            together(plans, {"s": Split(rows, cuts)})
        return
    found, _ = together(plans, {"s": Split(rows, cuts)})
    for plan, one, other in zip(plans, expected, found, strict=True):
        note(str(plan))
        assert final(plan, one.results) == final(plan, other.results)
        assert streams.comparable(one.late) == streams.comparable(other.late)
        assert one.counts[:4] == other.counts[:4]


def near_zero(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows with their least time at zero, so that sources lie side by side."""
    found = list(rows)
    least = min((row["ts"] for row in found), default=0)
    return [{**row, "ts": row["ts"] - least} for row in found]


SOURCES = st.sampled_from((("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "c")))


@settings(max_examples=10_000 if SOAK else 20)
@given(data=st.data())
def test_queries_over_several_sources_give_together_what_they_give_alone(data: st.DataObject) -> None:
    sources: dict[str, Any] = {}
    named: dict[str, Stream] = {}
    for name in ("a", "b", "c"):
        rows = near_zero(e for e in data.draw(streams.elements(late=True)) if not isinstance(e, Punctuation))
        sources[name] = Split(rows, data.draw(st.sets(st.integers(0, 40))))
        named[name] = replace(STREAM, name=name, policy=data.draw(st.sampled_from(POLICIES)))
    plans: list[Node] = []
    for _ in range(data.draw(st.integers(2, 4))):
        over = data.draw(SOURCES)
        inputs = tuple(named[name] for name in over)
        asked = data.draw(bounded_queries())
        assert isinstance(asked.window, (Sliding, Landmark))
        window = replace(asked.window, origin=asked.window.origin % 40)  # from far away, windows would be many
        asked = replace(asked, window=window)
        plans.append(replace(asked, input=Union(inputs) if len(inputs) > 1 else inputs[0]))
    expected = [alone(plan, sources) for plan in plans]
    if any(one.overflow for one in expected):
        return
    found, _ = together(plans, sources)
    for plan, one, other in zip(plans, expected, found, strict=True):
        note(str(plan))
        assert final(plan, one.results) == final(plan, other.results)
        assert one.counts == other.counts


@settings(max_examples=10_000 if SOAK else 20)
@given(data=st.data())
def test_promises_for_single_groups_reach_the_windows_that_can_use_them(data: st.DataObject) -> None:
    stream = replace(STREAM, policy=External(per=("k",)))
    elements = data.draw(streams.elements(late=True, by="k", extremes=False))
    plans = data.draw(st.lists(bounded_queries(stream), min_size=2, max_size=4))
    expected = [alone(plan, {"s": Split(elements, ())}) for plan in plans]
    found, _ = together(plans, {"s": Split(elements, data.draw(st.sets(st.integers(0, 40))))})
    for plan, one, other in zip(plans, expected, found, strict=True):
        note(str(plan))
        assert final(plan, one.results) == final(plan, other.results)
        assert one.counts == other.counts


@settings(max_examples=10_000 if SOAK else 20)
@given(data=st.data())
def test_state_is_saved_and_restored_between_any_two_elements(data: st.DataObject) -> None:
    elements = data.draw(streams.elements(late=True, extremes=data.draw(st.booleans())))
    plans = data.draw(st.lists(bounded_queries(), min_size=2, max_size=4))
    expected = [alone(plan, {"s": Split(elements, ())}) for plan in plans]
    if any(one.overflow for one in expected):
        return
    found = [Given() for _ in plans]

    def fresh(old: Pipeline | None) -> Pipeline:
        made = build(*plans)
        for end, one in zip(made.ends, found, strict=True):
            end.on_result, end.on_late = one.delivery()
        for new, before in zip(made.stages, old.stages if old else [], strict=False):
            new.operator.restore(whole_tables(before.operator.state()))
            new.operator.counters = before.operator.counters
        return made

    pipeline = fresh(None)
    for element in [*elements, Punctuation(END)]:
        if data.draw(st.booleans()):
            pipeline = fresh(pipeline)
        given = element if isinstance(element, Punctuation) else _one_row(element)
        pipeline.push("s", given)
    for one, other in zip(expected, found, strict=True):
        assert streams.comparable(one.results) == streams.comparable(other.results)


def _one_row(row: dict[str, Any]) -> Batch:
    return Batch.unread(pa.RecordBatch.from_pylist([row], SCHEMA))


def test_queries_that_need_several_passes_are_kept_and_restored(tmp_path: Path) -> None:
    rows = [{"ts": t, "k": "a", "g": 0, "x": 1, "y": 0.5} for t in (1, 30, 2, 45, 44)]
    sources = {name: Split(rows, (2,)) for name in ("a", "b")}
    both = Union(tuple(replace(STREAM, name=name, policy=Ordered()) for name in sources))
    plans = [over(both, Sliding("ts", 10, slide), late=Late.SIDE) for slide in (5, 10)]
    whole, metrics = together(plans, sources, checkpoint=str(tmp_path), checkpoint_every=3)
    again, restored = together(plans, sources, checkpoint=str(tmp_path), restore=True)
    assert 20 == metrics.rows_in == restored.rows_in
    for plan, one, other in zip(plans, whole, again, strict=True):
        expected = alone(plan, sources)
        assert streams.comparable(expected.results) == streams.comparable(one.results)
        assert (one.results, one.late, one.counts) == (other.results, other.late, other.counts)


# What is there once

X = Column("x")
SUM = (AggregateCall("total", "sum", X),)
BY_K = (("k", Column("k")),)


def labels(*plans: Node) -> list[str]:
    return [stage.label.partition(" ")[2] for stage in build(*plans).stages]


def over(below: Node, window: Window, keys: Any = BY_K, calls: Any = SUM, **settings: Any) -> WindowAggregate:
    return WindowAggregate(below, window, keys, calls, **settings)


def test_equal_parts_are_there_once() -> None:
    below = Filter(STREAM, Call(">", (X, Literal(0))))
    one, other = over(below, Session("ts", 5)), over(below, Session("ts", 6))
    assert ["window", "select", "input s", "window"] == labels(one, other)


def test_equal_queries_are_there_once_and_each_has_its_answer() -> None:
    plan = over(STREAM, Sliding("ts", 10, 5), late=Late.SIDE)
    assert ["window", "input s"] == labels(plan, plan)
    rows = [{"ts": t, "k": "a", "g": 0, "x": 1, "y": 0.5} for t in (1, 30, 2)]
    ordered = replace(plan, input=replace(STREAM, policy=Ordered()))
    (one, other), whole = together([ordered, ordered], {"s": Split(rows, ())})
    assert one.results == other.results != []
    assert one.late == other.late != []
    assert (6, 3) == (whole.rows_in, whole.sources["s"].rows)


def test_numbers_of_different_types_are_different_conditions() -> None:
    wholes = Project(STREAM, (("ts", Column("ts")), ("v", Call("+", (X, Literal(1))))))
    floats = Project(STREAM, (("ts", Column("ts")), ("v", Call("+", (X, Literal(1.0))))))
    assert ["project", "input s", "project"] == labels(wholes, floats)


def test_one_query_keeps_a_place_for_each_time_it_reads_a_stream() -> None:
    twice = Union((STREAM, STREAM))
    assert ["meld", "input s", "input s", "window"] == labels(twice, over(STREAM, Session("ts", 5)))


def shared(*plans: Node) -> list[SharedPanesOperator]:
    return [stage.operator for stage in build(*plans).stages if isinstance(stage.operator, SharedPanesOperator)]


def test_panes_are_the_common_divisor_of_all_windows() -> None:
    plans = [
        over(STREAM, Sliding("ts", 60, 20)),
        over(STREAM, Sliding("ts", 30, 30, origin=4), calls=(AggregateCall("n", "count"),)),
        over(STREAM, Landmark("ts", 40), keys=(("other", Column("k")),)),
    ]
    (panes,) = shared(*plans)
    assert 2 == panes.made.windower.pane


@pytest.mark.parametrize(
    "other",
    [
        over(STREAM, Sliding("ts", 10, 5), keys=()),
        over(STREAM, Sliding("ts", 10, 5), late=Late.SIDE),
        over(STREAM, Sliding("ts", 10, 5), emit=Emit.COMPLETE),
        over(STREAM, Sliding("ts", 10, 5), early=Amount.of(5)),
        over(STREAM, Sliding("ts", 10, 5), strategy=Strategy.WID),
        over(STREAM, Sliding("ts", 10, 5), calls=(AggregateCall("m", "median", X),)),
        over(STREAM, Session("ts", 5)),
        over(STREAM, SlideByTuple("ts", 5)),
        over(Filter(STREAM, Call(">", (X, Literal(0)))), Sliding("ts", 10, 5)),
        over(STREAM, Sliding("ts", 100, 100, origin=1)),
    ],
)
def test_what_cannot_share_panes(other: WindowAggregate) -> None:
    assert [] == shared(over(STREAM, Sliding("ts", 100, 100)), other)


def test_windows_of_one_query_alone_share_nothing() -> None:
    assert [] == shared(Union((over(STREAM, Sliding("ts", 10, 5)), over(STREAM, Sliding("ts", 20, 10)))))
