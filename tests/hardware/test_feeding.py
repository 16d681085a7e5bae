"""Streams as elements, results as answers: what the contract of circuits makes of them is what the software gives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.hardware.reference import expected, result_words, stream_of
from windrow.engines.hardware.comparing import DIGITS
from windrow.engines.hardware.reading import read_whole
from windrow.engines.hardware.run import finish
from windrow.engines.hardware.sizing import sized
from windrow.engines.run import Requests
from windrow.errors import ConfigurationError, DataError
from windrow.hardware.answers import answer_of
from windrow.hardware.feeding import feed, promises_of
from windrow.hardware.planning.options import CircuitOptions
from windrow.hardware.planning.plan import AggregatePlan, asked_of, plan_circuit
from windrow.physical import nodes
from windrow.physical.make import make
from windrow.plan.columns import prune_together
from windrow.semantics.progress.policies import START, Ordered, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount

KINDS: Mapping[str, pa.DataType] = {"ts": pa.int64(), "k": pa.string(), "g": pa.int64(), "x": pa.int64()}
SCHEMA = pa.schema(KINDS)
PREDICATES = (None, "x > 0", "k = 'a' or g = 1", "k in ('a', 'b') and x is not null", "not (x < 2)")


def elements(draw: random.Random, *, punctuated: bool) -> list[Any]:
    now, promised, found = draw.choice((0, 1 << 50, -(1 << 50) - 7)), None, list[Any]()
    for _ in range(draw.randrange(90)):
        leaps = (100, 300) if punctuated else (1000, 1 << 20, 1 << 33)
        now += draw.choice((0, 1, 1, 2, 5, 40)) if draw.random() < 0.97 else draw.choice(leaps)
        at = now - draw.randrange(30)
        big = draw.choice((draw.randrange(-5, 6), None, (1 << 53) + 1))
        found.append({"ts": at, "k": draw.choice(("a", "b", "", None)), "g": draw.choice((0, 1, -5, None)), "x": big})
        if punctuated and draw.random() < 0.2:
            promised = max(at - 20 if promised is None else promised, at + draw.randrange(-20, 10))
            found.append(Punctuation(promised))
    return found


def random_query(seed: int) -> wr.Query:
    draw = random.Random(seed)
    policy = draw.choice(("slack", "rows", "ordered", "punctuated"))
    progress = {
        "slack": wr.slack(draw.randrange(40)),
        "rows": wr.slack(f"{draw.randrange(1, 9)} rows"),
        "ordered": wr.ordered(),
        "punctuated": wr.punctuated(),
    }[policy]
    given = elements(draw, punctuated=policy in ("punctuated", "rows"))
    given = given if policy == "punctuated" else [one for one in given if not isinstance(one, Punctuation)]
    query = wr.stream(given, time="ts", schema=SCHEMA, progress=progress, name="s")
    predicate = draw.choice(PREDICATES)
    query = query if predicate is None else query.where(predicate)
    window: dict[str, Any] = {
        "range": draw.randrange(1, 40),
        "slide": draw.randrange(1, 40),
        "origin": draw.randrange(-5, 9),
    }
    windows = query.group_by(*draw.choice(([], ["k"], ["g"], ["k", "g"]))).window(**window)
    made = windows.lateness(draw.choice(("generous", "consistent"))).agg(
        n=wr.count(), nx=wr.count("x"), s=wr.sum("x"), lo=wr.min("x"), hi=wr.max("x * 2 + 1"), a=wr.avg("x")
    )
    made = made.where("n > 1") if draw.random() < 0.3 else made
    return made.select("window_end", "a", twice="n * 2") if draw.random() < 0.3 else made


def run_model(query: wr.Query, **options: Any) -> tuple[list[dict[str, Any]], tuple[int, int, int]]:
    """The answer by the contract of circuits, and rows in, late and filtered."""
    asked = asked_of([query.plan])
    (read,) = (node for node in nodes.each(make(prune_together([query.plan]))) if isinstance(node, nodes.Read))
    whole = read_whole([read], query.sources, Requests())[0]["s"]
    plan = plan_circuit([query.plan], sized(asked, {"s": whole}, CircuitOptions(**options)))
    assert isinstance(plan, AggregatePlan)
    fed = feed(plan, whole.times, whole.promises, {name: whole.column(name) for name in plan.columns})
    truth = expected(plan.design, stream_of(plan.design, fed.elements))
    causes = np.array([*(place for place, *_ in truth.given), len(fed.elements) - 1])
    batches: list[pa.RecordBatch] = []
    answer = answer_of(plan, fed, result_words(plan.design, truth.given), causes)
    finish(plan.queries[0].rows, answer, batches.append)
    table, counters = pa.Table.from_batches(batches, query.schema), truth.counters
    return table.to_pylist(), (counters["rows"], counters["late"], counters["filtered"])


def plain(rows: list[dict[str, Any]]) -> list[str]:
    def short(value: Any) -> Any:
        return f"{value:.{DIGITS - 1}e}" if isinstance(value, float) else value

    return sorted(repr({name: short(value) for name, value in row.items()}) for row in rows)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_fed_gives_the_answer_of_the_software(seed: int) -> None:
    query = random_query(seed)
    software = query.run(engine="local")
    found, counts = run_model(query, time_width=random.Random(seed).choice((32, 40, 64)))
    assert plain(software.table.to_pylist()) == plain(found)
    assert (software.metrics.rows_in, software.metrics.rows_late, software.metrics.rows_filtered) == counts


def test_promises_come_before_the_rows_that_imply_them() -> None:
    """Of slack 2, on a grid of 5: the row 13 promises 10, and 31 promises 25 before it comes."""
    rows = pa.table({"ts": [3, 13, 9, 31]})
    query = wr.stream(rows, time="ts", progress=wr.slack(2), name="s").window(range=5).agg(n=wr.count())
    plan = plan_circuit([query.plan], CircuitOptions(time_unit=1))
    assert isinstance(plan, AggregatePlan)
    times = np.array([3, 13, 9, 31])
    fed = feed(plan, times, promises_of(Slack(Amount.of(2)), 2, times), {})
    found = fed.elements
    assert 0 == fed.start
    assert [3, 10, 13, 9, 25, 31, 25] == found.time.tolist()
    assert [0, 1, 0, 0, 1, 0, 1] == found.punctuation.tolist()
    assert [0, 0, 0, 0, 0, 0, 1] == found.last.tolist()


@pytest.mark.parametrize("policy", [Ordered(), Slack(Amount.of(7)), SlackRows(1), SlackRows(4)])
def test_promises_hold_what_the_policy_says(policy: Any) -> None:
    """Before a row stands what the rows before it imply, or more: never more than it, or its successors, keep to."""
    draw = random.Random(3)
    times = [draw.randrange(50) for _ in range(40)]
    slack = 7 if isinstance(policy, Slack) else 0
    known = [*bounds([*times, 0], policy, slack)]
    found = promises_of(policy, slack, np.array(times)).tolist()
    for place, time in enumerate(times):
        before, after = known[place], known[place + 1]
        assert max(before, min(after, time)) == found[place]


def test_a_leap_is_several_promises() -> None:
    """With 8 bits a promise may say 64 units at once."""
    query = (
        wr.stream(pa.table({"ts": [0]}), time="ts", progress=wr.ordered(), name="s").window(range=4).agg(n=wr.count())
    )
    plan = plan_circuit([query.plan], CircuitOptions(time_width=8, time_unit=1))
    assert isinstance(plan, AggregatePlan)
    times = np.array([0, 1000])
    fed = feed(plan, times, times, {})
    assert [0, *(64 * i % 256 for i in range(1, 16)), 1000 % 256, 1000 % 256, 1000 % 256] == fed.elements.time.tolist()
    with pytest.raises(ConfigurationError, match=r"\A`time_width` must have more bits: before row 1 the stream leaps"):
        feed(plan, np.array([0, 1 << 40]), np.array([0, 1 << 40]), {})


def test_nothing_but_the_end() -> None:
    query = (
        wr.stream(SCHEMA.empty_table(), time="ts", progress=wr.ordered(), name="s").window(range=4).agg(n=wr.count())
    )
    assert ([], (0, 0, 0)) == run_model(query)


def planned(**options: Any) -> AggregatePlan:
    query = wr.stream(SCHEMA.empty_table(), time="ts", progress=wr.ordered(), name="s")
    made = plan_circuit([query.group_by("k").window(range=4).agg(s=wr.sum("x")).plan], CircuitOptions(**options))
    assert isinstance(made, AggregatePlan)
    return made


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "width": (
        {"widths": {"x": 4}},
        {"x": [7, 8]},
        r"`x` must fit into 4 bits with a sign, got 8 in row 1\. Hint: .*--width x=64",
    ),
    "sign": ({"widths": {"x": 4}}, {"x": [None, -9]}, r"`x` must fit into 4 bits with a sign, got -9 in row 1\."),
    "null": (
        {"not_null": ("x",)},
        {"x": [1, None]},
        r"`x` must not be NULL: its field has no bit for that, got NULL in row 1\.",
    ),
    "string": ({}, {"k": ["a", "z"]}, r"`k` must be one of the strings of its dictionary, got z in row 1\."),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_that_do_not_fit(name: str) -> None:
    options, values, message = WRONG[name]
    columns = {"k": pa.array(values.get("k", ["a", "b"])), "x": pa.array(values.get("x", [1, 2]), pa.int64())}
    with pytest.raises(DataError, match=rf"\A{message}"):
        feed(planned(dictionaries={"k": ("a", "b")}, **options), np.array([1, 2]), np.array([START, 1]), columns)
