"""Spark's own readers and writers, by address.

Topics of Kafka are written by `kafka_messages`, and read as `kafka_topics`. Options go to Spark as they are.

Lines of CSV and JSON that cannot be read end the query instead of turning into NULLs; `mode = 'PERMISSIVE'` is Spark's
own way. CSV has a header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from windrow.engines.spark.connect.addresses import Address, address
from windrow.engines.spark.query.types import arrow_schema, named, spark_schema
from windrow.errors import ConfigurationError
from windrow.sinks.base import only_appends
from windrow.sinks.kafka.sink import described
from windrow.sources.addresses import FILES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_READING: Mapping[str, Mapping[str, str]] = {
    "csv": {"header": "true", "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST"},
}
_WRITING: Mapping[str, Mapping[str, str]] = {"csv": {"header": "true"}}
_PLAIN = tuple(name for name in FILES if name != "delta")


def reader(spark: SparkSession, uri: str, schema: pa.Schema | None = None) -> DataFrame:
    """The stream at an address, with the declared columns where there are any, else those that are found."""
    place = check_source(uri)
    settings = {**_READING.get(place.format, {}), **place.options}
    stream = spark.readStream.options(**settings)
    if place.format == "table":
        return _narrowed(stream.table(place.target), schema)
    if place.format in ("rate", "delta"):  # these have columns of their own
        load = stream.format(place.format)
        return _narrowed(load.load(place.target) if place.target else load.load(), schema)
    folder, only = _folder_of(place.target)
    if schema is None:
        there = spark.read.options(inferSchema="true", **settings, **only).format(place.format).load(folder)
    columns = there.schema if schema is None else spark_schema(schema)
    return stream.options(**only).format(place.format).schema(columns).load(folder)


def check_source(uri: str) -> Address:
    """What an address stands for; one that cannot be read is refused without asking Spark."""
    place = address(uri, "source")
    if place.format in ("memory", "console"):
        raise ConfigurationError(
            "can only be written to", parameter="source", value=uri, hint="read a table, files, Kafka or rate:"
        )
    return place


def _folder_of(target: str) -> tuple[str, dict[str, str]]:
    """A folder to read as a stream; Spark takes a single file only as the one file of its folder with that name."""
    path = Path(target)
    if not path.is_file():
        return target, {}
    return str(path.parent), {"pathGlobFilter": re.sub(r"([\\*?\[\]{}])", r"\\\1", path.name)}


def _narrowed(frame: DataFrame, schema: pa.Schema | None) -> DataFrame:
    return frame if schema is None else frame.select(*(named(name) for name in schema.names))


_WHY = {
    "append": "a result is given once, when its window closes, and is never replaced",
    "update": "early results are replaced later",
}
"""Why results are written in an output mode."""


@dataclass(frozen=True)
class Output:
    """A writer that is set up but for its checkpoint and its trigger; `start` begins the query."""

    writer: DataStreamWriter
    place: Address
    spark: SparkSession

    @property
    def folder(self) -> str | None:
        """Where plain files are written; None where none are, or the table is yet to be made. Delta has its own log."""
        format, name = self.place.format, self.place.target
        if format != "table":
            return name if format in _PLAIN else None
        if not self.spark.catalog.tableExists(name):
            return None
        facts = {row.col_name: row.data_type for row in self.spark.sql(f"DESCRIBE EXTENDED {name}").collect()}
        return facts.get("Location") if facts.get("Provider", "").lower() in _PLAIN else None

    def start(self) -> StreamingQuery:
        if self.place.format == "kafka":  # a sink in Python is looked for in the session that is active in this thread
            self.spark.createDataFrame([], "made_active int")
        if self.place.format == "table":
            return self.writer.toTable(self.place.target)
        return self.writer.start(self.place.target) if self.place.format in FILES else self.writer.start()


def writer(frame: DataFrame, uri: str, *, early: bool = False) -> Output:
    """The way of a streaming DataFrame to an address: in append mode, early results in update mode."""
    place = address(uri, "output")
    settings = {**_WRITING.get(place.format, {}), **place.options}
    if early and place.format in ("table", *FILES):
        raise only_appends(uri)
    mode = "update" if early else "append"
    _check_output(place, uri, settings, mode)
    if place.format == "kafka":
        return _to_topic(frame, uri, place)
    stream = frame.writeStream.outputMode(mode).options(**settings)
    if place.format == "memory":
        stream = stream.queryName(place.target)
    return Output(stream if place.format == "table" else stream.format(place.format), place, frame.sparkSession)


def _to_topic(frame: DataFrame, uri: str, place: Address) -> Output:
    """Rows are sent by a Python sink; what replaces them later comes as more rows."""
    from windrow.engines.spark.connect.kafka_messages import TopicSending, writer_class

    sending = TopicSending(*described(uri, arrow_schema(frame.schema)))
    name = f"windrow_to_kafka_{uuid4().hex}"
    spark = frame.sparkSession
    spark.dataSource.register(writer_class(name, sending))
    return Output(frame.writeStream.outputMode("append").format(name), place, spark)


def _check_output(place: Address, uri: str, settings: dict[str, str], wanted: str) -> None:
    if place.format == "rate":
        raise ConfigurationError(
            "can only be read from", parameter="output", value=uri, hint="write to a table, files, Kafka or console:"
        )
    given = next((name for name in settings if name.lower() == "outputmode"), None)
    mode = settings.pop(given) if given else wanted
    if mode.lower() != wanted:
        raise ConfigurationError(
            f"must be {wanted}, because {_WHY[wanted]}",
            parameter="outputMode",
            value=mode,
            hint="leave it out; corrections of late rows come as rows of their own with LATE REVISE",
        )
