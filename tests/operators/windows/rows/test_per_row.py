"""Slide-by-tuple windows equal the oracle: aggregates, groups, ties, late rows, batch cuts, restores at any element."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_oracle import EMITS, SCHEMA, STREAM, Split, answer, approximately
from tests.saved import whole_tables
from windrow.aggregates import UserAggregate
from windrow.errors import SumOverflowError
from windrow.operators.base import Batch
from windrow.operators.late.judging import COLUMNS
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline
from windrow.plan.nodes import AggregateCall, Filter, Late, Lateness, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import SlideBy, SlideByTuple

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []

POSITIVE = Call(">", (Column("x"), Literal(0)))
FEW = ("count", "sum", "avg", "min", "max", "first", "last", "variance")
"""Aggregates whose state is of fixed size, but for text."""
GROUPED = st.sampled_from(((), (), ("k",), ("g",), ("k", "g"), ("y",)))


@st.composite
def queries(draw: st.DrawFn, functions: tuple[str, ...] | None = None) -> WindowAggregate:
    keys = draw(GROUPED)
    window = draw(streams.slide_by_tuple(partition=keys if draw(st.booleans()) else ()))
    calls = tuple(
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(draw(streams.aggregate_lists(functions)))
    )
    emit, lateness = draw(EMITS), draw(st.sampled_from(Lateness))
    late = draw(st.sampled_from((Late.DROP, Late.SIDE)))
    named = tuple((name, Column(name)) for name in keys)
    given = Filter(STREAM, POSITIVE) if draw(st.sampled_from((False, False, True))) else STREAM
    return WindowAggregate(given, window, named, calls, emit=emit, late=late, lateness=lateness)


def by_definition(node: WindowAggregate, elements: list[Any]) -> oracle.OracleAnswer:
    return oracle.answer(
        elements,
        node.window,
        keys=node.keys,
        aggregates=node.aggregates,
        where=node.input.predicate if isinstance(node.input, Filter) else None,
        emit=node.emit,
        late=node.late.value,
        lateness=node.lateness.value,
    )


def check_late(expected: oracle.OracleAnswer, late: list[dict[str, Any]]) -> None:
    """The rows on the side, each with how late it was and the run of windows it missed."""
    missed = [
        {**row, "late_by": by, "late_windows": len(m), "late_from": m[0][0], "late_until": m[-1][1]}
        for row, by, m in expected.missed
    ]
    names = [*SCHEMA.names, *COLUMNS[:-1]]
    assert comparable(missed, names) == comparable(late, names)


def comparable(rows: list[dict[str, Any]], names: list[str]) -> list[Any]:
    return streams.comparable({name: row[name] for name in names} for row in rows)


@settings(max_examples=10_000 if SOAK else 75)
@given(queries(), streams.elements(), st.sets(st.integers(0, 40)))
def test_the_answer_of_the_oracle(node: WindowAggregate, elements: list[Any], cuts: set[int]) -> None:
    try:
        expected = by_definition(node, elements)
    except SumOverflowError:
        with pytest.raises(SumOverflowError):
            answer(node, Split(elements, cuts))
        return
    results, late, metrics = answer(node, Split(elements, cuts))
    assert streams.comparable(approximately(expected.results, node.aggregates)) == streams.comparable(
        approximately(results, node.aggregates)
    )
    account = expected.account
    assert (account.used, account.late, account.rows_in) == (metrics.rows_used, metrics.rows_late, metrics.rows_in)
    if node.late is Late.SIDE:
        check_late(expected, late)


POLICIES = st.one_of(
    st.integers(0, 15).map(lambda slack: (Slack(Amount.of(slack)), slack)),
    st.integers(0, 4).map(lambda rows: (SlackRows(rows), 0)),
)


def promised(rows: list[Any], policy: Slack | SlackRows, slack: int) -> list[Any]:
    """Each row after the punctuation that the rows before it imply."""
    known = bounds((row["ts"] for row in rows), policy, slack)
    return [e for row, bound in zip(rows, known, strict=True) for e in (Punctuation(bound), row)]


@settings(max_examples=10_000 if SOAK else 60)
@given(queries(FEW), streams.elements(), POLICIES, st.sets(st.integers(0, 40)))
def test_rows_that_are_late_under_a_bound_of_their_own_batch(
    node: WindowAggregate, elements: list[Any], policy: tuple[Slack | SlackRows, int], cuts: set[int]
) -> None:
    """Such a batch is not cut: its late rows come in where they met the bound."""
    rows = [element for element in elements if not isinstance(element, Punctuation)]
    stream = replace(STREAM, policy=policy[0])
    below = replace(node.input, input=stream) if isinstance(node.input, Filter) else stream
    node = replace(node, input=below)
    try:
        expected = by_definition(node, promised(rows, *policy))
    except SumOverflowError:
        return
    results, late, metrics = answer(node, Split(rows, cuts))
    assert streams.comparable(approximately(expected.results, node.aggregates)) == streams.comparable(
        approximately(results, node.aggregates)
    )
    assert (expected.account.late, expected.account.rows_in) == (metrics.rows_late, metrics.rows_in)
    if node.late is Late.SIDE:
        check_late(expected, late)


def pushed(node: WindowAggregate, elements: list[Any], restored: set[int]) -> list[list[Any]]:
    """Results and late rows when the pipeline is saved and built anew before some of the elements."""
    results: list[pa.RecordBatch] = []
    late: list[pa.RecordBatch] = []

    def fresh(tables: list[dict[str, pa.Table]] | None = None) -> Pipeline:
        made = build(node)
        made.ends[0].on_result, made.ends[0].on_late = results.append, late.append
        for stage, saved in zip(made.stages, tables or [], strict=False):
            stage.operator.restore(saved)
        return made

    pipeline = fresh()
    for i, element in enumerate([*elements, Punctuation(END)]):
        if i in restored:
            pipeline = fresh([whole_tables(stage.operator.state()) for stage in pipeline.stages])
        if isinstance(element, Punctuation):
            pipeline.push("s", element)
        else:
            pipeline.push("s", Batch.unread(pa.RecordBatch.from_pylist([element], SCHEMA)))
    return [streams.comparable(r for b in batches for r in b.to_pylist()) for batches in (results, late)]


@settings(max_examples=10_000 if SOAK else 50)
@given(queries(), streams.elements(extremes=False), st.sets(st.integers(0, 41)))
def test_saved_and_restored_between_any_two_elements(
    node: WindowAggregate, elements: list[Any], restored: set[int]
) -> None:
    assert pushed(node, elements, set()) == pushed(node, elements, restored)


@settings(max_examples=10_000 if SOAK else 30)
@given(
    queries(functions=("count", "sum", "max", "last")), streams.elements(spread=1 << 51), st.sets(st.integers(0, 40))
)
def test_times_far_apart(node: WindowAggregate, elements: list[Any], cuts: set[int]) -> None:
    assert isinstance(node.window, SlideByTuple)
    node = replace(node, window=replace(node.window, range=1 << 49))
    try:
        expected = by_definition(node, elements)
    except SumOverflowError:
        return
    results, late, _ = answer(node, Split(elements, cuts))
    assert streams.comparable(expected.results) == streams.comparable(results)
    if node.late is Late.SIDE:
        check_late(expected, late)


@pytest.mark.parametrize("by", list(SlideBy))
@pytest.mark.parametrize("partition", [("k",), ()])
def test_fewer_rows_than_close_a_window(by: SlideBy, partition: tuple[str, ...]) -> None:
    elements = arrived(1, 50, late=0.2)
    window, keys = SlideByTuple("ts", 45, 51, by, partition), (("k", Column("k")),)
    node = WindowAggregate(STREAM, window, keys, (AggregateCall("n", "count"),), late=Late.SIDE)
    results, late, metrics = answer(node, Split(elements, {10, 20}))
    expected = by_definition(node, elements)
    assert [] == expected.results == results
    assert (50, expected.account.late) == (metrics.rows_in, metrics.rows_late)
    check_late(expected, late)


@pytest.mark.parametrize("by", list(SlideBy))
def test_every_third_of_rows_at_the_same_time(by: SlideBy) -> None:
    """Each of ten equal times is counted; windows that end together hold the same rows."""
    elements: list[Any] = [{"ts": 5, "k": "ab"[i % 2], "g": i, "x": i, "y": None} for i in range(10)]
    for partition, ends in (((), 3), (("k",), 2)):
        keys = (("k", Column("k")),) if partition else ()
        window = SlideByTuple("ts", 1, 3, by, partition)
        node = WindowAggregate(
            STREAM, window, keys, (AggregateCall("n", "count"), AggregateCall("s", "sum", Column("x")))
        )
        results, _, _ = answer(node, Split(elements, {4}))
        assert streams.comparable(by_definition(node, elements).results) == streams.comparable(results)
        assert ends == len(results)


def arrived(seed: int, size: int, *, late: float) -> list[Any]:
    """Rows with ties out of order, punctuations now and then, some of them ahead of rows to come."""
    chance = random.Random(seed)
    elements: list[Any] = []
    now, bound = 0, -100
    for _ in range(size):
        now += chance.choice((0, 0, 1, 2, 5))
        back = chance.randrange(60) if chance.random() < late else chance.randrange(8)
        row = {"ts": now - back, "k": chance.choice("abc"), "g": chance.randrange(40), "x": chance.randrange(-99, 99)}
        elements.append({**row, "y": chance.choice((None, chance.uniform(-1, 1)))})
        if chance.random() < 0.1:
            bound = max(bound, now - chance.randrange(8, 30))
            elements.append(Punctuation(bound))
    return elements


@pytest.mark.parametrize("partition", [("g",), ()], ids=["own windows", "windows for all groups"])
@pytest.mark.parametrize(("every", "by"), [(1, SlideBy.ARRIVAL), (3, SlideBy.ARRIVAL), (3, SlideBy.RANK)])
@pytest.mark.parametrize("late", [0.0, 0.3])
def test_long_streams_in_small_pieces(
    monkeypatch: pytest.MonkeyPatch, partition: tuple[str, ...], every: int, by: SlideBy, late: float
) -> None:
    """Rows leave in several pieces, runs are merged, groups come and go, late rows meet both stacks."""
    monkeypatch.setattr("windrow.operators.windows.rows.per_row.PIECE", 7)
    monkeypatch.setattr("windrow.operators.windows.rows.sliding_runs.EXPANDED", 50)
    monkeypatch.setattr("windrow.operators.windows.rows.row_timeline.ANSWERS", 5)
    monkeypatch.setattr("windrow.operators.state.groups.COMPACT_ABOVE", 4)
    elements = arrived(every, 250, late=late)
    calls = ("count", "sum", "max", "min", "first", "last", "median", "collect")
    aggregates = tuple(AggregateCall(f"{name}_{c}", name, Column(c)) for name in calls for c in ("x", "y"))
    window = SlideByTuple("ts", 45, every, by, partition)
    node = WindowAggregate(STREAM, window, (("g", Column("g")),), aggregates, late=Late.SIDE)
    results, missed, metrics = answer(node, Split(elements, range(0, 300, 13)))
    expected = by_definition(node, elements)
    assert streams.comparable(expected.results) == streams.comparable(results)
    assert (late > 0) == (metrics.rows_late > 0)
    check_late(expected, missed)
    assert pushed(node, elements, set()) == pushed(node, elements, set(range(0, 300, 11)))


class SumOfSquares(UserAggregate):
    """An aggregate of a user that has a twin among expressions."""

    name = "per_row_sum_of_squares"
    result = pa.int64()

    def lift(self, values: Any) -> Any:
        return (values * values,)

    def combine(self, left: Any, right: Any) -> Any:
        return (left[0] + right[0],)

    def finish(self, state: Any, parameters: Any) -> Any:
        return state[0]


@pytest.mark.parametrize("partition", [(), "k"])
def test_aggregates_of_users(partition: str | tuple[str, ...]) -> None:
    wr.register(SumOfSquares())
    elements = arrived(5, 300, late=0.3)
    stream = wr.stream(
        [e if isinstance(e, Punctuation) else pa.RecordBatch.from_pylist([e], SCHEMA) for e in elements],
        time="ts",
        progress=wr.punctuated(),
        schema=SCHEMA,
    )
    windows = stream.group_by("k").window(range=45, slide="1 row", partition=partition)
    found = windows.agg(own=wr.aggregate(SumOfSquares.name, "x"), twin=wr.sum("x * x")).collect()
    assert found["twin"].to_pylist() == found["own"].to_pylist()
    assert found.num_rows > 200
