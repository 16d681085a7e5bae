"""Runs that give windows in slices: the answer of the oracle, whatever the query, also after a restart."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.acceptance.streams import SCHEMA as PLAIN
from tests.acceptance.streams import outcome, rows, table
from tests.engines.local.answers.test_oracle import EMITS, KEYS, SCHEMA, STREAM, Split, answer, approximately
from tests.operators.low_levels import BOUNDED
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.errors import ConfigurationError, SumOverflowError
from windrow.plan.nodes import AggregateCall, Late, Lateness, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.scalars.expressions import Column

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
FLUSHES = ("slow", "lazy")
SMALL: dict[str, Any] = {"flush_rows": 1, "flush_cells": 2, "batch_rows": 7}


@settings(max_examples=10_000 if SOAK else 60)
@given(data=st.data())
def test_slices_give_the_answer_of_the_oracle(data: st.DataObject) -> None:
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks()))
    elements = data.draw(streams.elements(late=True))
    drawn = streams.calls(data.draw(streams.aggregate_lists(BOUNDED)))
    calls = [AggregateCall("n", "count"), *(AggregateCall(c.name, c.function, c.argument) for c in drawn)]
    calls = [call for call in calls if call.argument != Column("k")]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    node = WindowAggregate(STREAM, window, keys, tuple(calls), emit=emit, late=Late.SIDE, lateness=lateness)
    source = Split(elements, data.draw(st.sets(st.integers(0, 40))))
    flush: dict[str, Any] = {"flush": data.draw(st.sampled_from(FLUSHES)), "flush_rows": data.draw(st.integers(1, 3))}
    try:
        expected = oracle.answer(
            elements, window, keys=keys, aggregates=calls, emit=emit, late="side", lateness=lateness.value
        )
    except SumOverflowError:
        with pytest.raises(SumOverflowError):
            answer(node, source, **flush)
        return
    results, late, metrics = answer(node, source, **flush, flush_cells=data.draw(st.sampled_from((1, 4, 64))))
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
        approximately(results, calls)
    )
    account = expected.account
    assert (account.used, account.late, account.rows_in) == (metrics.rows_used, metrics.rows_late, metrics.rows_in)
    assert streams.comparable({n: row[n] for n in SCHEMA.names} for row, _, _ in expected.missed) == streams.comparable(
        {n: row[n] for n in SCHEMA.names} for row in late
    )


def stream(seed: int, size: int = 200, **options: Any) -> wr.Query:
    return wr.stream(table(rows(seed, size)), time="ts", **{"progress": wr.slack(12), **options})


def counted(query: wr.Query, **window: Any) -> wr.Query:
    return query.group_by("k").window(**window).agg(n=wr.count(), most=wr.max("x"))


def groups_alone() -> wr.Query:
    """Some promises are for one group, while windows of all wait to be given."""
    given: list[Any] = []
    for i, row in enumerate(rows(4, 150)):
        given.append(row)
        if i % 5 == 0:
            given.append(Punctuation(-600 + 8 * i, ("a",) if i % 2 else None))
    return wr.stream(given, time="ts", progress=wr.punctuated(per="k"), schema=PLAIN)


QUERIES: dict[str, Any] = {
    "windows over windows": lambda: counted(stream(1), range=20, slide=10).window(range=40).agg(n=wr.sum("n")),
    "medians over windows": lambda: counted(stream(1), range=20).window(range=40).agg(m=wr.median("n")),
    "union": lambda: counted(stream(2, idle=20).union(stream(3, idle=20)), range=30, slide=10),
    "groups alone": lambda: counted(groups_alone(), range=20, slide=10).late("side"),
    "groups alone, landmark": lambda: counted(groups_alone(), range="unbounded", slide=40).late("side"),
    "distinct results": lambda: counted(stream(5), range=20).select("window_end", "n").distinct(),
    "empty": lambda: counted(stream(6), range=10).emit("empty"),
    "complete": lambda: counted(stream(7), range=30, slide=10).emit("complete"),
    "no groups": lambda: stream(8).window(range=25, slide=10).agg(n=wr.count()),
}


@pytest.mark.parametrize("flush", FLUSHES)
@pytest.mark.parametrize("name", QUERIES)
def test_whatever_the_query_the_answer_is_the_same(name: str, flush: str) -> None:
    expected = outcome(QUERIES[name](), batch_rows=7)
    for windows in (1, 3):
        assert expected == outcome(QUERIES[name](), flush=flush, flush_windows=windows, **SMALL)


@pytest.mark.parametrize("flush", FLUSHES)
@pytest.mark.parametrize("name", ["windows over windows", "union", "groups alone", "empty", "complete"])
def test_a_run_goes_on_from_its_last_checkpoint(name: str, flush: str, tmp_path: Path) -> None:
    """Every run takes up from the last one, takes three elements more, writes a checkpoint and is gone."""
    expected = outcome(QUERIES[name](), batch_rows=7)
    options = LocalOptions(flush=flush, **SMALL, checkpoint=str(tmp_path), checkpoint_every=1, restore=True)
    for _ in range(4):
        query = QUERIES[name]()
        runner = Runner(query.plan, query.sources, options)
        runner.deliver(lambda _: None, lambda _: None)
        for (source, element), _ in zip(runner._elements(), range(3), strict=False):
            runner.feed(source, element)
            runner.save()
    last = outcome(QUERIES[name](), **{**vars(options)})
    assert expected == last


def test_metrics_tell_of_stalls_and_of_what_waits() -> None:
    query = counted(wr.stream([], time="ts", progress=wr.punctuated(), schema=PLAIN), range=10)
    runner = Runner(query.plan, query.sources, LocalOptions(flush="slow", flush_rows=1, flush_cells=1))
    given = [{"ts": 1, "k": k, "x": 1} for k in "abcd"]
    runner.feed("stream", pa.RecordBatch.from_pylist(given, PLAIN))
    assert (0, 3) == (runner.metrics().results_waiting, runner.metrics().cells_evicted)
    runner.feed("stream", Punctuation(10))
    assert (4, 0) == (runner.metrics().results_waiting, runner.metrics().results)
    for left in (3, 2, 1, 0, 0):
        runner.feed("stream", Punctuation(10))
        assert left == runner.metrics().results_waiting
    assert 4 == runner.metrics().results
    assert (runner.metrics().longest_stall or 0.0) > 0.0


def test_a_way_to_flush_that_there_is_not_is_refused() -> None:
    pattern = r"\A`flush` must be a way to flush \(one of eager, slow, lazy\), got never\.\Z"
    with pytest.raises(ConfigurationError, match=pattern):
        stream(1).window(range=10).agg(n=wr.count()).collect(flush="never")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (lambda: stream(1).window(range=10).agg(m=wr.median("x")), r"median\(x\) keeps values"),
        (lambda: stream(1).where("x > 0"), "the query has no windows"),
    ],
)
def test_a_query_without_windows_to_smooth_is_refused(query: Any, reason: str) -> None:
    pattern = rf"\A`flush` has nothing to smooth: {reason}, got slow\. Hint: leave it out, or say eager\.\Z"
    with pytest.raises(ConfigurationError, match=pattern):
        query().collect(flush="slow")
