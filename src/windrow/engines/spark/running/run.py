"""Run plans on Spark: streams to their end or for as long as they are followed, static frames as a whole.

What a micro-batch of a stream gave is handed over from the ledger when that micro-batch has ended. With an address to
write to, Spark writes, and nothing is handed over; late rows are a second query then, with a checkpoint of its own, so
that each sink is written exactly once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

from windrow.durable.sealed_files import read_json, write_json
from windrow.engines.base import INNER, within
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.engines.spark.connect.connectors import Output, writer
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.connect.kafka_messages import NAME
from windrow.engines.spark.query.frames import Frames, Settings, frames, goes_on, is_static
from windrow.engines.spark.running.checkpoint import (
    GIVEN,
    LATE_CHECKPOINT,
    METRICS,
    REJECTED_CHECKPOINT,
    SPARK,
    check_output,
    claim,
    shards_in,
    transaction_name,
    whole,
    working_folder,
)
from windrow.engines.spark.running.ledger import Deliver, SparkLedger, deliver_in_order, has_ties
from windrow.engines.spark.running.logs import last
from windrow.engines.spark.running.observing import OBSERVED, OnProgress, Watch, metrics_of
from windrow.engines.spark.running.rescale import INTERVAL, fill_gaps, log_of, rescale
from windrow.engines.spark.session.faults import clear_words
from windrow.engines.spark.session.own_thread import on_own_thread
from windrow.engines.spark.session.sessions import PARTITIONS, check, embedded
from windrow.errors import ConfigurationError
from windrow.physical.costs import Statistics
from windrow.pipeline.memory import bytes_of
from windrow.pipeline.metrics import Metrics
from windrow.plan.checks.nodes import gives_early
from windrow.plan.nodes import Node, Stream, walk
from windrow.sharded.wire import COUNTED, COUNTS, LATE, REJECTED, RESULT
from windrow.sources.base import Source
from windrow.sources.kafka.source import KafkaSource, check_client

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class SparkOptions(Settings):
    """How to run: where the checkpoint is, the session (an embedded one unless given)."""

    shards: int | None = None
    memory: str | None = None
    spark: SparkSession | None = None
    json_lines: str | None = None
    """Where to write the metrics of each micro-batch."""
    checkpoint: str | None = None
    restore: bool = False
    statistics: Statistics | None = None
    """Of the stream, to choose strategies by."""
    output: str | None = field(default=None, metadata=INNER)
    """An address that Spark itself writes results to; they are not handed over then."""
    late_output: str | None = field(default=None, metadata=INNER)
    rejected_output: str | None = field(default=None, metadata=INNER)
    once: bool = field(default=False, metadata=INNER)
    """Whether what goes to an address ends when what is there now has been read."""

    def check(self) -> None:
        for name in ("batch_rows", "shards", "max_shards", "rate"):
            value = getattr(self, name)
            if value is not None and not value >= 1:
                raise ConfigurationError("must be at least 1", parameter=name, value=value)
            if value is not None and value >= 1 << 62:
                raise ConfigurationError("must be below 2^62", parameter=name, value=value)
        if self.memory_budget is not None:
            bytes_of(self.memory_budget, "memory_budget")
        if self.spark is not None and not hasattr(self.spark, "version"):
            raise ConfigurationError("must be a session of Spark", parameter="spark", value=self.spark)
        if self.restore and not self.checkpoint:
            raise ConfigurationError("needs a folder", parameter="checkpoint", hint="give checkpoint='folder'")


def session_of(sources: Mapping[str, Source], options: SparkOptions) -> SparkSession:
    """The session that the query's DataFrames live in, else the one given, else an embedded one."""
    if any(isinstance(source, KafkaSource) for source in sources.values()):
        check_client()
    theirs = (source.frame.sparkSession for source in sources.values() if isinstance(source, FrameSource))
    spark = next(theirs, options.spark)
    if spark is None:
        return embedded(shards=options.shards, memory=options.memory)
    check(spark)
    return spark


def run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    receiver: Receiver,
    options: SparkOptions,
    requests: Requests,
) -> Outcome:
    """Run plans over sources they share: those over static frames in one query of Spark, all others in another.

    Streams are drained and closed unless they are followed, static frames are read whole.
    """
    found: dict[int, Metrics] = {}
    used = [{n.name: sources[n.name] for n in walk(plan) if isinstance(n, Stream)} for plan in plans]
    kinds = [all(map(is_static, own.values())) for own in used]
    for kind in dict.fromkeys(kinds):
        places = [place for place, one in enumerate(kinds) if one is kind]
        own = {name: source for place in places for name, source in used[place].items()}
        each = _run([plans[i] for i in places], own, within(receiver, places), options, requests)
        found.update(zip(places, each, strict=True))
        if requests.left:
            break
    each = [found.get(place, Metrics()) for place in range(len(plans))]
    return each, replace(reduce(Metrics.plus, each), elapsed=max(metrics.elapsed for metrics in each))


