"""Metrics from the progress of micro-batches, in every form in which Spark gives it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from windrow.engines.run import Requests, Stopped
from windrow.engines.spark.running.observing import MetricsListener, Watch, metrics_of, observed
from windrow.engines.spark.running.run import _watched
from windrow.errors import ConfigurationError
from windrow.pipeline.metrics import Metrics, SourceMetrics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCES = {
    "trades": {"rows": 70, "high": 900, "low": 840},
    "quotes": {"rows": 30, "high": 700, "low": 640, "ended": False, "early": 2},
}
COUNTS = {
    "late": 5,
    "early": 2,
    "filtered": 20,
    "results": 12,
    "windows": 3,
    "bytes": 4096,
    "kept": 9,
    "raw": 180,
    "held": 12,
    "hits": 7,
    "misses": 2,
    "spilled": 5_000,
    "written": 6_000,
}
TOLD = {**COUNTS, "sources": json.dumps(SOURCES)}
EXPECTED = Metrics(
    rows_in=100,
    rows_used=73,
    rows_late=5,
    rows_early=2,
    rows_filtered=20,
    results=12,
    low_watermark=640,
    high_watermark=900,
    open_windows=3,
    state_bytes=4096,
    rows_kept=9,
    raw_bytes=180,
    kept_bytes=12,
    cache_hits=7,
    cache_misses=2,
    spilled_bytes=5_000,
    spilled_so_far=6_000,
    sources={"trades": SourceMetrics(70, 900, 840), "quotes": SourceMetrics(30, 700, 640, early=2)},
    held_back_by="quotes",
    batch_seconds=1.5,
)


def progress(batch: int = 0, told: Any = TOLD, name: str = "windrow") -> dict[str, Any]:
    """One entry of `recentProgress`, as JSON has it."""
    return {
        "id": "9e5c508d-013e-4b69-b3cd-dc6d1dc15887",
        "runId": "3c06200d-72c3-4e37-9dfb-1ff0bc350474",
        "name": None,
        "timestamp": "2024-01-01T00:00:00.000Z",
        "batchId": batch,
        "batchDuration": 1600,
        "durationMs": {"addBatch": 1400, "triggerExecution": 1500},
        "stateOperators": [],
        "sources": [],
        "sink": {"description": "MemorySink", "numOutputRows": 12},
        "observedMetrics": {name: told},
    }


def with_schema(told: dict[str, Any]) -> dict[str, Any]:
    """A row as Spark Connect writes it."""
    return {"values": list(told.values()), "schema": {"type": "struct", "fields": [{"name": name} for name in told]}}


def as_object(entry: dict[str, Any]) -> Any:
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    return StreamingQueryProgress.fromJson(entry)


@pytest.mark.parametrize("told", [TOLD, with_schema(TOLD)], ids=["plain", "with schema"])
def test_every_form_of_progress_says_the_same(told: dict[str, Any]) -> None:
    assert EXPECTED == metrics_of(progress(told=told))
    assert EXPECTED == metrics_of(as_object(progress(told=told)))


def test_a_progress_that_is_no_dict() -> None:
    entry = SimpleNamespace(observedMetrics={"windrow": TOLD}, durationMs={"triggerExecution": 1500})
    assert EXPECTED == metrics_of(entry)


def test_observations_alone_are_enough() -> None:
    found = metrics_of({"observedMetrics": {"windrow": TOLD}})
    assert (100, None) == (found.rows_in, found.batch_seconds)


@pytest.mark.parametrize("entry", [{}, progress(name="other"), progress(told=dict.fromkeys(TOLD))])
def test_a_progress_without_news(entry: dict[str, Any]) -> None:
    assert None is observed(entry)
    assert (0, None, {}) == (metrics_of(entry).rows_in, metrics_of(entry).low_watermark, metrics_of(entry).sources)


@pytest.mark.parametrize(
    ("low", "behind", "quotes"),
    [
        (None, "quotes", {"rows": 0, "high": None, "low": None}),
        (840, "trades", {"rows": 30, "high": 700, "low": None, "ended": True}),
    ],
)
def test_a_source_that_is_silent_or_has_ended(low: int | None, behind: str, quotes: dict[str, Any]) -> None:
    told = {**TOLD, "sources": json.dumps({**SOURCES, "quotes": quotes})}
    found = metrics_of(progress(told=told))
    assert (low, behind) == (found.low_watermark, found.held_back_by)


class FakeQuery:
    """A query that makes the given progress, one list a look."""

    def __init__(self, *looks: list[dict[str, Any]]) -> None:
        self.looks = list(looks)
        self.isActive = True
        self.status = {"isTriggerActive": False}

    @property
    def recentProgress(self) -> list[dict[str, Any]]:  # noqa: N802 - Spark's name
        return self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]

    def awaitTermination(self, timeout: float) -> bool:  # noqa: N802 - Spark's name
        return len(self.looks) == 1

    def stop(self) -> None:
        self.isActive = False


def watch(query: FakeQuery, *arguments: Any) -> Watch:
    ticks: Iterator[int] = iter(range(100))
    return Watch(cast(Any, query), *arguments, clock=lambda: float(next(ticks)))


def told_with(results: int) -> dict[str, Any]:
    return {**TOLD, "results": results}


def test_each_micro_batch_is_told_once_in_order() -> None:
    first, second, third = (progress(batch, told_with(batch * 10)) for batch in range(3))
    idle = progress(2, dict.fromkeys(TOLD))
    seen: list[Metrics] = []
    last = watch(
        FakeQuery([], [first, second], [first, second, idle], [second, third, third]), seen.append
    ).to_the_end()
    assert [0, 10, 20] == [metrics.results for metrics in seen]
    assert [1.0, 2.0, 3.0] == [metrics.elapsed for metrics in seen]
    assert seen[-1] is last


def test_a_line_for_each_micro_batch(tmp_path: Path) -> None:
    lines = tmp_path / "metrics.jsonl"
    for entries in ([progress(0)], [progress(1), progress(2)]):
        watch(FakeQuery(entries), None, lines).to_the_end()
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [0, 1, 2] == [line["batch"] for line in found]
    assert {
        "batch": 0,
        "timestamp": "2024-01-01T00:00:00.000Z",
        **EXPECTED.to_dict(),
        "elapsed": 1.0,
    } == found[0]


def test_lines_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "no" / "metrics.jsonl"
    pattern = (
        rf"^`json_lines` must be a file that can be written \(no such file or directory\), got {path}. "
        r"Hint: name a file in a folder that exists and that you may write to.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        watch(FakeQuery([]), None, path)


def test_a_query_ends_with_the_one_who_watches_it() -> None:
    def interrupt(metrics: Metrics) -> None:
        raise KeyboardInterrupt

    query = FakeQuery([progress()], [progress()])
    with pytest.raises(KeyboardInterrupt):
        watch(query, interrupt).to_the_end()
    assert not query.isActive


def test_a_query_ends_when_it_is_told_to_stop() -> None:
    stop = Event()
    stop.set()
    query = FakeQuery([progress()], [progress()])
    with pytest.raises(Stopped):
        Watch(cast(Any, query), stop=stop).to_the_end()
    assert not query.isActive
    assert Watch(cast(Any, FakeQuery([progress()])), stop=stop).has_ended()  # it came to its end before


def test_the_fault_of_any_query_of_a_live_run_ends_all() -> None:
    """Late rows are written by a query of their own; results do not go on without them."""

    class Broken(FakeQuery):
        def awaitTermination(self, timeout: float) -> bool:  # noqa: N802 - Spark's name
            raise OSError("no room for late rows")

    queries = [FakeQuery(*[[progress()]] * 9), Broken([progress()])]
    with pytest.raises(OSError, match=r"^no room for late rows$"):
        _watched(cast(Any, queries), None, None, Requests())
    assert [False, False] == [query.isActive for query in queries]


def test_queries_that_are_left_end_in_good_order() -> None:
    requests = Requests()
    requests.leave.set()
    queries = [FakeQuery(*[[progress()]] * 9), FakeQuery(*[[progress()]] * 9)]
    assert 100 == _watched(cast(Any, queries), None, None, requests).rows_in
    assert ([False, False], True) == ([query.isActive for query in queries], requests.left)


def test_one_micro_batch_is_busy_and_the_next_one_anew() -> None:
    query = FakeQuery([progress(0)], [progress(0)], [progress(1)])
    query.status = {"isTriggerActive": True}
    looked = watch(query)
    found = []
    for _ in range(3):
        looked.has_ended()
        found.append(looked.is_busy())
    assert [False, True, False] == found
    looked.look()
    assert looked.is_busy()
    query.status["isTriggerActive"] = False
    assert not looked.is_busy()


def observing(spark: SparkSession, folder: Path) -> DataFrame:
    """A stream of ten rows that observes what the engine would."""
    from pyspark.sql import functions as sf

    spark.range(10).write.parquet(str(folder))
    frame = spark.readStream.schema("id bigint").parquet(str(folder))
    sources = json.dumps({"s": {"rows": 10, "high": 9, "low": 4}})
    counts = [sf.count(sf.lit(1)).alias(name) for name in ("results", "windows", "bytes")]
    none = [sf.sum(sf.lit(0)).alias(name) for name in ("late", "filtered")]
    return frame.observe("windrow", *none, *counts, sf.max(sf.lit(sources)).alias("sources"))


def test_a_real_query(spark: SparkSession, tmp_path: Path) -> None:
    listened: list[Metrics] = []
    listener = MetricsListener(listened.append, tmp_path / "listened.jsonl")
    spark.streams.addListener(listener)
    try:
        writer = observing(spark, tmp_path / "in").writeStream.format("noop").queryName("watched")
        query = writer.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start()
        seen: list[Metrics] = []
        last = Watch(query, seen.append).to_the_end()
        assert [last] == seen
        assert (10, 10, 9, 4) == (last.rows_in, last.results, last.high_watermark, last.low_watermark)
        assert last.batch_seconds is not None
        _drain_listeners(spark)
    finally:
        spark.streams.removeListener(listener)
    assert [10] == [metrics.results for metrics in listened]
    assert {"watched": listened[0]} == listener.latest
    assert 1 == len((tmp_path / "listened.jsonl").read_text().splitlines())


def _drain_listeners(spark: SparkSession) -> None:
    """Events are delivered in order by another thread: wait until all that were posted have been."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
