"""Sessions and late rows: the oracle's answer and late rows, and laws that hold of any answer."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.acceptance.streams import promised
from tests.engines.local.test_group_punctuations import Run, counting, fed, in_batches, rows, whole_groups
from tests.engines.local.test_oracle import SCHEMA
from windrow.engines.accounts import account_of, state_bytes
from windrow.plan.nodes import AggregateCall, Late, Lateness, Stream, WindowAggregate
from windrow.semantics import oracle
from windrow.semantics.amounts import Amount
from windrow.semantics.expressions import Column
from windrow.semantics.progress import External, Ordered, Policy, Punctuation, Slack, SlackRows
from windrow.semantics.windows import Emit, Session

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
CALLS = (
    AggregateCall("n", "count"),
    AggregateCall("ids", "collect", Column("x")),
    AggregateCall("s", "sum", Column("x")),
)


def numbered(elements: Sequence[Any]) -> list[Any]:
    """Each row with its place as `x`, so that one can see where it went."""
    return [e if isinstance(e, Punctuation) else {**e, "x": i, "y": None} for i, e in enumerate(elements)]


def told(late: Sequence[dict[str, Any]]) -> list[Any]:
    names = ("x", "late_by", "late_windows", "late_from", "late_until")
    return sorted(tuple(row[name] for name in names) for row in late)


def missed(expected: oracle.Answer) -> list[Any]:
    return sorted((row["x"], by, len(spans), *spans[0]) for row, by, spans in expected.missed)


def check_laws(
    elements: Sequence[Any], gap: int, keys: Sequence[str], results: list[dict[str, Any]], late: list[dict[str, Any]]
) -> None:
    """Each row is in one session or late; a session is its rows; sessions of a group lie more than a gap apart."""
    times = {row["x"]: row["ts"] for row in elements if not isinstance(row, Punctuation)}
    groups = defaultdict(list)
    for result in results:
        found = sorted(times[x] for x in result["ids"])
        assert (result["window_start"], result["window_end"]) == (found[0], found[-1] + gap)
        assert all(later - earlier <= gap for earlier, later in pairwise(found))
        groups[tuple(result[key] for key in keys)].append((found[0], found[-1]))
    for spans in groups.values():
        assert all(right[0] - left[1] > gap for left, right in pairwise(sorted(spans)))
    assert sorted(times) == sorted([*(x for result in results for x in result["ids"]), *(row["x"] for row in late)])


@settings(max_examples=20_000 if SOAK else 150, deadline=None)
@given(data=st.data())
def test_late_rows_of_sessions(data: st.DataObject) -> None:
    window = Session("ts", data.draw(st.integers(1, 12)))
    by = data.draw(st.sampled_from(("k", "g")))
    names = data.draw(st.sampled_from(((by,), (by,), ("k", "g"))))
    elements = numbered(data.draw(streams.elements(late=True, by=by, spread=data.draw(st.sampled_from((25, 60, 120))))))
    keys = tuple((name, Column(name)) for name in names)
    emit, lateness = data.draw(st.sampled_from((Emit.NONEMPTY, Emit.COMPLETE))), data.draw(st.sampled_from(Lateness))
    stream = Stream("s", SCHEMA, "ts", External(per=(by,)))
    node = WindowAggregate(stream, window, keys, CALLS, emit=emit, late=Late.SIDE, lateness=lateness)
    pieces = list(in_batches(elements, data.draw(st.sets(st.integers(0, 40)))))
    run = fed(node, pieces, data.draw(st.sets(st.integers(0, max(0, len(pieces) - 1)), max_size=4)))
    expected = oracle.answer(whole_groups(elements, names, by), window, keys=keys, aggregates=CALLS, emit=emit)
    assert streams.comparable(expected.results) == streams.comparable(run.results)
    assert missed(expected) == told(run.late)
    assert expected.account == account_of(run.pipeline.ends[0], expected.account.rows_in)
    assert len(run.late) == expected.account.late
    if emit is not Emit.COMPLETE:
        check_laws(elements, window.gap, names, run.results, run.late)


def standing(results: Sequence[dict[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    """What stands in the end: a result makes those of its group void that it overlaps; it covers them all."""
    groups: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        known = groups[repr([result[key] for key in keys])]
        start, end = result["window_start"], result["window_end"]
        void = [r for r in known if r["window_start"] < end and start < r["window_end"]]
        assert all(start <= r["window_start"] and r["window_end"] <= end for r in void)
        assert max((r["revision"] + 1 for r in void), default=0) == result["revision"]
        known[:] = [*(r for r in known if r not in void), result]
    return [{n: v for n, v in r.items() if n != "revision"} for known in groups.values() for r in known]


@settings(max_examples=20_000 if SOAK else 150, deadline=None)
@given(data=st.data())
def test_corrections_end_at_the_answer_with_the_late_rows_in_it(data: st.DataObject) -> None:
    window = Session("ts", data.draw(st.integers(1, 12)))
    by = data.draw(st.sampled_from(("k", "g")))
    names = data.draw(st.sampled_from(((by,), (by,), ("k", "g"))))
    elements = numbered(data.draw(streams.elements(late=True, by=by, spread=data.draw(st.sampled_from((25, 60, 120))))))
    keys = tuple((name, Column(name)) for name in names)
    within = data.draw(st.integers(1, 60))
    stream = Stream("s", SCHEMA, "ts", External(per=(by,)))
    node = WindowAggregate(stream, window, keys, CALLS, late=Late.REVISE, within=Amount.of(within))
    pieces = list(in_batches(elements, data.draw(st.sets(st.integers(0, 40)))))
    run = fed(node, pieces, data.draw(st.sets(st.integers(0, max(0, len(pieces) - 1)), max_size=4)))
    spelled = whole_groups(elements, names, by)
    expected = oracle.answer(spelled, window, keys=keys, aggregates=CALLS, late="revise", within=within)
    results = standing(run.results, names)
    assert streams.comparable(expected.results) == streams.comparable(results)
    assert missed(expected) == told(run.late)
    assert expected.account == account_of(run.pipeline.ends[0], expected.account.rows_in)
    check_laws(elements, window.gap, names, results, run.late)


POLICIES = st.one_of(
    st.integers(0, 20).map(lambda slack: (Slack(Amount.of(slack)), slack)),
    st.integers(0, 4).map(lambda count: (SlackRows(count), 0)),
    st.just((Ordered(), 0)),
)


@settings(max_examples=10_000 if SOAK else 60, deadline=None)
@given(data=st.data(), policy=POLICIES, gap=st.integers(1, 12))
def test_where_batches_are_cut_does_not_matter(data: st.DataObject, policy: tuple[Policy, int], gap: int) -> None:
    said, slack = policy
    given = numbered(data.draw(streams.elements(late=True, spread=60)))
    given = [row for row in given if not isinstance(row, Punctuation)]
    window = Session("ts", gap)
    keys = (("g", Column("g")),)
    expected = oracle.answer(list(promised(given, said, slack)), window, keys=keys, aggregates=CALLS)
    stream = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="ts", progress=said)
    asked = stream.group_by("g").window(gap=gap).agg(n=wr.count(), ids=wr.collect("x"), s=wr.sum("x")).late("side")
    for size in (1, data.draw(st.integers(2, 9)), 1 << 17):
        result = asked.run(batch_rows=size)
        assert streams.comparable(expected.results) == streams.comparable(result.table.to_pylist())
        assert missed(expected) == told(result.late.to_pylist())
        check_laws(given, gap, ("g",), result.table.to_pylist(), result.late.to_pylist())
    corrected = [asked.late("revise", within=9).run(batch_rows=size) for size in (1, 4, 1 << 17)]
    assert all(corrected[0].table == result.table for result in corrected)
    assert len({result.metrics.rows_late for result in corrected}) == 1


def test_a_row_of_a_reported_session_is_late() -> None:
    """slack 1, gap 10: with 19 the bound is 18, past the end 15 of the session of 1 and 5; 8 belongs to it."""
    given = pa.table({"t": [1, 5, 19, 8]})
    asked = wr.stream(given, time="t", progress=wr.slack(1)).window(gap=10).agg(n=wr.count()).late("side")
    for lateness in ("generous", "consistent"):
        result = asked.lateness(lateness).run()
        assert [(1, 15, 2), (19, 29, 1)] == [(*r.values(),) for r in result.table.to_pylist()]
        assert [(8, 10, 1, 1, 15, "stream")] == [(*r.values(),) for r in result.late.to_pylist()]
        assert (4, 3, 1) == (result.metrics.rows_in, result.metrics.rows_used, result.metrics.rows_late)


def test_corrections_cover_what_they_replace() -> None:
    """gap 3: 5 lengthens [1, 4), then 8 joins it to the open session of 11; what is too late is given back."""
    stream = Stream("s", SCHEMA, "ts", External())
    late: Any = {"late": Late.REVISE, "within": Amount.of(20)}
    run = Run(WindowAggregate(stream, Session("ts", 3), (), (CALLS[0],), **late))
    for element in (
        rows((1, "a"), (11, "a")),
        Punctuation(9),
        rows((4, "a")),
        Punctuation(10),
        rows((7, "a"), (9, "a")),
    ):
        run.restart()
        run.feed(element)
    run.feed(Punctuation(40))
    run.feed(rows((8, "a")))
    run.feed(Punctuation(41))
    told = [(r["window_start"], r["window_end"], r["n"], r["revision"]) for r in run.results]
    assert [(1, 4, 1, 0), (1, 7, 2, 1), (1, 14, 5, 2)] == told
    assert [(8, 32, 8, 11)] == [(r["ts"], r["late_by"], r["late_from"], r["late_until"]) for r in run.late]
    assert 3 == account_of(run.pipeline.ends[0], 9).late


def test_a_late_row_is_reported_as_it_comes() -> None:
    stream = Stream("s", SCHEMA, "ts", External())
    run = Run(WindowAggregate(stream, Session("ts", 3), (("k", Column("k")),), (CALLS[0],), late=Late.SIDE))
    run.feed(rows((1, "a"), (9, "a")))
    run.feed(Punctuation(7))
    run.feed(rows((4, "a"), (6, "a"), (3, "b"), (4, "b")))
    assert [(4, 1, 4), (3, 3, 6)] == [(r["ts"], r["late_from"], r["late_until"]) for r in run.late]


def test_a_reported_session_is_remembered_until_no_row_in_time_can_belong_to_it() -> None:
    """last + 2 * gap is 7: at the bound 7 the row 4 is not over by itself, at 8 it is."""
    run = counting(Session("ts", 3))
    for element in (rows((1, "a")), Punctuation(7), rows((4, "a")), Punctuation(8), rows((4, "a"), (5, "a"))):
        run.restart()
        run.feed(element)
    run.feed(Punctuation(30))
    assert [(1, 4, 1), (5, 8, 1)] == [(r["window_start"], r["window_end"], r["n"]) for r in run.results]
    assert 2 == account_of(run.pipeline.ends[0], 4).late


def test_groups_whose_last_session_is_long_past_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.operators.state.groups.COMPACT_ABOVE", 4)
    run = counting(Session("ts", 3))
    most = 0
    for i in range(40):
        run.feed(rows(*((10 * i, f"{i}, {j}") for j in range(50))))
        run.feed(Punctuation(10 * i))
        most = max(most, state_bytes(run.pipeline.stages))
        if i == 4:
            early = most
    assert 39 * 50 == len(run.results)
    assert most <= 2 * early
