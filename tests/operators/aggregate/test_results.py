"""EMIT EMPTY: gaps longer than the query allows are refused by every algorithm, before anything is written."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_lead import CALLS, counted
from tests.engines.local.answers.test_oracle import KEYS, STREAM, Split, answer, strategies_for
from windrow.errors import DataError
from windrow.plan.nodes import Strategy, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, RowsWindow, SlideByTuple, Window

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
REFUSED = r"^`(EMIT EMPTY` must fill no|RANGE UNBOUNDED` must have no row that is) more than"


def strategies_of(window: Window) -> tuple[Strategy, ...]:
    return (Strategy.AUTO,) if isinstance(window, (RowsWindow, SlideByTuple)) else strategies_for(window)


@settings(max_examples=20_000 if SOAK else 150)
@given(data=st.data())
def test_gaps_are_refused_where_the_oracle_refuses_them(data: st.DataObject) -> None:
    partition = data.draw(st.sampled_from(((), ("k",))))
    window = data.draw(st.one_of(streams.windows(), counted(partition)))
    names = data.draw(KEYS) if not partition else ("k",)
    keys = tuple((name, Column(name)) for name in names)
    elements, most = data.draw(streams.elements(extremes=False)), data.draw(st.integers(1, 12))
    node = WindowAggregate(STREAM, window, keys, CALLS, emit=Emit.EMPTY, most_empty=most)
    asked: dict[str, Any] = {"keys": keys, "aggregates": CALLS, "emit": Emit.EMPTY, "most_empty": most}
    source = Split(elements, data.draw(st.sets(st.integers(0, 40))))
    try:
        expected = oracle.answer(elements, window, **asked)
    except DataError:
        for strategy in strategies_of(window):
            with pytest.raises(DataError, match=REFUSED):
                answer(replace(node, strategy=strategy), source)
        return
    for strategy in strategies_of(window):
        results, _, _ = answer(replace(node, strategy=strategy), source)
        assert streams.comparable(expected.results) == streams.comparable(results)


def asked(times: list[Any], **settings: Any) -> wr.Query:
    data = pa.table({"t": times, "k": ["a"] * len(times)})
    return wr.stream(data, time="t").group_by("k").window(**settings).agg(n=wr.count())


@pytest.mark.parametrize(
    ("strategy", "flush"),
    [
        ("panes", "eager"),
        ("panes", "slow"),
        ("panes", "lazy"),
        *((one, "eager") for one in ("wid", "adaptive", "buffer")),
    ],
)
def test_the_error_names_the_gap_and_the_ways_out(strategy: str, flush: str) -> None:
    query = asked([datetime(2024, 1, 1), datetime(9999, 12, 31)], range="1 min").emit("empty").strategy(strategy)
    with pytest.raises(DataError) as caught:
        query.run(flush=flush)
    assert (
        "`EMIT EMPTY` must fill no more than 1,000,000 windows between two rows of a group, "
        "got 4,194,969,119 empty ones, which end from 2024-01-01 00:02:00 to 9999-12-31 00:00:00, k = 'a'. "
        "Hint: where a wrong clock made the gap, LEAD 1 HOUR in CREATE STREAM (lead='1 h') sets its rows aside; "
        "to have them all, say EMIT EMPTY UP TO 4194969119 (emit('empty', most=4194969119))."
    ) == str(caught.value)


def test_a_row_of_a_wrong_clock_is_set_aside_and_the_others_are_filled() -> None:
    data = pa.table({"t": [1, 2, 10**12, 50]})
    stream = wr.stream(data, time="t", progress=wr.slack(5, lead=100))
    found = stream.window(range=10).agg(n=wr.count()).emit("empty").run()
    assert [2, 0, 0, 0, 0, 1] == found.table["n"].to_pylist()
    assert 1 == found.metrics.rows_early


def test_as_many_as_allowed_are_written() -> None:
    times = [0, 20]
    assert 21 == asked(times, range=1).emit("empty", most=19).collect().num_rows
    with pytest.raises(DataError, match=REFUSED):
        asked(times, range=1).emit("empty", most=18).collect()


def test_windows_of_other_groups_between_two_of_one_count_too() -> None:
    keys = ["a", *itertools.repeat("b", 9), "a"]
    data = pa.table({"t": list(range(11)), "k": keys})
    query = wr.stream(data, time="t").group_by("k").window(range=1, slide="1 rows").agg(n=wr.count())
    assert 11 + 9 == query.emit("empty", most=9).collect().num_rows
    with pytest.raises(DataError, match=REFUSED + r" 8 windows .* 9 empty .* 1 to 9, k = 'a'"):
        query.emit("empty", most=8).collect()


def landmark(times: list[Any], **settings: Any) -> wr.Query:
    return asked(times, range="unbounded", **settings)


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        ("panes", {}),
        ("panes", {"flush": "slow"}),
        ("panes", {"threads": 2}),
        ("panes", {"batch_rows": 1}),
        ("buffer", {}),
    ],
)
def test_landmark_windows_do_not_run_after_a_row_of_a_wrong_clock(strategy: str, options: dict[str, Any]) -> None:
    times = [datetime(2024, 1, 1), datetime(2024, 1, 1, 0, 5), datetime(9999, 12, 31)]
    with pytest.raises(DataError) as caught:
        landmark(times, slide="1 min").strategy(strategy).run(**options)
    assert (
        "`RANGE UNBOUNDED` must have no row that is more than 1,000,000 windows ahead of all before it, "
        "got 4,194,969,114 without a row of their own, which end from 2024-01-01 00:07:00 to 9999-12-31 00:00:00. "
        "Hint: where a wrong clock made the gap, LEAD 1 HOUR in CREATE STREAM (lead='1 h') sets its rows aside; "
        "to have them all, say EMIT EMPTY UP TO 4194969114 (emit('empty', most=4194969114))."
    ) == str(caught.value)


def test_landmark_windows_over_a_long_time_without_a_leap_are_reported() -> None:
    steps = [number * 600_000 for number in range(3)]
    assert 1_200_001 == landmark(steps, slide=1).collect().num_rows
    assert 1_500_002 == landmark([0, 1_500_001], slide=1).emit("empty", most=1_500_000).collect().num_rows
    with pytest.raises(DataError, match=REFUSED):
        landmark([0, 1_000_002], slide=1).run()
