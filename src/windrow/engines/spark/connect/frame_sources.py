"""DataFrames as sources of a query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.engines.spark.connect.connectors import check_source, reader
from windrow.engines.spark.query.types import arrow_schema, named, refuse_unread
from windrow.engines.spark.session.faults import clear_words
from windrow.engines.spark.session.sessions import embedded
from windrow.errors import UnsupportedError
from windrow.sinks.base import fitted
from windrow.sources.base import BATCH_ROWS, Element, ElementReader, Reader, Source, narrow
from windrow.sources.positions import Position, rows_before

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A DataFrame, static or streaming. The local engine reads static ones only."""

    name: str
    frame: DataFrame
    schema: pa.Schema
    is_frame: bool = True
    origin: str | None = None
    """The address that Spark reads, where it was given as one."""

    is_live = False  # a run reads what is there; one that follows a stream is Spark's own affair
    can_seek = False

    @property
    def is_streaming(self) -> bool:
        return bool(self.frame.isStreaming)

    @property
    def total_rows(self) -> int | None:
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """Where the rows come from, as far as Spark tells."""
        if self.origin is not None:
            return (self.origin,)
        return () if self.is_streaming else tuple(self.frame.inputFiles())

    def describe(self) -> str:
        return f"{'streaming' if self.is_streaming else 'static'} DataFrame of Spark"

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        if self.is_streaming:
            raise UnsupportedError(
                "is a streaming DataFrame, which the local engine does not read",
                parameter=self.name,
                hint="run it with engine='spark', or give a path or a static DataFrame",
            )
        return ElementReader(self._batches(position, batch_rows), position)

    def _batches(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        table = self.frame.select(*map(named, self.schema.names)).toArrow()
        rest = table.slice(rows_before(position, table.num_rows, self, self.name))
        for batch in rest.to_batches(max_chunksize=batch_rows):
            yield fitted(batch, self.schema)


def open_frame(frame: DataFrame, *, name: str, schema: pa.Schema | None = None) -> FrameSource:
    """The source for a DataFrame, with the declared columns or all that Windrow can read."""
    found = arrow_schema(frame.schema)
    if schema is not None:
        refuse_unread(frame.schema, schema.names)
    return FrameSource(name, frame, found if schema is None else narrow(found, schema.names, name))


def open_uri(uri: str, *, name: str, schema: pa.Schema | None = None) -> FrameSource:
    """The source for an address that Spark reads, such as `kafka://host:9092/topic`, as a stream."""
    check_source(uri, {}, schema)  # before Spark starts
    with clear_words():
        frame = reader(embedded(), uri, {}, schema)
        return replace(open_frame(frame, name=name, schema=schema), origin=uri)
