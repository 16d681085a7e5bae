"""Aggregates of one's own, from SQL and from Python, give the same as brute force under every strategy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance.streams import promised, rows, table
from tests.strategies import comparable
from windrow.plan.nodes import AggregateCall
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import Slack
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, Session, Sliding, Window


class Spread(wr.UserAggregate):
    """The greatest less the least value: cannot be subtracted."""

    name = "test_spread"
    result = pa.int64()

    def lift(self, values: Any) -> Any:
        return values, values

    def combine(self, left: Any, right: Any) -> Any:
        return np.minimum(left[0], right[0]), np.maximum(left[1], right[1])

    def finish(self, state: Any, parameters: tuple[Any, ...]) -> Any:
        return state[1] - state[0]


class RootMeanSquare(wr.UserAggregate):
    """The root of the mean square times a factor, which is a parameter."""

    name = "test_root_mean"
    result = pa.float64()
    parameter_names = ("factor",)

    def lift(self, values: Any) -> Any:
        return values.astype(np.int64) ** 2, np.ones(len(values), np.int64)

    def combine(self, left: Any, right: Any) -> Any:
        return left[0] + right[0], left[1] + right[1]

    def finish(self, state: Any, parameters: tuple[Any, ...]) -> Any:
        return parameters[0] * np.sqrt(state[0] / state[1])


wr.register(Spread())
wr.register(RootMeanSquare())

WINDOWS: dict[str, tuple[Window, dict[str, Any], str]] = {
    "sliding": (Sliding("ts", 30, 10), {"range": 30, "slide": 10}, "RANGE 30 SLIDE 10 WATTR ts"),
    "uneven": (Sliding("ts", 25, 10), {"range": 25, "slide": 10}, "RANGE 25 SLIDE 10 WATTR ts"),
    "landmark": (Landmark("ts", 50), {"range": "unbounded", "slide": 50}, "RANGE UNBOUNDED SLIDE 50 WATTR ts"),
    "session": (Session("ts", 8), {"gap": 8}, "GAP 8 WATTR ts"),
}
GIVEN = rows(21, 250)
SLACK = Slack(Amount.of(12))


def brute_force(window: Window) -> list[tuple[Any, ...]]:
    """From the collected values of each window."""
    call = AggregateCall("all", "collect", Column("x"))
    keys = (("k", Column("k")),)
    found = oracle.answer(list(promised(GIVEN, SLACK, 12)), window, keys=keys, aggregates=[call]).results
    return comparable(
        {name: value for name, value in row.items() if name != "all"} | _by_hand(row["all"]) for row in found
    )


def _by_hand(values: list[int]) -> dict[str, Any]:
    if not values:
        return {"spread": None, "size": None}
    size = 2.0 * math.sqrt(sum(v * v for v in values) / len(values))
    return {"spread": max(values) - min(values), "size": size}


def stream() -> wr.Query:
    return wr.stream(table(GIVEN), time="ts", progress=SLACK, name="s")


def strategies(window: str) -> list[str]:
    return {"session": ["auto"], "landmark": ["panes", "buffer"]}.get(window, ["panes", "wid", "buffer"])


@pytest.mark.parametrize("window", WINDOWS)
def test_from_python(window: str) -> None:
    kind, settings, _ = WINDOWS[window]
    asked = stream().group_by("k").window(**settings)
    query = asked.agg(spread=wr.aggregate("test_spread", "x"), size=wr.aggregate("test_root_mean", "x", 2.0))
    expected = brute_force(kind)
    for strategy in strategies(window):
        for batch_rows in (9, 1 << 17):
            found = query.strategy(strategy).collect(batch_rows=batch_rows).to_pylist()
            assert expected == comparable(found)


@pytest.mark.parametrize("window", WINDOWS)
def test_from_sql(window: str) -> None:
    kind, _, clause = WINDOWS[window]
    text = f"SELECT k, test_spread(x) AS spread, test_root_mean(x, 2.0) AS size FROM s [{clause}] GROUP BY k"
    assert brute_force(kind) == comparable(wr.sql(text, s=stream()).collect().to_pylist())


def test_with_revisions() -> None:
    query = stream().group_by("k").window(range=30, slide=10).agg(spread=wr.aggregate("test_spread", "x"))
    last: dict[Any, Any] = {}
    for row in query.late("revise", within=1000).collect().sort_by("revision").to_pylist():
        last[row["k"], row["window_end"]] = row["spread"]
    plain = wr.stream(table(GIVEN), time="ts").group_by("k").window(range=30, slide=10)
    whole = plain.agg(spread=wr.aggregate("test_spread", "x")).collect().to_pylist()
    assert {(row["k"], row["window_end"]): row["spread"] for row in whole} == last


def test_a_built_in_cannot_be_replaced() -> None:
    class Mine(Spread):
        name = "sum"

    with pytest.raises(
        wr.ConfigurationError,
        match=r"\A`sum` is a built-in aggregate and cannot be replaced\. Hint: give yours another name\.\Z",
    ):
        wr.register(Mine())


def test_the_parameters_are_counted() -> None:
    with pytest.raises(
        wr.QueryError,
        match=r"\A`test_root_mean` takes 1 parameter\(s\) besides its column, got 0\. "
        r"Hint: write test_root_mean\(column, factor\)\.\Z",
    ):
        stream().window(range=1).agg(size=wr.aggregate("test_root_mean", "x"))
