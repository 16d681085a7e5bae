"""What a run tells about itself."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import windrow as wr
from tests.acceptance.streams import rows, table
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.physical.costs import Statistics
from windrow.pipeline.metrics import Metrics
from windrow.semantics.progress.policies import END, Punctuation

#        t   0   5  12   3  25  14  40
# bound  -   -   -   7  20  20  35     (slack 5; windows of 10 close at 10, 20, 30, 40)
TIMES = [0, 5, 12, 3, 25, 14, 40]


def metrics(query: wr.Query, **options: Any) -> Metrics:
    return query.run(**options).metrics


def stream(times: list[int] = TIMES, **settings: Any) -> wr.Query:
    data = pa.table({"t": pa.array(times, pa.int64()), "x": pa.array(range(len(times)), pa.int64())})
    return wr.stream(data, time="t", **{"progress": wr.slack(5), "name": "s", **settings})


def test_every_row_is_accounted_for() -> None:
    found = metrics(stream().where("x <> 1").window(range=10).agg(n=wr.count()))
    # 14 comes when 25 - 5 = 20 has closed its window; 3 is in time: 12 - 5 = 7 closes nothing.
    assert (7, 5, 1, 1) == (found.rows_in, found.rows_used, found.rows_late, found.rows_filtered)
    assert 4 == found.results


def test_watermarks_while_it_runs_and_after_the_end() -> None:
    seen: list[Metrics] = []
    query = stream().window(range=10).agg(n=wr.count())
    final = metrics(query, batch_rows=1, on_progress=seen.append)
    assert (None, 40) == (final.low_watermark, final.high_watermark)
    assert seen[-1].to_dict() == final.to_dict()
    assert (1, 0) == (seen[0].rows_in, seen[0].high_watermark)


def test_each_source_has_its_own_progress() -> None:
    both = stream().union(stream([100, 90, 120], name="other"))
    found = metrics(both.window(range=10).agg(n=wr.count()))
    assert {"s": (7, 40), "other": (3, 120)} == {name: (s.rows, s.high) for name, s in found.sources.items()}
    assert (10, 120) == (found.rows_in, found.high_watermark)


def test_the_source_that_holds_the_others_back() -> None:
    query = stream().union(stream([100], name="other")).window(range=10).agg(n=wr.count())
    runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=1))
    found = [runner.metrics().held_back_by]
    for name, time in (("s", 40), ("other", 100), ("s", 120)):
        runner.feed(name, pa.record_batch({"t": [time]}))
        runner.feed(name, Punctuation(time - 5))
        found.append(runner.metrics().held_back_by)
    runner.feed("other", Punctuation(END))
    assert [None, "other", "s", "other", "s"] == [*found, runner.metrics().held_back_by]
    assert {"s": False, "other": True} == {name: told.ended for name, told in runner.metrics().sources.items()}


def test_rows_of_a_union_are_filtered_once() -> None:
    both = stream().union(stream(name="other"), stream(name="third"))
    found = metrics(both.where("x <> 1").window(range=10).agg(n=wr.count()))
    assert (21, 3) == (found.rows_in, found.rows_filtered)
    assert found.rows_in == found.rows_used + found.rows_late + found.rows_filtered


def test_results_of_inner_windows_are_not_rows() -> None:
    inner = stream().window(range=10).agg(n=wr.count())
    found = metrics(inner.having("n > 1").window(range=20).agg(m=wr.count()))
    assert (7, 0) == (found.rows_in, found.rows_filtered)


def test_state_does_not_grow_with_the_rows() -> None:
    """Bounded aggregates keep cells of panes and groups, and let them go."""
    most = []
    for size in (1_000, 3_000):
        given = table(rows(3, size, step=1))
        stream = wr.stream(given, time="ts", progress=wr.slack(40)).group_by("k").window(range=40, slide=10)
        query = stream.agg(n=wr.count(), m=wr.max("x"))
        runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=50))
        sizes = []
        for name, element in runner._elements():
            runner.feed(name, element)
            sizes.append(runner.metrics().state_bytes)
        most.append(max(sizes))
    assert most[1] <= 2 * most[0]


def test_an_empty_stream() -> None:
    found = metrics(stream([]).window(range=10).agg(n=wr.count()))
    assert (0, 0, 0, None, None) == (
        found.rows_in,
        found.results,
        found.open_windows,
        found.low_watermark,
        found.high_watermark,
    )


def test_the_strategy_that_ran_and_why() -> None:
    rows = pa.table({"ts": [1, 2, 30], "k": ["a", "b", "a"]})
    query = wr.stream(rows, time="ts").group_by("k").window(range=10).agg(n=wr.count())
    measured = query.run(engine="local").metrics.strategies
    assert [["panes", "RANGE equals SLIDE: each window is one pane"]] == measured
    told = query.run(engine="local", statistics=Statistics(groups=1e5, rows=0.01)).metrics.strategies
    assert ["adaptive"] == [strategy for strategy, *_ in told]
    assert told[0][1].startswith("for 100,000 groups with 0.01 rows a pane it is estimated to take ")
