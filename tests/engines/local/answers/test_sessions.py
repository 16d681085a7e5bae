"""Sessions and late rows: the oracle's answer and late rows, and laws that hold of any answer."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests import strategies as streams
from tests.acceptance.streams import promised
from tests.engines.local.answers.test_group_punctuations import Run, counting, fed, in_batches, rows, whole_groups
from tests.engines.local.answers.test_oracle import SCHEMA
from windrow.pipeline.graph import account_of, state_bytes
from windrow.plan.nodes import AggregateCall, Late, Lateness, Stream, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import External, Ordered, Policy, Punctuation, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Session

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
CALLS = (
    AggregateCall("n", "count"),
    AggregateCall("ids", "collect", Column("x")),
    AggregateCall("s", "sum", Column("x")),
)


SEEDS = range(20_000 if SOAK else 60)
"""Streams made for sessions: those of `tests.strategies` seldom have a row that belongs to a reported one."""


def around(chance: random.Random, gap: int, by: str | None = None) -> list[Any]:
    """Rows within some gaps of the bound of their group, on both sides, so that many belong to reported sessions."""
    bounds: dict[Any, int] = {None: 0}
    elements: list[Any] = []
    for i in range(chance.choice((6, 15, 30))):
        row: dict[str, Any] = {
            "ts": chance.randint(-3 * gap, 3 * gap),
            "k": chance.choice("ab"),
            "g": chance.randrange(2),
        }
        if chance.random() < 0.6:
            bound = max(bounds[None], bounds.get(row[by], 0) if by else 0)
            elements.append({**row, "ts": bound + row["ts"], "x": i, "y": None})
        else:
            group = row[by] if by and chance.random() < 0.5 else None
            bounds[group] = max(bounds.get(group, 0), bounds[None]) + chance.randint(1, 2 * gap)
            elements.append(Punctuation(bounds[group], None if group is None else (group,)))
    return elements


@dataclass
class Case:
    """A query over sessions of some groups and its stream, cut into pieces; some of them follow a restart."""

    seed: int

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.window = Session("ts", self.chance.randint(1, 12))
        by = self.chance.choice("kg")
        self.names = self.chance.choice(((by,), (by,), ("k", "g")))
        self.keys = tuple((name, Column(name)) for name in self.names)
        self.elements = around(self.chance, self.window.gap, by)
        self.spelled = whole_groups(self.elements, self.names, by)
        self.stream = Stream("s", SCHEMA, "ts", External(per=(by,)))

    def run(self, **settings: Any) -> Run:
        node = WindowAggregate(self.stream, self.window, self.keys, CALLS, **settings)
        pieces = list(in_batches(self.elements, self.chance.sample(range(30), 10)))
        return fed(node, pieces, self.chance.sample(range(len(pieces)), min(3, len(pieces))))

    def expected(self, **settings: Any) -> oracle.OracleAnswer:
        return oracle.answer(self.spelled, self.window, keys=self.keys, aggregates=CALLS, **settings)


def told(late: Sequence[dict[str, Any]]) -> list[Any]:
    names = ("x", "late_by", "late_windows", "late_from", "late_until")
    return sorted(tuple(row[name] for name in names) for row in late)


def missed(expected: oracle.OracleAnswer) -> list[Any]:
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


def test_late_rows_of_sessions() -> None:
    told_reported = 0
    for seed in SEEDS:
        case = Case(seed)
        emit, lateness = case.chance.choice((Emit.NONEMPTY, Emit.COMPLETE)), case.chance.choice([*Lateness])
        run, expected = case.run(emit=emit, late=Late.SIDE, lateness=lateness), case.expected(emit=emit)
        assert streams.comparable(expected.results) == streams.comparable(run.results), seed
        assert missed(expected) == told(run.late), seed
        assert expected.account == account_of(run.pipeline.ends[0], expected.account.rows_in)
        told_reported += sum(row["late_from"] != row["ts"] for row in run.late)
        if emit is not Emit.COMPLETE:
            check_laws(case.elements, case.window.gap, case.names, run.results, run.late)
    assert told_reported > len(SEEDS) / 3


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


def test_corrections_end_at_the_answer_with_the_late_rows_in_it() -> None:
    corrections = 0
    for seed in SEEDS:
        case = Case(seed)
        within = case.chance.randint(1, 60)
        run = case.run(late=Late.REVISE, within=Amount.of(within))
        expected = case.expected(late="revise", within=within)
        results = standing(run.results, case.names)
        corrections += len(run.results) - len(results)
        assert streams.comparable(expected.results) == streams.comparable(results), seed
        assert missed(expected) == told(run.late), seed
        assert expected.account == account_of(run.pipeline.ends[0], expected.account.rows_in)
        check_laws(case.elements, case.window.gap, case.names, results, run.late)
    assert corrections > len(SEEDS) / 3


def policy(chance: random.Random) -> tuple[Policy, int]:
    slack = chance.randint(0, 20)
    return chance.choice(((Slack(Amount.of(slack)), slack), (SlackRows(slack // 5), 0), (Ordered(), 0)))


def test_where_batches_are_cut_does_not_matter() -> None:
    for seed in SEEDS[::3]:
        chance = random.Random(seed)
        gap, (said, slack) = chance.randint(1, 12), policy(chance)
        given = [row for row in around(chance, gap) if not isinstance(row, Punctuation)]
        elements, keys = list(promised(given, said, slack)), (("g", Column("g")),)
        expected = oracle.answer(elements, Session("ts", gap), keys=keys, aggregates=CALLS)
        stream = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="ts", progress=said)
        asked = stream.group_by("g").window(gap=gap).agg(n=wr.count(), ids=wr.collect("x"), s=wr.sum("x")).late("side")
        sizes = (1, chance.randint(2, 9), 1 << 17)
        for result in (asked.run(batch_rows=size) for size in sizes):
            assert streams.comparable(expected.results) == streams.comparable(result.table.to_pylist()), seed
            assert missed(expected) == told(result.late.to_pylist()), seed
            check_laws(given, gap, ("g",), result.table.to_pylist(), result.late.to_pylist())
        corrected = [asked.late("revise", within=9).run(batch_rows=size) for size in sizes]
        assert all(corrected[0].table == result.table for result in corrected), seed
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
    assert 2 == account_of(run.pipeline.ends[0], 9).late


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
