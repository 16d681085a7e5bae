"""Early rows in the local engine: any window and batch split equal the oracle, other plans do without them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_oracle import EMITS, KEYS, SCHEMA, STREAM, Split, answer
from tests.engines.local.test_checkpoint import interrupted, uninterrupted
from windrow.plan.nodes import AggregateCall, Filter, Late, Lateness, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.lead import EarlyRow, ahead
from windrow.semantics.progress.policies import LIMIT, Lead, Ordered, Policy, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import RowsWindow

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
YEAR_9999 = 253_402_300_799_999_999
CALLS = (AggregateCall("n", "count"), AggregateCall("s", "sum", Column("x")), AggregateCall("m", "max", Column("x")))
POLICIES: st.SearchStrategy[Ordered | Slack | SlackRows] = st.sampled_from(
    (Ordered(), Slack(Amount.of(4)), Slack(Amount.of(30)), SlackRows(3))
)
TIMES = st.one_of(
    st.integers(0, 40), st.integers(0, 40), st.integers(0, 150), st.sampled_from((YEAR_9999, LIMIT, (1 << 63) - 1))
)


def judged(rows: Sequence[dict[str, Any]], policy: Policy, slack: int, lead: int) -> Iterator[Any]:
    """Rows, early ones as such, each after what the rows before it promise."""
    far = list(ahead([row["ts"] for row in rows], lead))
    rest = bounds([row["ts"] for row, by in zip(rows, far, strict=True) if by is None], policy, slack)
    told: int | None = None
    for row, by in zip(rows, far, strict=True):
        if by is not None:
            yield EarlyRow(row, by)
            continue
        bound = next(rest)
        if told is None or bound > told:
            yield Punctuation(bound)
            told = bound
        yield row


def counted(partition: tuple[str, ...]) -> st.SearchStrategy[Any]:
    lengths = st.integers(1, 5)
    rows = st.builds(RowsWindow, lengths, lengths, st.just(partition), st.sampled_from((None, "ts")))
    return st.one_of(rows, streams.slide_by_tuple(partition=partition))


@dataclass(frozen=True)
class EarlyCase:
    """A query over rows of which some are too far ahead; `slack` and `lead` are in units of the time."""

    node: WindowAggregate
    rows: list[dict[str, Any]]
    policy: Policy
    slack: int
    lead: int
    passing: Call | None

    def answer(self, elements: Iterable[Any]) -> oracle.OracleAnswer:
        node = self.node
        asked: dict[str, Any] = {"keys": node.keys, "aggregates": CALLS, "emit": node.emit, "late": node.late.value}
        return oracle.answer(elements, node.window, where=self.passing, lateness=node.lateness.value, **asked)


@st.composite
def early_cases(draw: st.DrawFn, late: st.SearchStrategy[Late]) -> EarlyCase:
    partition = draw(st.sampled_from(((), ("k",))))
    window = draw(st.one_of(streams.windows(), counted(partition)))
    names = draw(KEYS) if not partition else ("k",)
    rows = draw(st.lists(streams.rows(TIMES, extremes=False), min_size=1, max_size=25))
    policy, lead = draw(POLICIES), draw(st.integers(1, 90))
    slack = int(policy.amount.number) if isinstance(policy, Slack) else 0
    passing = Call(">", (Column("x"), Literal(-3))) if draw(st.booleans()) else None
    stream = replace(STREAM, policy=replace(policy, lead=Lead(Amount.of(lead))))
    below = stream if passing is None else Filter(stream, passing)
    keys = tuple((name, Column(name)) for name in names)
    chosen: dict[str, Any] = {"emit": draw(EMITS), "late": draw(late), "lateness": draw(st.sampled_from(Lateness))}
    return EarlyCase(WindowAggregate(below, window, keys, CALLS, **chosen), rows, policy, slack, lead, passing)


@settings(max_examples=20_000 if SOAK else 120)
@given(data=st.data())
def test_any_window_gives_the_answer_of_the_oracle(data: st.DataObject) -> None:
    case = data.draw(early_cases(st.just(Late.SIDE)))
    rows = case.rows
    expected = case.answer(judged(rows, case.policy, case.slack, case.lead))
    results, late, metrics = answer(case.node, Split(rows, data.draw(st.sets(st.integers(0, 25)))))
    assert streams.comparable(expected.results) == streams.comparable(results)
    account = expected.account
    assert (account.used, account.late, account.early, account.filtered) == (
        metrics.rows_used,
        metrics.rows_late,
        metrics.rows_early,
        metrics.rows_filtered,
    )
    assert account.rows_in == metrics.rows_in == len(rows)
    early = [row for row in late if row["late_windows"] == 0]
    assert account.late == len(late) - len(early)
    assert streams.comparable(
        {**{n: e.row[n] for n in SCHEMA.names}, "by": e.by} for e in expected.early if e.row["ts"] < LIMIT
    ) == (
        streams.comparable({**{n: r[n] for n in SCHEMA.names}, "by": -r["late_by"]} for r in early if r["ts"] < LIMIT)
    )
    assert len(expected.early) == len(early)
    assert all(row["late_by"] < 0 and row["late_from"] is row["late_until"] is None for row in early)


def streamed(rows: Sequence[dict[str, Any]], name: str = "a", **settings: Any) -> wr.Query:
    data = pa.Table.from_pylist(list(rows), SCHEMA)
    return wr.stream(data, time="ts", name=name, **{"progress": wr.slack(6, lead=20), **settings})


def united(rows: Sequence[dict[str, Any]]) -> wr.Query:
    both = streamed(rows[::2]).union(streamed(rows[1::2], "b"))
    return both.group_by("k").window(range=10, slide=5).agg(n=wr.count(), s=wr.sum("x"))


def counted_union(rows: Sequence[dict[str, Any]]) -> wr.Query:
    return streamed(rows[::2]).union(streamed(rows[1::2], "b")).window(range="3 rows").agg(s=wr.sum("g"))


def joined(rows: Sequence[dict[str, Any]]) -> wr.Query:
    return streamed(rows[::2]).join(streamed(rows[1::2], "b"), on="k", between=(-9, 9))


def nested(rows: Sequence[dict[str, Any]]) -> wr.Query:
    inner = streamed(rows).where("x > -4").group_by("k").window(range=10).agg(n=wr.count())
    return inner.window(range=30).agg(most=wr.max("n"))


PLANS: dict[str, Callable[[Sequence[dict[str, Any]]], wr.Query]] = {
    "union": united,
    "union of rows": counted_union,
    "join": joined,
    "nested": nested,
    "plain": lambda rows: streamed(rows).where("x > -4").select("ts", "k", "x"),
    "distinct": lambda rows: streamed(rows).select("ts", "k").distinct(),
    "ordered": lambda rows: streamed(rows).ordered_output(),
    "early results": lambda rows: streamed(rows).window(range=20).agg(n=wr.count()).early(7),
}


@pytest.mark.parametrize("kind", PLANS)
@settings(max_examples=2_000 if SOAK else 25)
@given(data=st.data())
def test_queries_answer_as_if_early_rows_were_not_there(kind: str, data: st.DataObject) -> None:
    """Rows are taken out of the very streams they are in, so the rest comes from the same ones."""
    good = data.draw(st.lists(streams.rows(st.integers(0, 20), extremes=False), min_size=2, max_size=16))
    good = [{**row, "ts": row["ts"] + 2 * place} for place, row in enumerate(good)]
    bad = data.draw(st.lists(st.tuples(st.integers(1, 8), streams.rows(st.just(YEAR_9999))), max_size=4))
    rows = list(good)
    for place, row in bad:  # two of them, so that every other row is still in its stream
        rows[2 * place : 2 * place] = [row, {**row, "ts": LIMIT}]
    size = data.draw(st.integers(1, 9))
    expected, found = PLANS[kind](good).run(batch_rows=1), PLANS[kind](rows).run(batch_rows=size)
    assert streams.comparable(expected.table.to_pylist()) == streams.comparable(found.table.to_pylist())
    metrics = found.metrics
    assert metrics.rows_in == metrics.rows_used + metrics.rows_late + metrics.rows_early + metrics.rows_filtered
    assert (expected.metrics.rows_used, expected.metrics.rows_late) == (metrics.rows_used, metrics.rows_late)
    assert 2 * len(bad) == _early_in(found) - _early_in(expected)
    passing = [row for _, row in bad if kind not in ("nested", "plain") or (row["x"] is not None and row["x"] > -4)]
    assert 2 * len(passing) == metrics.rows_early - expected.metrics.rows_early


def _early_in(result: Any) -> int:
    return sum(source.early for source in result.metrics.sources.values())


def test_queries_over_one_stream_count_each_their_own() -> None:
    rows = [{"ts": t, "k": "a", "x": t} for t in (1, 2, 9000, 3, 14, 8000)]
    stream = streamed(rows)
    queries = [
        stream.where("x < 8500").group_by("k").window(range=4).agg(n=wr.count()),
        stream.where("x < 8500").group_by("k").window(range=2).agg(n=wr.count()),
        stream.where("x < 8500").select("ts", "k"),
        stream.window(range=4).agg(n=wr.count()).late("side"),
    ]
    found = wr.run(queries)
    assert [(1, 1)] * 3 + [(2, 0)] == [(one.metrics.rows_early, one.metrics.rows_filtered) for one in found]
    assert [-8998, -7986] == [row["late_by"] for row in found[3].late.to_pylist()]


def test_early_rows_of_either_side_of_a_join_are_told() -> None:
    left, right = [{"ts": t, "k": "a"} for t in (1, 900, 2)], [{"ts": t, "k": "a"} for t in (1, 2, 800)]
    found = streamed(left).join(streamed(right, "b"), on="k", between=(-5, 5)).late("side").run()
    assert (2, 0) == (found.metrics.rows_early, found.metrics.rows_late)
    assert {("a", -899, 0), ("b", -798, 0)} == {
        (row["late_source"], row["late_by"], row["late_windows"]) for row in found.late.to_pylist()
    }


@pytest.mark.parametrize("kind", ["union", "union of rows", "plain", "early results"])
def test_a_run_that_goes_on_from_a_checkpoint_judges_alike(kind: str, tmp_path: Path) -> None:
    rows = [{"ts": t, "k": "a", "g": 1, "x": t % 7} for t in (1, 9, YEAR_9999, 12, 15, 700, 900, 30, 33, 600, 50, 40)]
    query = PLANS[kind](rows)
    assert uninterrupted(query, 1) == interrupted(query, 1, tmp_path, [2, 1, 3])
    assert 4 == query.run().metrics.rows_early
