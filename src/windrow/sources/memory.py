"""Data that is in memory already: Arrow tables and readers, pandas and polars frames."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from windrow.errors import SourceError
from windrow.sources.base import (
    BATCH_ROWS,
    Element,
    ElementReader,
    Reader,
    Source,
    cut,
    narrow,
    refuse_repeated,
    require,
)
from windrow.sources.conform import conform, plain_schema
from windrow.sources.iterables.gathering import Gathering
from windrow.sources.iterables.reader import IteratorReader
from windrow.sources.positions import Position, rows_before, shrunk


@dataclass(frozen=True)
class TableSource:
    """The rows of an Arrow table; nothing is copied where the types are the wanted ones."""

    name: str
    table: pa.Table
    schema: pa.Schema
    label: str = "Arrow table"

    is_live = False
    can_seek = True

    @property
    def total_rows(self) -> int | None:
        return self.table.num_rows

    def describe(self) -> str:
        return f"{self.label} ({self.table.num_rows} rows)"

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, table=self.table.select(list(columns)), schema=narrow(self.schema, columns, self.name))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        rest = self.table.slice(rows_before(position, self.table.num_rows, self, self.name))
        return ElementReader(self._batches(rest, batch_rows), position)

    def _batches(self, table: pa.Table, batch_rows: int) -> Iterator[Element]:
        for batch in table.to_batches(max_chunksize=batch_rows):
            if batch.num_rows:
                yield conform(batch, self.schema, f"the {self.label}", self.name)


@dataclass(frozen=True)
class Once:
    """Gives its reader one time, because what a reader gave is gone."""

    name: str
    reader: pa.RecordBatchReader
    given: list[bool] = field(default_factory=list)

    def __call__(self) -> pa.RecordBatchReader:
        if self.given:
            raise SourceError(
                "can be read only once, because it is a reader",
                parameter=self.name,
                hint="give a table, or a new reader for every run",
            )
        self.given.append(True)
        return self.reader


@dataclass(frozen=True)
class ReaderSource:
    """The batches of an Arrow stream, taken one at a time."""

    name: str
    export: Callable[[], pa.RecordBatchReader]
    schema: pa.Schema
    label: str
    total_rows: int | None = None

    can_seek = False

    @property
    def is_live(self) -> bool:
        return isinstance(self.export, Once)

    def describe(self) -> str:
        return self.label

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        rows = rows_before(position, self.total_rows, self, self.name)
        batches = Gathering(iter(self.export()), batch_rows, live=self.is_live)
        convert = partial(self._pieces, batch_rows)
        return IteratorReader(batches, convert, position, lambda: shrunk(self, rows, self.name))

    def _pieces(self, batch_rows: int, batch: pa.RecordBatch) -> Iterator[Element]:
        for piece in cut(batch, batch_rows):
            yield conform(piece, self.schema, f"the {self.label}", self.name)


def open_table(table: pa.Table, *, name: str, schema: pa.Schema | None, label: str = "Arrow table") -> TableSource:
    """The source for a table, with the declared columns or all of its own."""
    return TableSource(name, table, declared(table.schema, schema, name, label), label)


def open_reader(reader: pa.RecordBatchReader, *, name: str, schema: pa.Schema | None) -> ReaderSource:
    """The source for an Arrow reader, which can run one time."""
    label = "Arrow reader"
    return ReaderSource(name, Once(name, reader), declared(reader.schema, schema, name, label), label)


def open_exporter(data: Any, *, name: str, schema: pa.Schema | None) -> ReaderSource:
    """The source for any object that speaks the Arrow stream interface, asked anew for every run."""
    label = f"{type(data).__module__.split('.')[0]} {type(data).__name__}"

    def export() -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_stream(data)

    rows = getattr(data, "height", None)  # polars knows; len() of a lazy relation would run its query
    total = rows if isinstance(rows, int) else None
    return ReaderSource(name, export, declared(export().schema, schema, name, label), label, total)


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
