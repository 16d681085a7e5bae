"""Spark's own readers and writers, by address.

A message of Kafka holds a JSON object with the columns; the option `value` names one column instead, when writing, or
is `raw`, when reading, for the columns of Kafka itself. `key` names the column for the key. Other options go to Spark
as they are.

Lines of CSV and JSON that cannot be read end the query instead of turning into NULLs; `mode = 'PERMISSIVE'` is Spark's
own way. CSV has a header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.engines.spark.connect.addresses import Address, address
from windrow.engines.spark.query.types import named, spark_schema
from windrow.errors import ConfigurationError
from windrow.sinks.base import only_appends
from windrow.sources.addresses import FILES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
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
    place = check_source(uri, schema)
    settings = {**_READING.get(place.format, {}), **place.options}
    if place.format == "kafka":
        return _read_kafka(spark, place, settings, schema)
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


def check_source(uri: str, schema: pa.Schema | None) -> Address:
    """What an address stands for; one that cannot be read is refused without asking Spark."""
    place = address(uri, "source")
    if place.format in ("memory", "console"):
        raise ConfigurationError(
            "can only be written to", parameter="source", value=uri, hint="read a table, files, Kafka or rate:"
        )
    if place.format == "kafka":
        _check_kafka(place, place.options.get("value", "json"), schema)
    return place


def _check_kafka(place: Address, value: str, schema: pa.Schema | None) -> None:
    if value not in ("json", "raw"):
        raise ConfigurationError("must be known", parameter="value", value=value, allowed=("json", "raw"))
    if value == "json" and schema is None:
        raise ConfigurationError(
            "must have declared columns, because messages do not name theirs",
            parameter="source",
            value=f"kafka topic {place.target}",
            hint="declare them in CREATE STREAM, or set value = 'raw' for the columns of Kafka itself",
        )


def _folder_of(target: str) -> tuple[str, dict[str, str]]:
    """A folder to read as a stream; Spark takes a single file only as the one file of its folder with that name."""
    path = Path(target)
    if not path.is_file():
        return target, {}
    return str(path.parent), {"pathGlobFilter": re.sub(r"([\\*?\[\]{}])", r"\\\1", path.name)}


def _narrowed(frame: DataFrame, schema: pa.Schema | None) -> DataFrame:
    return frame if schema is None else frame.select(*(named(name) for name in schema.names))


def _read_kafka(spark: SparkSession, place: Address, settings: dict[str, str], schema: pa.Schema | None) -> DataFrame:
    value, mode = settings.pop("value", "json"), settings.pop("mode", "FAILFAST")
    messages = spark.readStream.format("kafka").options(**settings).option("subscribe", place.target).load()
    return _narrowed(messages, schema) if value == "raw" or schema is None else parsed(messages, schema, mode)


def parsed(messages: DataFrame, schema: pa.Schema, mode: str = "FAILFAST") -> DataFrame:
    """The columns inside the JSON objects of a column `value`."""
    from pyspark.sql import functions as sf

    row = sf.from_json(sf.col("value").cast("string"), spark_schema(schema), {"mode": mode})
    return messages.select(row.alias("row")).select("row.*")


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
        frame = as_messages(frame, settings.pop("value", None), settings.pop("key", None))
        settings["topic"] = place.target
    stream = frame.writeStream.outputMode(mode).options(**settings)
    if place.format == "memory":
        stream = stream.queryName(place.target)
    return Output(stream if place.format == "table" else stream.format(place.format), place, frame.sparkSession)


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


def as_messages(frame: DataFrame, value: str | None = None, key: str | None = None) -> DataFrame:
    """The rows as Kafka's key and value: JSON objects, or one column where it is named."""
    from pyspark.sql import functions as sf

    for option, name in (("value", value), ("key", key)):
        if name is not None and name not in frame.columns:
            raise ConfigurationError(
                "must be a column of the result", parameter=option, value=name, allowed=tuple(frame.columns)
            )
    body = sf.to_json(sf.struct(*map(named, frame.columns))) if value is None else _message(frame, value)
    keys = [] if key is None else [_message(frame, key).alias("key")]
    return frame.select(*keys, body.alias("value"))


def _message(frame: DataFrame, name: str) -> Column:
    is_binary = frame.schema[name].dataType.typeName() == "binary"
    return named(name) if is_binary else named(name).cast("string")
