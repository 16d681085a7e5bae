"""Joins in the local engine: under every policy, below and above other operators, shared, saved and restored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.operators.joins.cases import (
    NAMES,
    PREDICATES,
    SCHEMAS,
    answered,
    by_definition,
    column,
    plain,
    plans,
    row_windows,
    rows,
)
from windrow.engines.local import LocalOptions, Metrics, Receiver, run
from windrow.operators.base import Batch
from windrow.operators.joins.operator import JoinOperator
from windrow.pipeline.build import build
from windrow.plan.checks.joins import joined_names
from windrow.plan.columns import prune_together
from windrow.plan.nodes import AggregateCall, Filter, Join, JoinTime, Late, Node, Stream, Union, WindowAggregate
from windrow.semantics.joins import LEFT, RIGHT, Between, JoinKind, SameWindow
from windrow.semantics.progress.policies import AtEnd, External, Ordered, Policy, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Sliding
from windrow.sources import open_source

Rows = list[dict[str, Any]]
POLICIES = st.sampled_from((AtEnd(), Ordered(), Slack(Amount.of(5)), Slack(Amount.of(40)), SlackRows(3)))
STREAMS_OF = {"one": LEFT, "two": RIGHT}


def streams(policies: Sequence[Policy]) -> tuple[Stream, Stream]:
    left, right = policies
    return Stream("one", SCHEMAS[LEFT], "ts", left), Stream("two", SCHEMAS[RIGHT], "ts", right)


def tables(found: Sequence[Rows]) -> dict[str, pa.Table]:
    return {name: pa.Table.from_pylist(found[side], schema=SCHEMAS[side]) for name, side in STREAMS_OF.items()}


def answer(plan: Node, data: dict[str, pa.Table], **options: Any) -> tuple[Rows, Rows, Metrics]:
    results: list[pa.RecordBatch] = []
    late: list[pa.RecordBatch] = []
    sources = {name: open_source(table, name=name) for name, table in data.items()}
    _, metrics = run([plan], sources, Receiver.of_one(results.append, late.append), LocalOptions(**options))
    return [r for b in results for r in b.to_pylist()], [r for b in late for r in b.to_pylist()], metrics


def as_tuples(found: Rows) -> list[tuple[Any, ...]]:
    return answered([tuple(map(plain, row.values())) for row in found])


def split(found: Rows, policy: Policy) -> tuple[Rows, Rows]:
    """Rows in time, and rows below what their stream had promised when they came."""
    slack = int(policy.amount.number) if isinstance(policy, Slack) else 0
    known = list(bounds([row["ts"] for row in found], policy, slack))
    in_time = [row for row, bound in zip(found, known, strict=True) if row["ts"] >= bound]
    return in_time, [row for row, bound in zip(found, known, strict=True) if row["ts"] < bound]


def expected(plan: Join, found: Sequence[Rows], policies: Sequence[Policy]) -> list[tuple[Any, ...]]:
    kept = [split(rows, policy)[0] for rows, policy in zip(found, policies, strict=True)]
    return answered(by_definition(plan, [(side, row) for side in (LEFT, RIGHT) for row in kept[side]]))


TWO = st.tuples(st.lists(rows(), max_size=40), st.lists(rows(), max_size=40))


@settings(max_examples=150)
@given(plans(), TWO, st.tuples(POLICIES, POLICIES), st.integers(1, 50), st.sampled_from((1, 2)))
def test_answers_and_accounts_under_every_policy(
    plan: Join, found: Sequence[Rows], policies: Sequence[Policy], batch_rows: int, threads: int
) -> None:
    left, right = streams(policies)
    plan = replace(plan, left=left, right=right)
    results, late, metrics = answer(plan, tables(found), batch_rows=batch_rows, threads=threads)
    assert as_tuples(results) == expected(plan, found, policies)
    missed = sum(len(split(rows, policy)[1]) for rows, policy in zip(found, policies, strict=True))
    assert (metrics.rows_in, metrics.rows_late, metrics.rows_filtered) == (sum(map(len, found)), missed, 0)
    assert metrics.rows_used == metrics.rows_in - missed
    assert len(late) == (missed if plan.late is Late.SIDE else 0)
    assert metrics.rows_stored == 0


@settings(max_examples=50)
@given(plans(row_windows()), TWO, st.integers(1, 50))
def test_windows_of_rows_do_not_depend_on_batches(plan: Join, found: Sequence[Rows], batch_rows: int) -> None:
    left, right = streams((Ordered(), Ordered()))
    plan = replace(plan, left=left, right=right)
    one, other = (answer(plan, tables(found), batch_rows=size)[0] for size in (batch_rows, 1 << 10))
    assert as_tuples(one) == as_tuples(other)


POSITIVE = Call(">", (Column("x"), Literal(0)))
EQUAL = PREDICATES["text"]


def joined(left: Node, right: Node, schemas: Sequence[pa.Schema] = SCHEMAS, **changes: Any) -> Join:
    names = joined_names(schemas, ("l", "r"))
    plan = Join(left, right, JoinKind.INNER, Between(-5, 5), EQUAL, names, ("l", "r"))
    return replace(plan, **changes)


@settings(max_examples=50)
@given(TWO, st.integers(1, 50))
def test_filters_below_a_join(found: Sequence[Rows], batch_rows: int) -> None:
    left, right = streams((Slack(Amount.of(5)), Ordered()))
    plan = joined(Filter(left, POSITIVE), right)
    results, _, metrics = answer(plan, tables(found), batch_rows=batch_rows)
    in_time = [split(found[LEFT], Slack(Amount.of(5)))[0], split(found[RIGHT], Ordered())[0]]
    chosen = [row for row in in_time[LEFT] if row["x"] is not None and row["x"] > 0]
    assert as_tuples(results) == expected(plan, (chosen, in_time[RIGHT]), (AtEnd(), AtEnd()))
    assert metrics.rows_in == metrics.rows_used + metrics.rows_late + metrics.rows_filtered
    assert metrics.rows_filtered == sum(row["x"] is None or row["x"] <= 0 for row in found[LEFT])


@settings(max_examples=50)
@given(TWO, st.lists(rows(), max_size=20), st.integers(1, 50), POLICIES)
def test_a_union_below_a_join(found: Sequence[Rows], third: Rows, batch_rows: int, policy: Policy) -> None:
    """What is late in the union depends on its rows, not on how they are cut."""
    left, right = streams((policy, Ordered()))
    other = Stream("three", SCHEMAS[LEFT], "ts", policy)
    plan = joined(Union((left, other)), right, late=Late.SIDE)
    data = tables(found) | {"three": pa.Table.from_pylist(third, schema=SCHEMAS[LEFT])}
    results, late, metrics = answer(plan, data, batch_rows=batch_rows)
    again, late_again, _ = answer(plan, data, batch_rows=1 << 10)
    assert as_tuples(results) == as_tuples(again)
    assert as_tuples(late) == as_tuples(late_again)
    assert (metrics.rows_in, metrics.rows_late) == (sum(map(len, (*found, third))), len(late))
    if isinstance(policy, AtEnd):
        in_time = split(found[RIGHT], Ordered())[0]
        assert as_tuples(results) == expected(plan, ([*found[LEFT], *third], in_time), (AtEnd(), AtEnd()))


COUNT = (AggregateCall("n", "count"),)


def counted(plan: Join, pairs: list[tuple[Any, ...]], keys: Sequence[str], length: int) -> dict[tuple[Any, ...], int]:
    names = [c.name for c in plan.columns]
    time = "l_ts" if plan.time is JoinTime.LEFT else "r_ts"
    counts: dict[tuple[Any, ...], int] = {}
    for pair in pairs:
        row = dict(zip(names, pair, strict=True))
        end = (row[time] // length + 1) * length
        group = (*(row[key] for key in keys), end)
        counts[group] = counts.get(group, 0) + 1
    return counts


@settings(max_examples=100)
@given(
    plans(),
    TWO,
    st.tuples(POLICIES, POLICIES),
    st.integers(1, 50),
    st.sampled_from(((), ("l_k",), ("l_ts",), ("r_ts",), ("r_ts", "r_g"))),
)
def test_windows_above_a_join(
    plan: Join, found: Sequence[Rows], policies: Sequence[Policy], batch_rows: int, keys: tuple[str, ...]
) -> None:
    left, right = streams(policies)
    time = JoinTime.RIGHT if plan.kind is JoinKind.RIGHT else JoinTime.LEFT
    kind = JoinKind.INNER if plan.kind in (JoinKind.FULL, JoinKind.SEMI, JoinKind.ANTI) else plan.kind
    plan = replace(plan, left=left, right=right, kind=kind, time=time)
    window = Sliding("l_ts" if time is JoinTime.LEFT else "r_ts", 7, 7)
    above = WindowAggregate(plan, window, tuple((key, Column(key)) for key in keys), COUNT)
    results, _, metrics = answer(above, tables(found), batch_rows=batch_rows)
    pairs = expected(plan, found, policies)
    counts = {(*(plain(row[key]) for key in keys), row["window_end"]): row["n"] for row in results}
    assert counts == counted(plan, pairs, keys, 7)
    assert metrics.rows_in == metrics.rows_used + metrics.rows_late + metrics.rows_filtered


def test_joint_promises_close_boxes() -> None:
    """Pairs counted for each two times: a box closes with both bounds, not only after the window's length."""
    left, right = streams((External(), External()))
    plan = joined(left, right, on=None, window=Between(-20, 20))
    above = WindowAggregate(plan, Sliding("l_ts", 1, 1), (("r_ts", Column("r_ts")),), COUNT)
    pipeline = build(above)
    given_out: list[tuple[int, int, int]] = []

    def note(data: pa.RecordBatch) -> None:
        given_out.extend((row["window_start"], row["r_ts"], row["n"]) for row in data.to_pylist())

    pipeline.ends[0].on_result = note
    row = {"k": "a", "g": 1, "x": 1, "y": 1.0}
    for side, name in enumerate(("one", "two")):
        rows = [{"ts": ts, **row} for ts in ((0, 0, 2) if side == LEFT else (1, 3))]
        data = pa.Table.from_pylist(rows, schema=SCHEMAS[side]).combine_chunks().to_batches()[0]
        pipeline.push(name, Batch.unread(data))
    pipeline.push("one", Punctuation(2))
    assert given_out == []
    pipeline.push("two", Punctuation(2))
    assert given_out == [(0, 1, 2)]
    pipeline.push("one", Punctuation(3))
    assert sorted(given_out) == [(0, 1, 2), (2, 1, 1)]
    pipeline.push("two", Punctuation(4))
    assert sorted(given_out) == [(0, 1, 2), (0, 3, 2), (2, 1, 1), (2, 3, 1)]


