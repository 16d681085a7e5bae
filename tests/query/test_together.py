"""`wr.run` and `wr.explain` of several queries."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow as wr
from windrow.errors import ConfigurationError
from windrow.physical.costs import Statistics
from windrow.pipeline.metrics import Metrics
from windrow.plan.nodes import Strategy

ROWS = pa.table(
    {
        "time": pa.array([1, 12, 5, 30, 2, 41], pa.timestamp("s")),
        "symbol": ["a", "b", "a", "b", "a", "a"],
        "price": [3, 4, 5, 6, 7, 8],
    }
)


def trades(data: Any = ROWS) -> wr.Query:
    return wr.stream(data, time="time", progress=wr.slack("5 s"), name="trades")


def counted(stream: wr.Query, length: str, slide: str) -> wr.Query:
    return stream.group_by("symbol").window(range=length, slide=slide).agg(n=wr.count())


def test_each_query_gives_what_it_gives_alone() -> None:
    stream = trades()
    queries = [
        counted(stream, "20 s", "10 s"),
        counted(stream, "10 s", "5 s").late("side"),
        stream.where("price > 4").window(gap="5 s").agg(top=wr.max("price")),
        stream.select("time", "price"),
    ]
    found = wr.run(queries)
    assert len(queries) == len(found)
    for query, result in zip(queries, found, strict=True):
        alone = query.run(engine="local")
        assert alone.table == result.table
        assert alone.late == result.late
        told = result.metrics
        assert (alone.metrics.rows_used, alone.metrics.rows_late) == (told.rows_used, told.rows_late)
    assert {"trades": 6} == {name: source.rows for name, source in found.metrics.sources.items()}
    assert sum(result.metrics.rows_in for result in found) == found.metrics.rows_in
    assert found[1:2] == (found[1],)


def test_data_that_can_be_read_once_is_enough() -> None:
    batches = (batch for batch in ROWS.to_batches(max_chunksize=2))
    stream = wr.stream(batches, time="time", progress=wr.slack("5 s"), schema=ROWS.schema)
    one, other = wr.run([counted(stream, "20 s", "10 s"), counted(stream, "10 s", "10 s")])
    assert counted(trades(), "20 s", "10 s").collect() == one.table
    assert counted(trades(), "10 s", "10 s").collect() == other.table


def test_streams_of_one_name_with_other_data_are_read_apart() -> None:
    queries = [
        counted(trades(), "10 s", "10 s").late("side"),
        counted(trades(ROWS.slice(2)), "10 s", "10 s").late("side"),
    ]
    found = wr.run(queries)
    for query, result in zip(queries, found, strict=True):
        assert query.collect() == result.table
        assert query.run().late == result.late
    assert 10 == found.metrics.rows_in


def test_the_queries_of_a_text_run_together(tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "trades.parquet")
    text = f"""
        CREATE STREAM trades FROM '{tmp_path / "trades.parquet"}' PROGRESS ON time SLACK 5 SECONDS;
        SELECT symbol, count(*) AS n FROM trades [RANGE 20 SECONDS SLIDE 10 SECONDS WATTR time] GROUP BY symbol;
        SELECT symbol, max(price) AS top FROM trades [RANGE 10 SECONDS WATTR time] GROUP BY symbol;
    """
    queries = wr.script(text).queries
    assert [query.collect(engine="local") for query in queries] == [result.table for result in wr.run(queries)]


def test_a_run_together_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    stream = trades()
    queries = [counted(stream, "20 s", "10 s"), counted(stream, "10 s", "5 s").late("side")]
    whole = wr.run(queries, checkpoint=str(tmp_path), checkpoint_every=2, batch_rows=2)
    again = wr.run(queries, checkpoint=str(tmp_path), restore=True)
    assert [result.table for result in whole] == [result.table for result in again]
    assert [result.late for result in whole] == [result.late for result in again]
    message = (
        r"^`checkpoint` must be of the same query; this one has 'nothing more', got 'WindowAggregate' in .*\. "
        r"Hint: give each query a folder of its own\.$"
    )
    with pytest.raises(ConfigurationError, match=message):
        wr.run(queries[:1], checkpoint=str(tmp_path), restore=True)


@pytest.mark.parametrize(("queries", "value"), [([], "none"), (["SELECT 1"], "str")])
def test_only_queries_run_together(queries: list[Any], value: str) -> None:
    message = rf"^`queries` must be one or more queries.*{re.escape(value)}"
    with pytest.raises(wr.QueryError, match=message):
        wr.run(queries)
    with pytest.raises(wr.QueryError, match=message):
        wr.explain(queries)


def test_statistics_choose_for_every_query_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def run(plans: Any, *_: Any) -> tuple[list[Metrics], Metrics]:
        asked.extend(plan.strategy for plan in plans)
        return [Metrics() for _ in plans], Metrics()

    monkeypatch.setattr("windrow.engines.spark.running.run.run", run)
    queries = [counted(trades(), "10 s", "10 s"), counted(trades(), "20 s", "20 s")]
    wr.run(queries, engine="spark", statistics=Statistics(groups=1e5, rows=0.01))
    queries[0].run(engine="spark", statistics=Statistics(groups=1e5, rows=0.01))
    wr.run(queries, engine="spark")
    adaptive, auto = [Strategy.ADAPTIVE] * 3, [Strategy.AUTO] * 2
    assert [*adaptive, *auto] == asked


def test_explain_says_what_is_shared_and_what_is_not() -> None:
    stream = trades()
    queries = [
        counted(stream, "20 s", "10 s"),
        counted(stream, "15 s", "15 s"),
        counted(stream, "20 s", "10 s").late("side"),
        stream.window(range="10 s").agg(n=wr.count()),
    ]
    text = wr.explain(queries)
    assert [f"Query {number}" for number in range(1, 5)] == re.findall(r"^Query \d$", text, re.MULTILINE)
    shared = text.partition("\nShared\n")[2].splitlines()
    assert [
        "- queries 1, 2, 3 and 4 read trades once",
        "- the windows of queries 1 and 2 share panes of 5 s: each row goes into one, for all of them",
        "- query 3: no shared panes: LATE SIDE keeps the rows themselves",
        "- query 4: no shared panes: it groups by other keys",
    ] == shared


def test_explain_of_one_query_is_its_own() -> None:
    query = counted(trades(), "20 s", "10 s")
    assert query.explain() == wr.explain([query])
