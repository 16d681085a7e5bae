"""Where batches are cut changes nothing, and every policy means what `semantics.progress.bounds` says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance.streams import CUTS, SCHEMA, in_order, melded, outcome, promised, rows, table
from tests.strategies import comparable
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import AtEnd, Ordered, Policy, Punctuation, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount

POLICIES: dict[str, tuple[Policy, int]] = {
    "slack": (Slack(Amount.of(12)), 12),
    "no slack": (Slack(Amount.of(0)), 0),
    "slack in rows": (SlackRows(3), 0),
    "no slack in rows": (SlackRows(0), 0),
    "ordered": (Ordered(), 0),
}
WINDOWS: dict[str, dict[str, Any]] = {
    "tumbling": {"range": 10},
    "sliding": {"range": 30, "slide": 10},
    "uneven": {"range": 25, "slide": 10, "origin": 3},
    "holes": {"range": 5, "slide": 20},
    "landmark": {"range": "unbounded", "slide": 50},
    "session": {"gap": 8},
    "rows": {"rows": 9, "slide": "4 rows"},
    "rows of a key": {"rows": 5, "slide": "2 rows", "partition": "k"},
    "rows in order": {"rows": 5, "slide": "2 rows", "partition": "k", "order_by": "ts"},
}
AGGREGATES = {"n": wr.count(), "total": wr.sum("x"), "most": wr.max("x"), "middle": wr.median("x")}


def query(data: Any, policy: Policy | None, window: dict[str, Any], **settings: Any) -> wr.Query:
    stream = wr.stream(data, time="ts", progress=policy, **settings)
    return stream.where("x IS NULL OR x <> 5").group_by("k").window(**window).agg(**AGGREGATES).late("side")


def by_definition(elements: Sequence[Any], asked: wr.Query) -> oracle.OracleAnswer:
    """The oracle's answer for the plan of `query` over rows and punctuations."""
    node = asked.plan
    assert isinstance(node, WindowAggregate)
    return oracle.answer(
        elements,
        node.window,
        keys=node.keys,
        aggregates=node.aggregates,
        where=node.input.predicate,  # type: ignore[union-attr]
        emit=node.emit,
        late=node.late.value,
        lateness=node.lateness.value,
    )


def check(expected: oracle.OracleAnswer, asked: wr.Query, cuts: Sequence[int] = CUTS) -> None:
    """Every way to cut the batches gives the answer, the late rows and the counts of the oracle."""
    outcomes = [outcome(asked, batch_rows=size) for size in cuts]
    for found in outcomes:
        assert comparable(expected.results) == found["results"]
        missed = comparable({name: row[name] for name in SCHEMA.names} for row, _, _ in expected.missed)
        assert missed == comparable({name: dict(row)[name] for name in SCHEMA.names} for row in found["late"])
        account, counted = expected.account, found["metrics"]
        assert (account.used, account.late) == (counted["rows_used"], counted["rows_late"])
        assert (account.filtered, account.rows_in) == (counted["rows_filtered"], counted["rows_in"])
        assert outcomes[0] == found


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("policy", POLICIES)
def test_policies_that_speak_after_every_row(policy: str, window: str) -> None:
    said, slack = POLICIES[policy]
    given = rows(0, 80)
    asked = query(table(given), said, WINDOWS[window])
    expected = by_definition(list(promised(given, said, slack)), asked)
    assert expected.account.late > 0 or window in ("holes", "session", "rows", "rows of a key")
    check(expected, asked)


@pytest.mark.parametrize("window", WINDOWS)
def test_consistent_rows_count_in_all_of_their_windows_or_in_none(window: str) -> None:
    given = rows(5, 100)
    said = Slack(Amount.of(12))
    asked = query(table(given), said, WINDOWS[window]).lateness("consistent")
    check(by_definition(list(promised(given, said, 12)), asked), asked)


@pytest.mark.parametrize("emit", ["empty", "complete"])
@pytest.mark.parametrize("window", ["tumbling", "uneven", "landmark", "rows", "rows in order"])
def test_which_windows_are_reported_does_not_depend_on_batches(emit: str, window: str) -> None:
    given = rows(6, 100)
    said = Slack(Amount.of(12))
    asked = query(table(given), said, WINDOWS[window]).emit(emit)
    check(by_definition(list(promised(given, said, 12)), asked), asked)


@pytest.mark.parametrize("window", WINDOWS)
def test_a_column_of_punctuations(window: str) -> None:
    for seed in range(2):
        given = rows(seed, 80)
        elements: list[Any] = []
        high = min(row["ts"] for row in given)
        for i, row in enumerate(given):
            elements.append(row)
            high = max(high, row["ts"] - 9)
            if i % 13 == seed:
                elements.append(Punctuation(high))
        marked = [{"ts": e.value, "mark": e.value} if isinstance(e, Punctuation) else e for e in elements]
        data = pa.Table.from_pylist(marked, SCHEMA.append(pa.field("mark", pa.int64())))
        asked = query(data, wr.punctuated("mark"), WINDOWS[window])
        check(by_definition(elements, asked), asked)


def test_revisions_end_at_the_same_answer() -> None:
    given = rows(8, 150)
    said = Slack(Amount.of(5))
    asked = query(table(given), said, WINDOWS["sliding"]).late("revise", within=60)
    node = asked.plan
    assert isinstance(node, WindowAggregate)
    expected = oracle.answer(
        list(promised(given, said, 5)),
        node.window,
        keys=node.keys,
        aggregates=node.aggregates,
        where=node.input.predicate,  # type: ignore[union-attr]
        late="revise",
        within=60,
    )
    for size in CUTS:
        final: dict[Any, dict[str, Any]] = {}
        for row in asked.collect(batch_rows=size).sort_by("revision").to_pylist():
            final[row["k"], row["window_end"]] = row
        assert comparable(expected.results) == comparable(
            {name: value for name, value in row.items() if name != "revision"} for row in final.values()
        )


