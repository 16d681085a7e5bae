"""Ordered output: the order holds at every moment, nothing is lost, nothing waits longer than the promise demands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_group_punctuations import EMITS, Run, in_batches, whole_groups
from tests.engines.local.answers.test_oracle import SCHEMA, Split, answer, approximately, strategies_for
from tests.operators.rowwise.test_sort import Listener
from windrow.engines.local import Receiver, run
from windrow.errors import SumOverflowError
from windrow.pipeline.graph import Stage
from windrow.plan.nodes import AggregateCall, Filter, Lateness, Node, OrderedOutput, Stream, Union, WindowAggregate
from windrow.plan.types.kinds import in_order
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.oracle.in_order import in_order as steps_of
from windrow.semantics.progress.policies import END, External, Punctuation
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Emit, RowsWindow, Sliding, Window

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []

STREAM = Stream("s", SCHEMA, "ts", External())
CUTS = st.sets(st.integers(0, 40))


def windows() -> st.SearchStrategy[Window]:
    rows = st.builds(RowsWindow, st.integers(1, 6), st.integers(1, 6), st.sampled_from(((), ("k",))), st.just("ts"))
    tuples = st.one_of(streams.slide_by_tuple(), streams.slide_by_tuple(partition=("k",)))
    return st.one_of(streams.windows(), streams.windows(), tuples, rows)


def aggregates(draw: Any) -> tuple[AggregateCall, ...]:
    functions = ("count", "sum", "min", "last", "median")
    found = streams.calls(draw(streams.aggregate_lists(functions, max_size=2)))
    return tuple(AggregateCall(c.name, c.function, c.argument, c.parameters) for c in found)


def asked(draw: Any, window: Window) -> tuple[tuple[str, Column], ...]:
    partition = getattr(window, "partition", ())
    names = partition or draw(st.sampled_from(((), ("k",), ("g", "k"))))
    return tuple((name, Column(name)) for name in names)


def listening(plan: Node) -> tuple[Run, Listener]:
    """A run whose top is heard: its rows and its promises."""
    plain = Run(plan)
    listener = Listener()
    plain.pipeline.stages[0].after = [(Stage(listener, "listener"), 0)]
    return plain, listener


def in_answer_order(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> list[dict[str, Any]]:
    return in_order(pa.Table.from_pylist(list(rows), schema), "window_end").to_pylist()


def due(listener: Listener) -> list[dict[str, Any]]:
    """Of what was given out of order, all below the last promise: it may not wait any longer."""
    bound = max((p.value for p in listener.heard if isinstance(p, Punctuation)), default=-(1 << 63))
    return [row for row in listener.rows if bound == END or row["window_end"] < bound]


@settings(max_examples=10_000 if SOAK else 50)
@given(data=st.data())
def test_results_leave_in_order_as_soon_as_the_promise_has_passed_them(data: st.DataObject) -> None:
    window = data.draw(windows())
    keys, emit = asked(data.draw, window), data.draw(EMITS)
    node = WindowAggregate(
        STREAM, window, keys, aggregates(data.draw), emit, lateness=data.draw(st.sampled_from(Lateness))
    )
    pieces = list(in_batches(data.draw(streams.elements(late=True, extremes=False)), data.draw(CUTS)))
    restarts = data.draw(st.sets(st.integers(0, 40), max_size=4))
    plain, listener = listening(node)
    ordered = Run(OrderedOutput(node))
    for number, piece in enumerate(pieces):
        if number in restarts:
            ordered.restart()
        plain.feed(piece)
        ordered.feed(piece)
        expected = in_answer_order(due(listener), plain.pipeline.ends[0].schema)
        assert streams._plain(expected) == streams._plain(ordered.results)
    assert len(listener.rows) == len(ordered.results)


@settings(max_examples=10_000 if SOAK else 30)
@given(data=st.data())
def test_the_answer_is_that_of_the_oracle_also_with_promises_for_single_groups(data: st.DataObject) -> None:
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks()))
    by = data.draw(st.sampled_from(("k", "g")))
    names = data.draw(st.sampled_from(((by,), ("k", "g"))))
    keys, emit, lateness = tuple((n, Column(n)) for n in names), data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    elements = data.draw(streams.elements(late=True, by=by, extremes=False))
    calls = aggregates(data.draw)
    stream = Stream("s", SCHEMA, "ts", External(per=(by,)))
    node = WindowAggregate(stream, window, keys, calls, emit, lateness=lateness)
    try:
        spelled = whole_groups(elements, names, by)
        expected = oracle.answer(
            spelled, window, keys=keys, aggregates=calls, emit=emit, lateness=lateness.value
        ).results
    except SumOverflowError:
        return
    pieces = list(in_batches(elements, data.draw(CUTS)))
    for strategy in strategies_for(window):
        ordered = Run(OrderedOutput(replace(node, strategy=strategy)))
        for piece in pieces:
            ordered.feed(piece)
            ends = [row["window_end"] for row in ordered.results]
            assert sorted(ends) == ends
        assert streams.comparable(approximately(expected, calls)) == streams.comparable(
            approximately(ordered.results, calls)
        )


@settings(max_examples=10_000 if SOAK else 30)
@given(elements=streams.elements(late=False, extremes=False), window=streams.sliding(), cuts=CUTS)
def test_a_window_leaves_with_the_punctuation_that_closes_it(
    elements: list[Any], window: Sliding, cuts: set[int]
) -> None:
    node = WindowAggregate(STREAM, window, (("k", Column("k")),), (AggregateCall("n", "count"),))
    expected = oracle.answer(elements, window, keys=node.keys, aggregates=node.aggregates).results
    ordered = Run(OrderedOutput(node))
    for piece in in_batches(elements, cuts):
        ordered.feed(piece)
        if isinstance(piece, Punctuation):
            closed = [row for row in expected if row["window_end"] <= piece.value]
            assert streams.comparable(closed) == streams.comparable(ordered.results)
    assert len(expected) == len(ordered.results)


POSITIVE = Call(">", (Column("g"), Literal(0)))


@settings(max_examples=10_000 if SOAK else 30)
@given(elements=streams.elements(late=True), cuts=CUTS)
def test_rows_of_a_filter_leave_sorted_and_late_ones_are_counted(elements: list[Any], cuts: set[int]) -> None:
    plan = OrderedOutput(Filter(STREAM, POSITIVE))
    results, late, metrics = answer(plan, Split(elements, cuts))
    chosen = [e for e in elements if isinstance(e, Punctuation) or (e["g"] or 0) > 0]
    steps = list(steps_of([*chosen, Punctuation(END)], "ts"))
    expected = [row for step in steps for row in step.leaving]
    assert streams._plain(in_order(pa.Table.from_pylist(expected, SCHEMA), "ts").to_pylist()) == streams._plain(results)
    assert [] == late
    assert sum(len(step.late) for step in steps) == metrics.rows_late
    rows = sum(not isinstance(e, Punctuation) for e in elements)
    assert rows == metrics.rows_in == metrics.rows_used + metrics.rows_late + metrics.rows_filtered
    assert len(results) == metrics.rows_used


@settings(max_examples=10_000 if SOAK else 20)
@given(data=st.data())
def test_sources_are_merged_whatever_their_batches(data: st.DataObject) -> None:
    names = ("a", "b", "c")
    plans = tuple(Stream(name, SCHEMA, "ts", External()) for name in names)
    elements = {name: data.draw(streams.elements(late=False, max_size=16)) for name in names}
    sources: dict[str, Any] = {name: Split(elements[name], data.draw(CUTS)) for name in names}
    results: list[dict[str, Any]] = []
    into = Receiver.of_one(lambda batch: results.extend(batch.to_pylist()))
    run([OrderedOutput(Union(plans))], sources, into)
    rows = [e for name in names for e in elements[name] if not isinstance(e, Punctuation)]
    assert streams._plain(in_order(pa.Table.from_pylist(rows, SCHEMA), "ts").to_pylist()) == streams._plain(results)


def test_empty_windows_leave_in_their_place() -> None:
    """a: rows in [0, 5) and [45, 50), so the empty windows between are known only then; b goes on meanwhile."""
    data = pa.table({"k": ["a", "b", "b", "b", "a", "b"], "t": [1, 1, 15, 31, 45, 60]})
    stream = wr.stream(data, time="t", progress=wr.ordered())
    query = stream.group_by("k").window(range=5).agg(n=wr.count()).emit("empty")
    assert query.collect(batch_rows=1).equals(query.ordered_output().collect(batch_rows=1))


def test_windows_over_empty_windows_hold_all_of_them() -> None:
    data = pa.table({"k": ["a", "b", "b", "b", "a", "b"], "t": [1, 1, 15, 31, 45, 60]})
    found = [
        wr.stream(data, time="t", progress=progress)
        .group_by("k")
        .window(range=5)
        .agg(n=wr.count())
        .emit("empty")
        .window(range=20)
        .agg(m=wr.count())
        .collect(batch_rows=1)
        for progress in (wr.at_end(), wr.ordered())
    ]
    assert [6, 8, 7, 2] == found[0].column("m").to_pylist()
    assert found[0].equals(found[1])


@pytest.mark.parametrize("emit", [Emit.NONEMPTY, Emit.COMPLETE])
def test_an_empty_stream_gives_nothing(emit: Emit) -> None:
    node = WindowAggregate(STREAM, Sliding("ts", 5, 5), (), (AggregateCall("n", "count"),), emit)
    assert [] == answer(OrderedOutput(node), Split([], ()))[0]
    assert [] == answer(OrderedOutput(STREAM), Split([], ()))[0]


def test_a_restored_run_goes_on_in_order(tmp_path: Any) -> None:
    data = pa.table({"k": ["b", "a", "c", "a", "b"] * 40, "t": [(i * 37) % 200 for i in range(200)]})
    query = wr.stream(data, time="t", progress=wr.slack(200)).where("t > 3").ordered_output()
    options = {"checkpoint": str(tmp_path), "checkpoint_every": 30, "batch_rows": 20}
    whole = query.run(**options).table
    assert whole.equals(query.run(**options, restore=True).table)
    assert whole.equals(query.collect())
    assert sorted(t for t in range(200) if t > 3) == whole.column("t").to_pylist()