def _run(
    plans: Sequence[Node],
    sources: Mapping[str, Source],
    receiver: Receiver,
    options: SparkOptions,
    requests: Requests,
) -> list[Metrics]:
    started = time.perf_counter()
    with clear_words(), working_folder(options.checkpoint, restore=options.restore) as folder:
        spark = session_of(sources, options)
        settings = replace(options, spool=folder / "spool", max_shards=shards_in(folder, options.max_shards))
        moving = partial(_move_state, spark, sources, options, requests.stop) if options.restore else None

        def work() -> list[Metrics]:
            made = frames(spark, plans, sources, settings)
            framed = any(map(goes_on, sources.values()))
            if options.output is not None:
                (plan,) = plans
                now = options.once or not framed
                running = _started(made[0], sources, options, folder, moving, early=gives_early(plan), now=now)
                return [_watched(running, receiver.on_progress, options.json_lines, requests)]
            given = [_deliveries(receiver, query) for query in range(len(plans))]
            if not made[0].outcomes.isStreaming:
                return _whole(made, given)
            closing = partial(frames, spark, plans, sources, replace(settings, close=True)) if framed else None
            ledger = SparkLedger(spark, folder, made, given, keep=options.checkpoint is not None)
            return _Streaming(made, sources, closing, ledger, options, requests, receiver, moving).run()

        each = on_own_thread(spark, work, requests.stop)
    return [replace(metrics, elapsed=time.perf_counter() - started) for metrics in each]


def _started(
    made: Frames,
    sources: Mapping[str, Source],
    options: SparkOptions,
    folder: Path,
    moving: Moving | None,
    *,
    early: bool,
    now: bool,
) -> list[StreamingQuery]:
    """The queries that write to addresses; with `now` they end when all that is there has been read."""
    assert options.output is not None
    outputs = [(writer(made.results, options.output, early=early), folder / SPARK)]
    if options.late_output is not None:
        outputs.append((writer(made.late, options.late_output), folder / LATE_CHECKPOINT))
    if options.rejected_output is not None:
        outputs.append((writer(made.rejected, options.rejected_output), folder / REJECTED_CHECKPOINT))
    for output, checkpoint in outputs:
        if output.folder is not None:
            check_output(output.folder, checkpoint)
    claim(folder, made, sources, ledger=False)
    if moving is not None:
        for output, checkpoint in outputs:
            moving(checkpoint, partial(_once, output, checkpoint), output.folder)
    return [_start(output, checkpoint, now=now) for output, checkpoint in outputs]


def _start(output: Output, checkpoint: Path, *, now: bool) -> StreamingQuery:
    prepared = output.writer.option("checkpointLocation", str(checkpoint))
    if output.place.format == "kafka":
        prepared = prepared.option(NAME, transaction_name(checkpoint))
    return replace(output, writer=prepared.trigger(availableNow=True) if now else prepared).start()


def _once(output: Output, checkpoint: Path) -> StreamingQuery:
    """The one micro-batch that was begun and is not done."""
    prepared = output.writer.option("checkpointLocation", str(checkpoint)).trigger(once=True)
    return replace(output, writer=prepared).start()


Moving: TypeAlias = "Callable[[Path, Callable[[], StreamingQuery], str | None], None]"
"""Has the state of a checkpoint where this run wants it, before its query starts."""


def _move_state(
    spark: SparkSession,
    sources: Mapping[str, Source],
    options: SparkOptions,
    stop: Event,
    checkpoint: Path,
    once: Callable[[], StreamingQuery],
    files: str | None,
) -> None:
    """The number of shuffle partitions that was asked for, by an option or by the session that was given."""
    is_given = options.spark is not None or any(isinstance(source, FrameSource) for source in sources.values())
    chosen = spark.conf.get(PARTITIONS, None) if is_given else None
    wanted = options.shards if chosen is None else int(chosen)
    log = None if files is None else log_of(files, checkpoint, wanted)
    if wanted is not None:
        rescale(spark, checkpoint, wanted, once, stop)
    if log is not None:
        fill_gaps(checkpoint, log, int(spark.conf.get(INTERVAL, "10") or 10))


def _watched(
    running: list[StreamingQuery], on_progress: OnProgress | None, json_lines: str | None, requests: Requests
) -> Metrics:
    """To the end of all queries; a request to stop or the fault of one stops them all in good order."""
    first = Watch(running[0], on_progress, json_lines=json_lines, stop=requests.stop)
    watches = [first, *(Watch(query, stop=requests.stop) for query in running[1:])]
    try:
        while sum(not watch.has_ended() for watch in watches) and not requests.leaves():  # each is asked, each time
            requests.pulse.tick(busy=first.is_busy())
    finally:
        for query in running:
            query.stop()
    return first.metrics


