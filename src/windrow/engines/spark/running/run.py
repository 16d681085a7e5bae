"""Run a plan on Spark to the end of its sources, and hand over everything it gives.

A stream's outcomes go to a ledger, a folder of Parquet files that Spark's own file sink writes exactly once; when the
run is over, the ledger holds the whole answer, whatever happened on the way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from windrow.durable.sealed_files import read_json, write_json
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.query.frames import BATCH_ROWS, Frames, Settings, frames_together
from windrow.engines.spark.running.checkpoint import GIVEN, METRICS, SPARK, claim, whole, working_folder
from windrow.engines.spark.running.logs import given_files, last
from windrow.engines.spark.running.observing import OBSERVED, Watch, metrics_of
from windrow.engines.spark.session.faults import clear_words
from windrow.engines.spark.session.own_thread import on_own_thread
from windrow.engines.spark.session.sessions import check, embedded
from windrow.errors import ConfigurationError
from windrow.operators.input.times import to_units
from windrow.operators.kernels.input import span
from windrow.pipeline.metrics import Metrics
from windrow.plan.checks.nodes import walk
from windrow.plan.nodes import Node, OrderedOutput, Stream
from windrow.plan.types.schema import in_order
from windrow.sharded.shard import Job
from windrow.sharded.wire import COUNTED, COUNTS, LATE, RESULT, batches_of, damaged, opened
from windrow.sources.base import Source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Deliver: TypeAlias = Callable[[pa.RecordBatch], None]
_LEDGER = "query int, kind int, time bigint, body binary"


@dataclass(frozen=True)
class Options:
    """How to run: rows a micro-batch, where the checkpoint is, the session (an embedded one unless given)."""

    batch_rows: int = BATCH_ROWS
    checkpoint: str | None = None
    restore: bool = False
    shards: int | None = None
    memory: str | None = None
    rate: float | None = None
    spark: SparkSession | None = None
    json_lines: str | None = None
    """Where to write the metrics of each micro-batch."""
    flush: str = Settings.flush
    flush_rows: int = Settings.flush_rows
    flush_windows: int = Settings.flush_windows
    flush_cells: int = Settings.flush_cells
    follow: bool = False
    """Hand over results as they come and never end a stream, until `stop` is set."""
    stop: Event = field(default_factory=Event, repr=False, compare=False)
    """Set to end the run early."""

    def check(self) -> None:
        for name in ("batch_rows", "shards", "rate"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigurationError("must be at least 1", parameter=name, value=value)
        if self.restore and not self.checkpoint:
            raise ConfigurationError("needs a folder", parameter="checkpoint", hint="give checkpoint='folder'")

    def settings(self, folder: Path) -> Settings:
        """What the frames of a run are told."""
        flush = {name: getattr(self, name) for name in ("flush", "flush_rows", "flush_windows", "flush_cells")}
        return Settings(self.batch_rows, rate=self.rate, spool=folder / "spool", **flush)

    def session(self) -> SparkSession:
        if self.spark is None:
            return embedded(shards=self.shards, memory=self.memory)
        check(self.spark)
        return self.spark


def run_together(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    deliveries: Sequence[tuple[Deliver, Deliver | None]],
    *,
    on_progress: Callable[[Metrics], None] | None = None,
    options: Options | None = None,
) -> tuple[list[Metrics], Metrics]:
    """Run plans over sources they share to the end, in one query of Spark: the metrics of each, and of all.

    Streams are drained and closed, static frames are read whole.
    """
    options = options or Options()
    options.check()
    found: dict[int, Metrics] = {}
    kinds = [_is_static(plan, sources) for plan in plans]
    for kind in dict.fromkeys(kinds):  # static frames are read whole, and all else is a stream
        places = [place for place, one in enumerate(kinds) if one is kind]
        each = _run([plans[i] for i in places], sources, [deliveries[i] for i in places], on_progress, options)
        found.update(zip(places, each, strict=True))
    each = [found[place] for place in range(len(plans))]
    return each, replace(reduce(Metrics.plus, each), elapsed=max(metrics.elapsed for metrics in each))


def _is_static(plan: Node, sources: Mapping[str, Source]) -> bool:
    used = [sources[node.name] for node in walk(plan) if isinstance(node, Stream)]
    return all(isinstance(source, FrameSource) and not source.is_streaming for source in used)


def _run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    deliveries: Sequence[tuple[Deliver, Deliver | None]],
    on_progress: Callable[[Metrics], None] | None,
    options: Options,
) -> list[Metrics]:
    started = time.perf_counter()
    names = {node.name for plan in plans for node in walk(plan) if isinstance(node, Stream)}
    sources = {name: source for name, source in sources.items() if name in names}
    given = [{RESULT: on_result, LATE: on_late or (lambda _: None)} for on_result, on_late in deliveries]
    with clear_words(), working_folder(options.checkpoint, restore=options.restore) as folder:
        spark = session_of(sources) or options.session()
        settings = options.settings(folder)

        def work() -> list[Metrics]:
            made = frames_together(spark, plans, sources, settings)
            if not made[0].outcomes.isStreaming:
                return _whole(made, given)
            run = _Streaming(spark, plans, sources, settings, folder, options, on_progress)
            if options.follow:
                return run.go_on(made, given)
            each = run.to_the_end(made)
            run.hand_over(made, given, each)
            return each

        each = on_own_thread(spark, work, options.stop)
    return [replace(metrics, elapsed=time.perf_counter() - started) for metrics in each]


def session_of(sources: Mapping[str, Source]) -> SparkSession | None:
    """The session that the query's DataFrames live in."""
    for source in sources.values():
        if isinstance(source, FrameSource):
            check(source.frame.sparkSession)
            return source.frame.sparkSession
    return None


