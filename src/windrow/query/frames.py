"""Queries as DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource
    from pyspark.sql.streaming.listener import StreamingQueryListener
    from pyspark.sql.streaming.query import StreamingQuery

    from windrow.engines.spark.query.frames import Frames
    from windrow.engines.spark.running.observing import Watch
    from windrow.pipeline.metrics import Metrics
    from windrow.query.fluent import Query

SETTINGS = (
    *("batch_rows", "partitions", "rate", "close", "memory_budget"),
    *("flush", "flush_rows", "flush_windows", "flush_cells"),
)


def make_frames(query: Query, spark: SparkSession | None, settings: Mapping[str, Any]) -> Frames:
    """The query on Spark: in the session of its DataFrames, else in the one given, else in an embedded one."""
    from windrow.engines.spark.session.prerequisites import check_packages

    check_packages()
    from windrow.engines.spark.query.frames import Settings, frames
    from windrow.engines.spark.running.run import SparkOptions, session_of

    for name in settings:
        if name not in SETTINGS:
            raise ConfigurationError("is not a setting of to_spark", parameter=name, allowed=SETTINGS)
    session = session_of(query.sources, SparkOptions(spark=spark))
    return frames(session, [query.plan], query.sources, Settings(**settings))[0]


def transform(query: str | Callable[[Query], Query], *, name: str = "input", **stream: Any) -> Callable[[Any], Any]:
    """A function for `DataFrame.transform`: the frame goes in as the stream `name`, the answer comes out as a frame.

    `query` is SQL text, or a function from the stream to a query; `stream` are options of `wr.stream`: `time`,
    `progress`, `idle`.
    """

    def apply(frame: DataFrame) -> DataFrame:
        from windrow.query.fluent import stream as make_stream
        from windrow.query.text import sql

        source = make_stream(frame, name=name, **stream)
        made = sql(query, **{name: source}) if isinstance(query, str) else query(source)
        return made.to_spark()

    return apply


def spark_session(*, shards: int | None = None, memory: str | None = None, **conf: str) -> SparkSession:
    """The running session, or the one that spark-submit gives, or an embedded one, set up for Windrow."""
    from windrow.engines.spark.session.prerequisites import check_packages

    check_packages()
    from windrow.engines.spark.session.sessions import embedded

    return embedded(shards=shards, memory=memory, **conf)


def spark_source() -> type[DataSource]:
    """The format `windrow` for `spark.dataSource.register`: replays a file or a recipe as a disordered stream."""
    from windrow.engines.spark.connect.format import WindrowSource

    return WindrowSource


def spark_listener(on_progress: Callable[[Metrics], None], json_lines: str | None = None) -> StreamingQueryListener:
    """A listener for `spark.streams.addListener` that reports the metrics of each micro-batch of Windrow's queries."""
    from windrow.engines.spark.running.observing import MetricsListener

    return MetricsListener(on_progress, json_lines)


def spark_watch(
    query: StreamingQuery, on_progress: Callable[[Metrics], None] | None = None, json_lines: str | None = None
) -> Watch:
    """Watches a running query on any kind of session: `to_the_end()` waits for it, `look()` reports what is new."""
    from windrow.engines.spark.running.observing import Watch

    return Watch(query, on_progress, json_lines)