def _deliveries(receiver: Receiver, query: int) -> dict[int, Deliver]:
    on_late = receiver.on_late
    return {
        RESULT: partial(receiver.on_result, query),
        LATE: partial(on_late, query) if on_late else lambda _: None,
        REJECTED: receiver.on_reject or (lambda _: None),
    }


def _whole(made: Sequence[Frames], deliveries: Sequence[Mapping[int, Deliver]]) -> list[Metrics]:
    rows = made[0].outcomes.orderBy("time").toArrow().to_pylist()
    each = []
    for frame, given in zip(made, deliveries, strict=True):
        mine = [row for row in rows if row["query"] == frame.query]
        counts = [row for row in mine if row["kind"] == COUNTS]
        rest = (row for row in mine if row["kind"] != COUNTS)
        deliver_in_order(rest, given, frame.job.time, ties=has_ties(frame.job))
        sums: dict[str, Any] = {name: sum(row[name] for row in counts) for name in COUNTED}
        sums["sources"] = next((row["sources"] for row in counts if row["sources"] is not None), "{}")
        each.append(metrics_of({"observedMetrics": {OBSERVED: sums}}))
    return each


@dataclass(frozen=True)
class _Streaming:
    """One run of a streaming query, and of its end."""

    made: Sequence[Frames]
    sources: Mapping[str, Source]
    closing: Callable[[], Sequence[Frames]] | None
    """Makes the query that ends the streams, where they do not end by themselves."""
    ledger: SparkLedger
    options: SparkOptions
    requests: Requests
    receiver: Receiver
    moving: Moving | None

    @property
    def folder(self) -> Path:
        return self.ledger.folder

    def run(self) -> list[Metrics]:
        """Follow where that is wanted; then drain and, where the streams do not end by themselves, end them."""
        claim(self.folder, self.made[0], self.sources, ledger=True)
        outcomes = self.made[0].outcomes
        if self.moving is not None:
            once = self.ledger.writer(outcomes).trigger(once=True)
            self.moving(self.folder / SPARK, once.start, str(self.folder / GIVEN))
        if self.requests.follow and self.closing is not None:
            self.ledger.hand_over()  # what was given before a restore: nothing may come for long
            self._hand_over_until_end(outcomes, follow=True)
        if not self.requests.left:
            self._hand_over_until_end(outcomes)
        if self.closing is not None and not self.requests.left:
            self._hand_over_until_end(self.closing()[0].outcomes)
        return self._checked()

    def _hand_over_until_end(self, outcomes: DataFrame, *, follow: bool = False) -> None:
        """Hand over what each micro-batch gave once it has ended; until the run is closed, or all is read."""
        prepared = self.ledger.writer(outcomes)
        query = (prepared if follow else prepared.trigger(availableNow=True)).start()
        watch = Watch(
            query,
            lambda metrics: self._note(metrics, watch),
            json_lines=self.options.json_lines,
            queries=len(self.made),
            stop=self.requests.stop,
        )
        handed = watch.batch
        try:
            while not watch.has_ended() and not ((follow and self.requests.close.is_set()) or self.requests.leaves()):
                self.requests.pulse.tick(busy=watch.is_busy())
                if watch.batch != handed:
                    handed = watch.batch
                    self.ledger.hand_over()
        except BaseException:
            with suppress(Exception):  # a JVM that is gone has nothing to stop
                query.stop()
            raise
        query.stop()
        watch.look()
        self.ledger.hand_over()

    def _note(self, metrics: Metrics, watch: Watch) -> None:
        with whole(self.folder):
            write_json(self.folder / METRICS, {"batch": watch.batch, "each": [one.to_dict() for one in watch.each]})
        if self.receiver.on_each is not None and len(watch.each) > 1:
            for query, one in enumerate(watch.each):
                self.receiver.on_each(query, one)
        if self.receiver.on_progress is not None:
            self.receiver.on_progress(metrics)

    def _checked(self) -> list[Metrics]:
        """The metrics of the last micro-batch, for which the ledger has as many results as were given.

        A run that was killed may have missed to write them; then nobody knows how many there should be.
        """
        path = self.folder / METRICS
        if not path.exists():
            return [Metrics() for _ in self.made]
        with whole(self.folder):
            noted = read_json(path)
        each = [Metrics.from_dict(one) for one in noted["each"]]
        if any(metrics.results for metrics in each):
            self.ledger.hand_over_from_afar()
        if noted["batch"] == last(self.folder / SPARK / "commits"):
            self.ledger.check([metrics.results for metrics in each])
        return each
