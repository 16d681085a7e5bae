"""Huge, negative and sparse values of the progressing attribute."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.acceptance.streams import promised
from tests.strategies import comparable
from windrow.plan.nodes import AggregateCall
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import Slack
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Session, Sliding, Window

CALLS = (
    AggregateCall("n", "count"),
    AggregateCall("total", "sum", Column("x")),
    AggregateCall("most", "max", Column("x")),
    AggregateCall("middle", "median", Column("x")),
)
SPARSE = [-(1 << 60), -(1 << 50) - 3, -7, 0, 5, 1 << 50, (1 << 50) + 9, (1 << 60) - 1, 12, 1 << 60]


def answers(times: list[int], strategy: str, **settings: Any) -> list[Any]:
    data = pa.table({"ts": pa.array(times, pa.int64()), "x": pa.array(range(len(times)), pa.int64())})
    query = wr.stream(data, time="ts", progress=wr.slack(4)).window(**settings)
    asked = query.agg(n=wr.count(), total=wr.sum("x"), most=wr.max("x"), middle=wr.median("x")).strategy(strategy)
    found = [comparable(asked.collect(batch_rows=size).to_pylist()) for size in (1, 3, 100)]
    assert [found[0]] * 3 == found
    return found[0]


def expected(times: list[int], window: Window) -> list[Any]:
    rows = [{"ts": t, "x": i} for i, t in enumerate(times)]
    return comparable(oracle.answer(list(promised(rows, Slack(Amount.of(4)), 4)), window, aggregates=CALLS).results)


@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer"])
def test_times_far_apart_do_not_cost_the_windows_between(strategy: str) -> None:
    window = Sliding("ts", 10, 4)
    assert expected(SPARSE, window) == answers(SPARSE, strategy, range=10, slide=4)


def test_sessions_far_apart() -> None:
    assert expected(SPARSE, Session("ts", 6)) == answers(SPARSE, "auto", gap=6)


@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer"])
@pytest.mark.parametrize("base", [-(1 << 60), (1 << 60) - 200, -100, 1_700_000_000_000_000])
def test_huge_and_negative_times(base: int, strategy: str) -> None:
    times = [base + t for t in (0, 7, 3, 30, 29, 90, 80, 100)]
    assert expected(times, Sliding("ts", 20, 5)) == answers(times, strategy, range=20, slide=5)


@pytest.mark.parametrize("value", [1 << 61, -(1 << 61), (1 << 63) - 1])
def test_times_beyond_reach_are_refused(value: int) -> None:
    with pytest.raises(
        wr.DataError,
        match=rf"\A`ts` must lie within 2\^61 units of zero, got {value}\. Hint: check the unit of the column\.\Z",
    ):
        answers([0, value], "auto", range=10)


@pytest.mark.parametrize(("unit", "factor"), [("s", 1_000_000), ("ms", 1_000), ("us", 1)])
def test_timestamps_of_any_unit(unit: Any, factor: int) -> None:
    data = pa.table({"ts": pa.array([-1, 0, 59, 61], pa.timestamp(unit))})
    found = wr.stream(data, time="ts").window(range=f"{60 * factor} us").agg(n=wr.count()).collect()
    assert [0, 60 * factor, 120 * factor] == found["window_end"].cast(pa.int64()).to_pylist()
    assert [1, 2, 1] == found["n"].to_pylist()


def test_nanoseconds_that_are_whole_microseconds() -> None:
    data = pa.table({"ts": pa.array([-1000, 0, 0, 1000], pa.timestamp("ns"))})
    found = wr.stream(data, time="ts").window(range="1 us").agg(n=wr.count()).collect()
    assert [1, 2, 1] == found["n"].to_pylist()
