"""A query as DataFrames: its rows go in through the low level, shards do the rest, plain columns come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from windrow.durable.temporary_folders import temporary_folder
from windrow.engines.base import INNER
from windrow.engines.spark.connect.end_of_stream import check_closing, end_class
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.connect.kafka_topics import Topic, topic_class
from windrow.engines.spark.connect.replay import Replay, replay_class
from windrow.engines.spark.query.native_panes import native_panes, why_not_native
from windrow.engines.spark.query.processor import ShardProcessor
from windrow.engines.spark.query.saved_shards import run_whole
from windrow.engines.spark.query.types import for_spark, named, spark_schema
from windrow.engines.spark.running.observing import OBSERVED, observed_as
from windrow.engines.spark.session.shard_count import keep_shard_count, shard_count, shard_keys
from windrow.engines.spark.session.worker import settle
from windrow.errors import UnsupportedError
from windrow.physical.how import EAGER, When, flush_of
from windrow.pipeline.memory import bytes_of, refuse_plain_rows
from windrow.plan.nodes import Node, Stream, walk
from windrow.sharded.bundle import Bundle, Reading, bundled
from windrow.sharded.pre_aggregate import PreAggregation, bodies_of
from windrow.sharded.shard import Job
from windrow.sharded.wire import BODIES, COUNTED, LATE, OUTCOMES, REJECTED, RESULT, batches_of, unsealed
from windrow.sinks.base import fitted
from windrow.sources.base import Element, Given, Source
from windrow.sources.files.file_source import FileSource
from windrow.sources.kafka.source import KafkaSource
from windrow.sources.rejects import REJECTS
from windrow.sources.replayed.spans import RowSpan
from windrow.sources.replayed.spool import spooled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Settings:
    """How a query runs on Spark."""

    batch_rows: int = 1 << 22
    """Of one micro-batch of a replayed source."""
    partitions: int | None = field(default=None, metadata=INNER)
    """Tasks that read a micro-batch of a replayed source; as many as shuffle partitions unless given."""
    max_shards: int | None = None
    """Into how many shards groups are divided for good, as many as shuffle partitions unless given; a run with a
    checkpoint may go on with any number of these up to it, each with some of the shards."""
    rate: float | None = None
    memory_budget: str | int | None = None
    """Kept rows of all shards beyond it go to the disk of the workers."""
    close: bool = field(default=False, metadata=INNER)
    """End the streams once all that is there has been read, whatever may still come."""
    spool: Path | None = field(default=None, metadata=INNER)
    """Where data in memory is put for the workers to read."""
    flush: str = EAGER.when.value
    """When closed windows are given: `slow` and `lazy` give those of `flush_rows` groups of a shard a micro-batch."""
    flush_rows: int = EAGER.rows
    flush_windows: int = EAGER.windows
    flush_cells: int = EAGER.cells


@dataclass(frozen=True)
class Frames:
    """What a query gives on Spark: `outcomes` holds everything, the others are made of it."""

    bundle: Bundle
    outcomes: DataFrame
    query: int = 0
    """Which of the queries that run together this is."""

    @property
    def job(self) -> Job:
        return self.bundle.jobs[self.query]

    @property
    def results(self) -> DataFrame:
        """The answer's columns."""
        return self._decoded(RESULT, self.job.answer)

    @property
    def late(self) -> DataFrame:
        """The late rows with what they missed."""
        if not len(self.job.late):
            raise UnsupportedError(
                "gives no late rows under LATE DROP", parameter="query", hint="say LATE SIDE, or late('side')"
            )
        return self._decoded(LATE, self.job.late)

    @property
    def rejected(self) -> DataFrame:
        """What no row could be made of, by the columns of `REJECTS`."""
        return self._decoded(REJECTED, REJECTS)

    def _decoded(self, kind: int, schema: pa.Schema) -> DataFrame:
        def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            settle()
            for batch in batches:
                for body in batch.column("body"):
                    yield from (for_spark(piece, schema) for piece in batches_of(unsealed(body.as_buffer())))

        mine = self.outcomes.filter(f"kind = {kind} and query = {self.query}")
        return mine.select("body").mapInArrow(decode, spark_schema(schema))


def frames(
    spark: SparkSession, plans: Sequence[Node], sources: Mapping[str, Source], settings: Settings
) -> list[Frames]:
    """Queries over the sources they share, all made of the same outcomes: static DataFrames when all of these are
    static, else streaming ones.
    """
    names = dict.fromkeys(node.name for plan in plans for node in walk(plan) if isinstance(node, Stream))
    static = [name for name in names if is_static(sources[name])]
    if static and len(static) < len(names):
        _refuse_mix(static)
    # Of static frames Spark itself makes the panes of each window.
    flush = flush_of(settings)
    panes = not static and flush.when is When.EAGER
    if not static:
        keep_shard_count(spark)
    bundle, readings = bundled(plans, shard_keys_of(spark, settings), panes=panes, flush=flush)
    if settings.memory_budget is not None:
        refuse_plain_rows(plans, "memory_budget")
        bundle = replace(bundle, memory=bytes_of(settings.memory_budget, "memory_budget"))
    lows = [low for reading in readings for low in _lows(spark, reading, sources, settings)]
    framed = [low for reading in readings for low in reading if isinstance(_source(low, sources), FrameSource)]
    if framed and not static:
        lows.append(_end(spark, framed, settings))
    bodies = reduce(lambda left, right: left.union(right), lows)
    outcomes = _whole(bundle, bodies) if static else _stateful(bundle, bodies)
    return [Frames(bundle, outcomes, query) for query in range(len(plans))]


