"""A query as DataFrames: its rows go in through the low level, shards do the rest, plain columns come out."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from windrow.engines.spark.control import end_class
from windrow.engines.spark.inputs import FrameSource
from windrow.engines.spark.keys import shard_keys
from windrow.engines.spark.low import Lowering
from windrow.engines.spark.native import native_panes, why_not_native
from windrow.engines.spark.processor import ShardProcessor, run_whole
from windrow.engines.spark.replay import Span, replay_class
from windrow.engines.spark.session import PARTITIONS
from windrow.engines.spark.shard import Job
from windrow.engines.spark.spool import spooled
from windrow.engines.spark.spread import Spread, spread
from windrow.engines.spark.types import for_spark, named, spark_schema
from windrow.engines.spark.watch import OBSERVED
from windrow.engines.spark.wire import BODIES, COUNTED, LATE, OUTCOMES, RESULT, batches_of
from windrow.engines.spark.worker import settle
from windrow.errors import UnsupportedError
from windrow.operators.lateness import late_columns
from windrow.plan.check import gives_early, shape_of
from windrow.plan.nodes import Node
from windrow.sinks.base import fitted
from windrow.sources.base import Element, Source
from windrow.sources.files import FileSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH_ROWS = 1 << 22
"""Rows of one micro-batch of a replayed source, unless the caller asks otherwise."""


@dataclass(frozen=True)
class Settings:
    """How a query runs on Spark."""

    batch_rows: int = BATCH_ROWS
    partitions: int | None = None
    """Tasks that read a micro-batch of a replayed source; as many as shards unless given."""
    rate: float | None = None
    close: bool = False
    """End the streams now, whatever may still come."""
    spool: Path | None = None
    """Where data in memory is put for the workers to read."""


@dataclass(frozen=True)
class Frames:
    """What a query gives on Spark: `outcomes` holds everything, the others are made of it."""

    job: Job
    outcomes: DataFrame

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

    def _decoded(self, kind: int, schema: pa.Schema) -> DataFrame:
        def decode(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            settle()
            for batch in batches:
                for body in batch.column("body"):
                    yield from (for_spark(piece, schema) for piece in batches_of(body.as_buffer()))

        return self.outcomes.filter(f"kind = {kind}").select("body").mapInArrow(decode, spark_schema(schema))


def frames(spark: SparkSession, plan: Node, sources: Mapping[str, Source], settings: Settings) -> Frames:
    """The query over these sources: a static DataFrame when all of them are static, else a streaming one."""
    divided = spread(plan)
    keys = (0,) if divided.one_shard else shard_keys_of(spark)
    shape = shape_of(plan)
    time = None if gives_early(plan) else shape.time  # what is given early and taken back keeps its order
    job = Job(divided, keys, shape.answer, late_columns(plan), time)
    given = [sources[branch.stream.name] for branch in divided.branches]
    static = [isinstance(source, FrameSource) and not source.is_streaming for source in given]
    if any(static) and not all(static):
        _refuse_mix(divided, static)
    lows = [
        _low(spark, Lowering(branch, place, keys, divided.own), source, settings)
        for place, (branch, source) in enumerate(zip(divided.branches, given, strict=True))
    ]
    if all(static):
        return Frames(job, _whole(job, _joined(lows)))
    if any(isinstance(source, FrameSource) for source in given):
        lows.append(_end(spark, job, given, settings))
    return Frames(job, _stateful(job, _joined(lows)))


def shard_keys_of(spark: SparkSession) -> tuple[int, ...]:
    """A shard for each shuffle partition."""
    return tuple(shard_keys(int(str(spark.conf.get(PARTITIONS)))))


def _joined(parts: list[DataFrame]) -> DataFrame:
    return reduce(lambda left, right: left.union(right), parts)


def _low(spark: SparkSession, lowering: Lowering, source: Source, settings: Settings) -> DataFrame:
    """The bodies of one stream."""
    columns = lowering.branch.stream.schema.names
    if isinstance(source, FrameSource) and not source.is_streaming and why_not_native(lowering.branch) is None:
        return native_panes(source.frame, lowering)
    if isinstance(source, FrameSource):
        return source.frame.select(*map(named, columns)).mapInArrow(_mapping(lowering), BODIES)
    if isinstance(source, FileSource):  # workers may have been started in another folder
        source = replace(source, files=tuple(path.absolute() for path in source.files))
    else:
        source = spooled(source, _spool_of(settings, lowering))
    return _replayed(spark, lowering, source.select(columns), settings)


def _mapping(lowering: Lowering) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    schema = lowering.branch.stream.schema

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        order = 0 if context is None else context.partitionId()
        return lowering.bodies((fitted(batch, schema) for batch in batches), order=order)

    return work


def _replayed(spark: SparkSession, lowering: Lowering, source: Source, settings: Settings) -> DataFrame:
    """The low level inside the reader: rows never pass through the JVM."""

    def work(elements: Iterator[Element], span: Span) -> Iterator[pa.RecordBatch]:
        return lowering.bodies(elements, order=span.first, ends=span.ends)

    name = f"windrow_{uuid4().hex}"
    partitions = settings.partitions or len(shard_keys_of(spark))
    made = replay_class(
        name, source, BODIES, work, batch_rows=settings.batch_rows, partitions=partitions, rate=settings.rate
    )
    spark.dataSource.register(made)
    return spark.readStream.format(name).load()


def _spool_of(settings: Settings, lowering: Lowering) -> Path:
    folder = settings.spool
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="windrow-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)  # the stream may be read as long as this lives
    return folder / f"{lowering.place}-{lowering.branch.stream.name}"


def _end(spark: SparkSession, job: Job, given: list[Source], settings: Settings) -> DataFrame:
    """The end of the streams that come as DataFrames, which do not tell it themselves."""
    places = [place for place, source in enumerate(given) if isinstance(source, FrameSource)]
    lowerings = [Lowering(job.spread.branches[place], place, job.shards) for place in places]
    name = f"windrow_end_{uuid4().hex}"
    spark.dataSource.register(end_class(name, lowerings, settings.close))
    return spark.readStream.format(name).load()


def _stateful(job: Job, bodies: DataFrame) -> DataFrame:
    from pyspark.sql import functions as sf

    shards = bodies.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=ShardProcessor(job), outputStructType=OUTCOMES, outputMode="Append", timeMode="None"
    )
    sums = [sf.sum(name).alias(name) for name in COUNTED]
    return shards.observe(OBSERVED, *sums, sf.max("sources").alias("sources"))


def _whole(job: Job, bodies: DataFrame) -> DataFrame:
    """Without streams there is no state: each shard gets all its bodies at once."""

    def work(key: Any, table: pa.Table) -> pa.Table:
        found = (body.as_buffer() for chunk in table.column("body").chunks for body in chunk)
        return pa.Table.from_batches([run_whole(job, key[0].as_py(), found)])

    return bodies.groupBy("shard").applyInArrow(work, OUTCOMES)


def _refuse_mix(divided: Spread, static: list[bool]) -> None:
    names = [branch.stream.name for branch, fixed in zip(divided.branches, static, strict=True) if fixed]
    raise UnsupportedError(
        "must all be streams or all be static on Spark",
        parameter="streams",
        value=f"{', '.join(names)} static, the others not",
        hint="read the static one as a stream with spark.readStream, or give its path",
    )