def _whole(made: Sequence[Frames], deliveries: Sequence[dict[int, Deliver]]) -> list[Metrics]:
    rows = made[0].outcomes.orderBy("time").toArrow().to_pylist()
    each = []
    for frame, given in zip(made, deliveries, strict=True):
        mine = [row for row in rows if row["query"] == frame.query]
        counts = [row for row in mine if row["kind"] == COUNTS]
        deliver_in_order((row for row in mine if row["kind"] != COUNTS), given, frame.job.time, ties=_ties(frame.job))
        sums: dict[str, Any] = {name: sum(row[name] for row in counts) for name in COUNTED}
        told = next((row["sources"] for row in counts if row["sources"] is not None), "{}")
        each.append(metrics_of({"observedMetrics": {OBSERVED: {**sums, "sources": told}}}))
    return each


def _ties(job: Job) -> bool:
    """Whether results of equal time have an order, too."""
    return isinstance(job.divided.asked, OrderedOutput)


def deliver_in_order(
    rows: Iterable[Any], deliveries: dict[int, Deliver], time: str | None, *, ties: bool = False
) -> None:
    """Bodies that come in order of their first time, with the rows of those that overlap in order of theirs.

    Shards give results of the same windows side by side; a micro-batch gives later ones than the one before, so that
    no more than what one of them gave is held.
    """
    held: list[pa.RecordBatch] = []
    last: Any = None
    for row in rows:
        name = row["kind"], row["query"], row["time"]
        batches = list(batches_of(opened(bytes(row["body"]), name, "a result in its ledger")))
        if row["kind"] != RESULT or time is None:
            _hand_on(batches, deliveries[row["kind"]])
            continue
        if held and row["time"] > last:
            _hand_on(_sorted(held, time, ties), deliveries[RESULT])
            held = []
        held += batches
        last = max(int(span(to_units(batch.column(time)))[1]) for batch in held)
    _hand_on(_sorted(held, time, ties), deliveries[RESULT])


def _hand_on(batches: Iterable[pa.RecordBatch], deliver: Deliver) -> None:
    for batch in batches:
        deliver(batch)


def _sorted(batches: list[pa.RecordBatch], time: str | None, ties: bool) -> list[pa.RecordBatch]:
    if len(batches) < 2 or time is None:
        return batches
    table = pa.Table.from_batches(batches)
    return (in_order(table, time) if ties else table.sort_by(time)).combine_chunks().to_batches()


def _deliver(ledger: DataFrame, frame: Frames, given: dict[int, Deliver]) -> None:
    """What one query gave, in order."""
    rows = ledger.filter(f"query = {frame.query}").orderBy("time").toLocalIterator(prefetchPartitions=True)
    deliver_in_order(rows, given, frame.job.time, ties=_ties(frame.job))