def goes_on(source: Source) -> bool:
    """Whether it ends only when it is closed."""
    return isinstance(source, (FrameSource, KafkaSource))


def is_static(source: Source) -> bool:
    return isinstance(source, FrameSource) and not source.is_streaming


def _source(lowering: PreAggregation, sources: Mapping[str, Source]) -> Source:
    return sources[lowering.exchange.stream.name]


def shard_keys_of(spark: SparkSession, settings: Settings) -> tuple[int, ...]:
    """The shards that groups are divided into: a shard for each shuffle partition, unless a number was chosen."""
    return tuple(shard_keys(settings.max_shards or shard_count(spark)))


def _lows(
    spark: SparkSession, reading: Reading, sources: Mapping[str, Source], settings: Settings
) -> Iterator[DataFrame]:
    """The bodies of one stream."""
    source, columns = _source(reading[0], sources), reading[0].exchange.stream.schema.names
    if isinstance(source, FrameSource):
        native = [low for low in reading if not source.is_streaming and why_not_native(low.exchange) is None]
        yield from (native_panes(source.frame, low) for low in native)
        rest = tuple(low for low in reading if low not in native)
        if rest:
            yield source.frame.select(*map(named, columns)).mapInArrow(_mapping(rest), BODIES)
        return
    if isinstance(source, KafkaSource):
        yield _read_topic(spark, reading, source.select(columns), settings)
        return
    if isinstance(source, FileSource):  # workers may have been started in another folder
        source = replace(source, files=tuple(path.absolute() for path in source.files))
    else:
        source = spooled(source, _spool_of(settings, reading[0]))
    yield _replayed(spark, reading, source.select(columns), settings)


def _mapping(reading: Reading) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = reading[0].exchange.stream.schema

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        settle()
        context = TaskContext.get()
        order = 0 if context is None else context.partitionId()
        return bodies_of(reading, (fitted(batch, schema) for batch in batches), order=order)

    return work


def _replayed(spark: SparkSession, reading: Reading, source: Source, settings: Settings) -> DataFrame:
    """The low level inside the reader: rows never pass through the JVM."""

    def work(elements: Iterator[Element], span: RowSpan) -> Iterator[pa.RecordBatch]:
        settle()
        return bodies_of(reading, elements, order=span.first, numbers=(span.first, span.last), ends=span.ends)

    name = f"windrow_{uuid4().hex}"
    partitions = settings.partitions or shard_count(spark)
    replay = Replay(source, work, settings.batch_rows, partitions, settings.rate)
    spark.dataSource.register(replay_class(name, BODIES, replay))
    return spark.readStream.format(name).load()


def _read_topic(spark: SparkSession, reading: Reading, source: KafkaSource, settings: Settings) -> DataFrame:
    """The same, of a topic; a task for each partition."""

    def work(elements: Iterator[Given], order: int, ends: bool) -> Iterator[pa.RecordBatch]:
        settle()
        return bodies_of(reading, elements, order=order, ends=ends)

    name = f"windrow_kafka_{uuid4().hex}"
    topic = Topic(source, work, closes=settings.close or source.address.ends)
    spark.dataSource.register(topic_class(name, BODIES, topic))
    return spark.readStream.format(name).load()


def _spool_of(settings: Settings, lowering: PreAggregation) -> Path:
    folder = settings.spool or temporary_folder("spool")  # the stream may be read as long as this process lives
    query = lowering.to[0][0]
    return folder / f"{f'{query}-' if query else ''}{lowering.place}-{lowering.exchange.stream.name}"


def _end(spark: SparkSession, lowerings: list[PreAggregation], settings: Settings) -> DataFrame:
    """The end of the streams that come as DataFrames, which do not report it themselves."""
    if settings.close:
        check_closing(spark)
    name = f"windrow_end_{uuid4().hex}"
    spark.dataSource.register(end_class(name, lowerings, settings.close))
    return spark.readStream.format(name).load()


def _stateful(bundle: Bundle, bodies: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    shards = bodies.groupBy("shard").transformWithStateInPandas(
        ShardProcessor(bundle), spark_schema(OUTCOMES), outputMode="Append", timeMode="None"
    )
    observed = []
    for query in range(len(bundle.jobs)):
        own = sf.col("query") == query
        sums = [sf.sum(sf.when(own, sf.col(name))).alias(observed_as(name, query)) for name in COUNTED]
        observed += [*sums, sf.max(sf.when(own, sf.col("sources"))).alias(observed_as("sources", query))]
    return shards.observe(OBSERVED, *observed)


def _whole(bundle: Bundle, bodies: DataFrame) -> DataFrame:
    """Without streams there is no state: each shard gets all its bodies at once."""

    def work(key: Any, table: pa.Table) -> pa.Table:
        found = (body.as_buffer() for chunk in table.column("body").chunks for body in chunk)
        return pa.Table.from_batches([run_whole(bundle, key[0].as_py(), found)])

    return bodies.groupBy("shard").applyInArrow(work, spark_schema(OUTCOMES))


def _refuse_mix(static: Sequence[str]) -> None:
    raise UnsupportedError(
        "must all be streams or all be static on Spark",
        parameter="streams",
        value=f"{', '.join(static)} static, the others not",
        hint="read the static one as a stream with spark.readStream, or give its path",
    )
