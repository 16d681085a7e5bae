"""Data that is in memory already: Arrow tables and readers, pandas and polars frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from windrow.errors import SourceError
from windrow.sources.base import BATCH_ROWS, Element, Position, Reader, Source, cut, refuse_repeated, require
from windrow.sources.conform import conform, plain_schema
from windrow.sources.iterables.reader import IteratorReader


@dataclass(frozen=True)
class TableSource(Source):
    """The rows of an Arrow table; nothing is copied where the types are the wanted ones."""

    table: pa.Table
    label: str = "Arrow table"

    can_seek = True

    @property
    def total_rows(self) -> int | None:
        return self.table.num_rows

    def describe(self) -> str:
        return f"{self.label} ({self.table.num_rows} rows)"

    def elements(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        rest = self.table.select(self.schema.names).slice(self.rows_before(position))
        batches = (batch for batch in rest.to_batches(max_chunksize=batch_rows) if batch.num_rows)
        return (conform(batch, self.schema, f"the {self.label}", self.name) for batch in batches)


@dataclass(frozen=True)
class ReaderSource(Source):
    """The batches of an Arrow stream, taken one at a time."""

    export: Callable[[], pa.RecordBatchReader]
    label: str
    total_rows: int | None = None
    is_live: bool = False

    def describe(self) -> str:
        return self.label

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        self.rows_before(position)
        return IteratorReader(self, iter(self.export()), partial(self._pieces, batch_rows), position, batch_rows)

    def _pieces(self, batch_rows: int, batch: pa.RecordBatch) -> Iterator[Element]:
        for piece in cut(batch, batch_rows):
            yield conform(piece, self.schema, f"the {self.label}", self.name)


def open_table(table: pa.Table, *, name: str, schema: pa.Schema | None, label: str = "Arrow table") -> TableSource:
    """The source for a table, with the declared columns or all of its own."""
    return TableSource(name, declared(table.schema, schema, name, label), table, label)


def open_reader(reader: pa.RecordBatchReader, *, name: str, schema: pa.Schema | None) -> ReaderSource:
    """The source for an Arrow reader, which can run one time, because what was read from it is gone."""
    label, readers = "Arrow reader", [reader]

    def export() -> pa.RecordBatchReader:
        if not readers:
            raise SourceError(
                "can be read only once, because it is a reader",
                parameter=name,
                hint="give a table, or a new reader for every run",
            )
        return readers.pop()

    return ReaderSource(name, declared(reader.schema, schema, name, label), export, label, is_live=True)


def open_exporter(data: Any, *, name: str, schema: pa.Schema | None) -> ReaderSource:
    """The source for any object that has the Arrow stream interface, asked anew for every run."""
    label = f"{type(data).__module__.split('.')[0]} {type(data).__name__}"
    export = partial(pa.RecordBatchReader.from_stream, data)
    rows = getattr(data, "height", None)  # polars knows; len() of a lazy relation would run its query
    total = rows if isinstance(rows, int) else None
    return ReaderSource(name, declared(export().schema, schema, name, label), export, label, total)


def open_pandas(frame: Any, *, name: str, schema: pa.Schema | None) -> TableSource:
    """The source for a pandas frame: its columns, and its index where that has a name."""
    named = any(level is not None for level in frame.index.names)
    refuse_repeated(pa.schema([(str(column), pa.null()) for column in frame.columns]), name)
    try:
        table = pa.Table.from_pandas(frame, preserve_index=named)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SourceError(
            f"must have columns of one type each ({' '.join(str(part) for part in error.args)})",
            parameter=name,
            value="a pandas DataFrame",
            hint="convert the column first, for example with astype",
        ) from error
    return open_table(table.replace_schema_metadata(None), name=name, schema=schema, label="pandas DataFrame")


def declared(found: pa.Schema, schema: pa.Schema | None, name: str, label: str) -> pa.Schema:
    """The columns a source gives: those declared, which must be there, or else all that were found."""
    refuse_repeated(found, name)
    if schema is not None:
        require(found, schema.names, name, f"the {label}")
    return plain_schema(found if schema is None else schema)