@settings(max_examples=40)
@given(TWO, st.integers(1, 50))
def test_a_join_over_a_join_and_over_windows(found: Sequence[Rows], batch_rows: int) -> None:
    left, right = streams((Slack(Amount.of(40)), Slack(Amount.of(40))))
    inner = joined(left, right)
    sums = WindowAggregate(left, Sliding("ts", 10, 10), (("k", Column("k")),), COUNT)
    schemas = pa.schema([(c.name, SCHEMAS[c.side].field(c.source).type) for c in NAMES])
    kinds: dict[str, pa.DataType] = {"k": pa.string(), "window_start": pa.int64(), "window_end": pa.int64()}
    counts = pa.schema([*kinds.items(), ("n", pa.int64())])
    on = Call("=", (Column("l_k"), Column("k")))
    names = joined_names((schemas, counts), ("p", "q"))
    plan = Join(inner, sums, JoinKind.INNER, SameWindow(10), on, names, ("p", "q"))
    results, _, _ = answer(plan, tables(found), batch_rows=batch_rows)
    pairs = [dict(zip(schemas.names, p, strict=True)) for p in expected(inner, found, (Slack(Amount.of(40)),) * 2)]
    totals: dict[tuple[str | None, int], int] = {}
    for row in split(found[LEFT], Slack(Amount.of(40)))[0]:
        group = row["k"], (row["ts"] // 10 + 1) * 10
        totals[group] = totals.get(group, 0) + 1
    wanted = [
        (*pair.values(), k, end - 10, end, n)
        for pair in pairs
        for (k, end), n in totals.items()
        if k is not None and k == pair["l_k"] and pair["l_ts"] // 10 == end // 10
    ]
    assert as_tuples(results) == answered(wanted)


@settings(max_examples=40)
@given(st.lists(rows(), max_size=40), POLICIES, st.integers(1, 50))
def test_a_stream_joined_with_itself(found: Rows, policy: Policy, batch_rows: int) -> None:
    stream = Stream("one", SCHEMAS[LEFT], "ts", policy)
    plan = joined(stream, stream, (SCHEMAS[LEFT],) * 2)
    table = {"one": pa.Table.from_pylist(found, schema=SCHEMAS[LEFT])}
    results, _, metrics = answer(plan, table, batch_rows=batch_rows)
    assert as_tuples(results) == expected(plan, (found, found), (policy, policy))
    assert metrics.rows_in == 2 * len(found)
    assert metrics.rows_late == 2 * len(split(found, policy)[1])


@settings(max_examples=25)
@given(found=TWO, plan=plans(), every=st.integers(1, 12))
def test_checkpoints_go_on_where_they_were(
    tmp_path_factory: pytest.TempPathFactory, found: Sequence[Rows], plan: Join, every: int
) -> None:
    left, right = streams((Slack(Amount.of(5)), Slack(Amount.of(5))))
    plan = replace(plan, left=left, right=right)
    folder: Path = tmp_path_factory.mktemp("joins")
    whole = answer(plan, tables(found))[0]
    answer(plan, tables([rows[: len(rows) // 2] for rows in found]), checkpoint=str(folder / "one"))
    some = answer(plan, tables(found), checkpoint=str(folder / "two"), checkpoint_every=every)[0]
    again = answer(plan, tables(found), checkpoint=str(folder / "two"), restore=True)[0]
    assert as_tuples(whole) == as_tuples(some) == as_tuples(again)


def test_queries_share_a_join() -> None:
    left, right = streams((Slack(Amount.of(5)), Slack(Amount.of(5))))
    plan = joined(left, right)
    above = WindowAggregate(plan, Sliding("l_ts", 10, 10), (), COUNT)
    one = WindowAggregate(plan, Sliding("l_ts", 10, 10), (), (AggregateCall("m", "max", column(RIGHT, "x")),))
    pipeline = build(*prune_together([above, one]))
    assert sum(isinstance(stage.operator, JoinOperator) for stage in pipeline.stages) == 1
    row = {"k": "a", "g": 1, "x": 1, "y": 1.0}
    data = tables([[{"ts": ts, **row} for ts in range(30)]] * 2)
    sources = {name: open_source(table, name=name) for name, table in data.items()}
    seen: list[list[Any]] = [[], []]

    run([above, one], sources, Receiver(lambda query, batch: seen[query].extend(batch.to_pylist())))
    assert seen[0] == answer(above, data)[0]
    assert seen[1] == answer(one, data)[0]


def test_state_follows_the_window() -> None:
    """What is kept is what can still meet a row, and little more."""
    left, right = streams((Ordered(), Ordered()))
    plan = joined(left, right, on=PREDICATES["numbers of two types"], window=Between(-40_000, 0))
    pipeline = build(plan)
    operator = pipeline.stages[0].operator
    assert isinstance(operator, JoinOperator)
    for start in range(0, 400_000, 5_000):
        for side, name in enumerate(("one", "two")):
            ts = pa.array(range(start, start + 5_000), pa.int64())
            columns: list[Any] = [pa.nulls(5_000, field.type) for field in SCHEMAS[side]]
            columns[0], columns[2] = ts, ts.cast(SCHEMAS[side].field("g").type)
            pipeline.push(name, Batch.unread(pa.record_batch(columns, schema=SCHEMAS[side])))
        live = 40_000 + 10_000  # right rows of one window, and what one side is ahead
        assert operator.stored_rows <= 1.2 * live + 8_192
    assert pipeline.results == 400_000
