"""DataFrames as sources of a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.engines.spark.connect.connectors import check_source, reader
from windrow.engines.spark.query.types import arrow_schema, named, refuse_unread
from windrow.engines.spark.session.faults import clear_words
from windrow.engines.spark.session.sessions import embedded
from windrow.errors import UnsupportedError
from windrow.sinks.base import fitted
from windrow.sources.base import Element, Position, Source, behind, narrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class FrameSource(Source):
    """A DataFrame, static or streaming. The local engine reads static ones only.

    It is not live: a run reads what is there; one that follows a stream is Spark's own affair.
    """

    frame: DataFrame
    is_frame: bool = True
    origin: str | None = None
    """The address that Spark reads, where it was given as one."""

    @property
    def is_streaming(self) -> bool:
        return bool(self.frame.isStreaming)

    @property
    def reads(self) -> tuple[str, ...]:
        """Where the rows come from, as far as Spark tells."""
        if self.origin is not None:
            return (self.origin,)
        return () if self.is_streaming else tuple(self.frame.inputFiles())

    def describe(self) -> str:
        return f"{'streaming' if self.is_streaming else 'static'} DataFrame of Spark"

    def elements(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        if self.is_streaming:
            raise UnsupportedError(
                "is a streaming DataFrame, which the local engine does not read",
                parameter=self.name,
                hint="run it with engine='spark', or give a path or a static DataFrame",
            )
        self.rows_before(position)
        return behind(self._batches(batch_rows), position, self)

    def _batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        table = self.frame.select(*map(named, self.schema.names)).toArrow()
        for batch in table.to_batches(max_chunksize=batch_rows):
            yield fitted(batch, self.schema)


def open_frame(frame: DataFrame, *, name: str, schema: pa.Schema | None = None) -> FrameSource:
    """The source for a DataFrame, with the declared columns or all that Windrow can read."""
    found = arrow_schema(frame.schema)
    if schema is not None:
        refuse_unread(frame.schema, schema.names)
    return FrameSource(name, found if schema is None else narrow(found, schema.names, name), frame)


def open_uri(uri: str, *, name: str, schema: pa.Schema | None = None) -> FrameSource:
    """The source for an address that Spark reads, such as `kafka://host:9092/topic`, as a stream."""
    check_source(uri)  # before Spark starts
    with clear_words():
        frame = reader(embedded(), uri, schema)
        return replace(open_frame(frame, name=name, schema=schema), origin=uri)