def test_windows_over_windows() -> None:
    given = rows(9, 200)
    said = Slack(Amount.of(10))
    inner = query(table(given), said, WINDOWS["sliding"]).late("drop")
    outer = inner.window(range=50, slide=20).agg(most=wr.max("total"), n=wr.count())
    node = outer.plan
    assert isinstance(node, WindowAggregate)
    found = oracle.answer(
        by_definition(list(promised(given, said, 10)), inner).results, node.window, aggregates=node.aggregates
    )
    outcomes = [outcome(outer, batch_rows=size) for size in CUTS]
    assert [comparable(found.results)] * len(CUTS) == [one["results"] for one in outcomes]
    assert [outcomes[0]] * len(CUTS) == outcomes


def test_each_different_row_once() -> None:
    given = [{**row, "x": 1} for row in rows(10, disorder=60, step=1)] * 2
    asked = wr.stream(table(given), time="ts", progress=wr.slack(10)).distinct()
    outcomes = [outcome(asked, batch_rows=size) for size in CUTS]
    found = outcomes[0]["results"]
    assert len(set(found)) == len(found)
    assert [outcomes[0]] * len(CUTS) == outcomes


# Several streams. The one whose next row is earliest goes next, slide by slide, the first of equals first.


def united(streams: Sequence[Sequence[dict[str, Any]]], policy: Policy, idle: int | None, slide: int) -> wr.Query:
    first, *others = (wr.stream(table(rows), time="ts", progress=policy, idle=idle) for rows in streams)
    where = first.union(*others).where("x IS NULL OR x <> 5")
    return where.group_by("k").window(range=3 * slide, slide=slide).agg(**AGGREGATES).late("side")


@pytest.mark.parametrize("idle", [None, 4, 15, 100])
@pytest.mark.parametrize("policy", ["slack", "slack in rows", "ordered"])
def test_several_streams_are_read_alike_however_they_are_cut(policy: str, idle: int | None) -> None:
    said, slack = POLICIES[policy]
    for seed in range(2):
        streams = [[{**row, "ts": row["ts"] - given[0]["ts"]} for row in given] for given in lagging(seed)]
        asked = united(streams, said, idle, 10)
        expected = by_definition(melded(streams, 10, said, slack, idle), asked)
        assert expected.account.late > 0
        check(expected, asked)


@pytest.mark.parametrize("policy", ["slack", "slack in rows"])
def test_a_stream_united_with_itself(policy: str) -> None:
    """Row after row comes in twice, however many of them are read at once."""
    said, _ = POLICIES[policy]
    given = rows(4, 60)
    once = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="ts", progress=said, name="s")
    asked = once.union(once).group_by("k").window(range=10).agg(**AGGREGATES).late("side")
    outcomes = [outcome(asked, batch_rows=size) for size in CUTS]
    assert 0 < outcomes[0]["metrics"]["rows_late"]
    assert [outcomes[0]] * len(CUTS) == outcomes


def lagging(seed: int) -> list[list[dict[str, Any]]]:
    """Three streams of different pace and length: each falls behind the others at some time."""
    return [rows(seed, 40), rows(seed + 50, 60, step=1), rows(seed + 70, 30, step=9)]


def test_ordered_streams_lose_nothing_to_an_idle_time_longer_than_a_slide() -> None:
    streams = [in_order(given) for given in lagging(3)]
    asked = united(streams, wr.ordered(), 10, 10)
    whole = [row for stream in streams for row in stream]
    check(by_definition(whole, asked), asked)


def test_sessions_over_several_streams() -> None:
    said = Slack(Amount.of(12))
    streams = lagging(4)
    first, *others = (wr.stream(table(given), time="ts", progress=said, idle=20) for given in streams)
    asked = first.union(*others).where("x IS NULL OR x <> 5").group_by("k").window(gap=8).agg(**AGGREGATES).late("side")
    check(by_definition(melded(streams, 8, said, 12, 20), asked), asked)


@pytest.mark.parametrize("window", ["rows", "rows of a key", "rows in order"])
@pytest.mark.parametrize("said", [AtEnd(), Slack(Amount.of(12)), Ordered()])
def test_rows_of_several_streams_are_counted_alike_however_they_are_cut(said: Policy, window: str) -> None:
    streams = lagging(6)
    first, *others = (wr.stream(table(given), time="ts", progress=said) for given in streams)
    where = first.union(*others).where("x IS NULL OR x <> 5")
    asked = where.group_by("k").window(**WINDOWS[window]).agg(**AGGREGATES).late("side")
    check(by_definition(melded(streams, 1, said, 12), asked), asked)


def test_windows_over_windows_of_rows() -> None:
    given = rows(11, 200)
    inner = wr.stream(table(given), time="ts").window(rows=8, slide="3 rows").agg(total=wr.sum("x"))
    outer = inner.window(range=30, slide=10).agg(most=wr.max("total"), n=wr.count())
    ends = list(range(3, 201, 3))
    totals = {end: [row["x"] for row in given[max(0, end - 8) : end] if row["x"] is not None] for end in ends}
    expected = []
    for window_end in range(10, 230, 10):
        held = [sum(totals[end]) for end in ends if window_end - 30 <= end < window_end and totals[end]]
        count = sum(window_end - 30 <= end < window_end for end in ends)
        if count:
            bounds = {"window_start": window_end - 30, "window_end": window_end}
            expected.append({**bounds, "most": max(held, default=None), "n": count})
    outcomes = [outcome(outer, batch_rows=size) for size in CUTS]
    assert [comparable(expected)] * len(CUTS) == [one["results"] for one in outcomes]