class _Counting:
    """Hands batches on and counts their rows."""

    def __init__(self, deliver: Deliver) -> None:
        self.deliver = deliver
        self.rows = 0

    def __call__(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        self.deliver(batch)


class _Streaming:
    """One run of a streaming query, and of its end."""

    def __init__(
        self,
        spark: SparkSession,
        plans: Sequence[Node],
        sources: Mapping[str, Source],
        settings: Settings,
        folder: Path,
        options: Options,
        on_progress: Callable[[Metrics], None] | None,
    ) -> None:
        self.spark = spark
        self.plans = plans
        self.sources = sources
        self.settings = settings
        self.folder = folder
        self.options = options
        self.on_progress = on_progress
        self.told = folder / METRICS

    def to_the_end(self, made: Sequence[Frames]) -> list[Metrics]:
        """Drain; then, where the streams do not end by themselves, end them."""
        claim(self.folder, made[0], ledger=True)
        self._drain(made[0].outcomes)
        if any(isinstance(source, FrameSource) for source in self.sources.values()):
            closing = replace(self.settings, close=True)
            self._drain(frames_together(self.spark, self.plans, self.sources, closing)[0].outcomes)
        if not self.told.exists():
            return [Metrics() for _ in self.plans]
        with whole(self.folder):
            return [Metrics.from_dict(told) for told in read_json(self.told)["each"]]

    def go_on(self, made: Sequence[Frames], deliveries: Sequence[dict[int, Deliver]]) -> list[Metrics]:
        """Hand over what each micro-batch gave, until the run is stopped."""
        claim(self.folder, made[0], ledger=True)
        # Without a checkpoint nobody asks for what was given before, so that the ledger need not grow.
        growing = self._growing(made[0].outcomes, {} if self.options.checkpoint else {"retention": "1m"})
        query = growing.start()
        watch = self._watched(query)
        told, handed = watch.metrics, set[Path]()
        try:
            while not watch.has_ended():
                if watch.metrics is not told:
                    told = watch.metrics
                    handed = self._hand_over_new(made, deliveries, handed)
        finally:
            query.stop()
        return watch.each

    def _hand_over_new(
        self, made: Sequence[Frames], deliveries: Sequence[dict[int, Deliver]], handed: set[Path]
    ) -> set[Path]:
        """What is in files of the ledger that were not handed over yet; all files that were by now."""
        with whole(self.folder):
            found = set(given_files(self.folder / GIVEN, but=handed))
        new = found - handed
        if new:
            ledger = self.spark.read.schema(_LEDGER).parquet(*map(str, sorted(new)))
            for frame, given in zip(made, deliveries, strict=True):
                _deliver(ledger, frame, given)
        for path in () if self.options.checkpoint else new:
            path.unlink(missing_ok=True)
        return found

    def _growing(self, outcomes: DataFrame, options: Mapping[str, str]) -> DataStreamWriter:
        """The ledger as a sink of what the queries give."""
        given = outcomes.filter(f"kind <> {COUNTS}").select("query", "kind", "time", "body")
        return (
            given.writeStream.format("parquet")
            .outputMode("append")
            .options(**options)
            .option("path", str(self.folder / GIVEN))
            .option("checkpointLocation", str(self.folder / SPARK))
        )

    def _drain(self, outcomes: DataFrame) -> None:
        self._watched(self._growing(outcomes, {}).trigger(availableNow=True).start()).to_the_end()

    def _watched(self, query: StreamingQuery) -> Watch:
        watch = Watch(
            query,
            lambda metrics: self._told(metrics, watch),
            json_lines=self.options.json_lines,
            queries=len(self.plans),
            stop=self.options.stop,
        )
        return watch

    def _told(self, metrics: Metrics, watch: Watch) -> None:
        with whole(self.folder):
            write_json(self.told, {"batch": watch.batch, "each": [one.to_dict() for one in watch.each]})
        if self.on_progress is not None:
            self.on_progress(metrics)

    def hand_over(
        self, made: Sequence[Frames], deliveries: Sequence[dict[int, Deliver]], each: Sequence[Metrics]
    ) -> None:
        """Everything the ledger holds, which is as many results as the query gave."""
        ledger = self._ledger()
        for frame, given, metrics in zip(made, deliveries, each, strict=True):
            counting = _Counting(given[RESULT])
            if ledger is not None:
                _deliver(ledger, frame, {**given, RESULT: counting})
            if self._is_told() and counting.rows != metrics.results:
                raise damaged(f"its ledger has {counting.rows:,} of {metrics.results:,} results")

    def _is_told(self) -> bool:
        """Whether the metrics are of the last micro-batch; a run that was killed may have missed to write them."""
        return self.told.exists() and bool(read_json(self.told)["batch"] == last(self.folder / SPARK / "commits"))

    def _ledger(self) -> DataFrame | None:
        """A folder of the user's may have been moved since, so its files are found by their names."""
        folder = self.folder / GIVEN
        reader = self.spark.read.schema(_LEDGER)
        if self.options.checkpoint is None:
            return reader.parquet(str(folder))
        with whole(self.folder):
            files = given_files(folder)
        return reader.parquet(*map(str, files)) if files else None
