"""Python iterables of elements: batches, tables, rows as dicts, and punctuations between them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pyarrow as pa

from windrow.errors import SourceError
from windrow.semantics.progress import Punctuation
from windrow.sources.base import BATCH_ROWS, Element, Source, cut, narrow, resume
from windrow.sources.conform import conform, plain_schema
from windrow.sources.promises import Promises

_LABEL = "Python iterable"


@dataclass
class Feed:
    """An iterable whose first elements may have been looked at; an iterator gives its elements one time."""

    name: str
    data: Iterable[Any]
    seen: list[Any] = field(default_factory=list)
    started: bool = False

    @property
    def one_pass(self) -> bool:
        return isinstance(self.data, Iterator)

    def peek_schema(self) -> pa.Schema:
        """The columns of the first batch, without losing it or the punctuations before it."""
        for element in self.data:
            if self.one_pass:
                self.seen.append(element)
            if not isinstance(element, Punctuation):
                return self._schema_of(element)
        raise self._unknown("it has no batch")

    def _schema_of(self, element: Any) -> pa.Schema:
        if isinstance(element, Mapping):
            raise self._unknown("its rows are dicts")
        return as_table(element, self.name).schema

    def _unknown(self, reason: str) -> SourceError:
        return SourceError(
            f"needs a schema, because {reason}",
            parameter=self.name,
            hint="give the columns, like schema=pa.schema([('time', pa.int64())])",
        )

    def __iter__(self) -> Iterator[Any]:
        if self.one_pass and self.started:
            raise SourceError(
                "can be read only once, because it is an iterator",
                parameter=self.name,
                hint="give a list, or a new iterator for every run",
            )
        self.started = True
        return itertools.chain(self.seen, self.data)


@dataclass(frozen=True)
class IterableSource:
    """Elements as they come; rows given as dicts are gathered until a batch is full or something else comes."""

    name: str
    feed: Feed
    schema: pa.Schema
    total_rows: int | None = None
    time: str | None = None
    """The progressing attribute, by whose type punctuations are judged."""

    def describe(self) -> str:
        return _LABEL

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def elements(self, batch_rows: int = BATCH_ROWS, skip_rows: int = 0) -> Iterator[Element]:
        return resume(self._elements(batch_rows), skip_rows)

    def _elements(self, batch_rows: int) -> Iterator[Element]:
        used = 0
        promises = Promises(self.name, self.time, self.schema)
        try:
            for element in gathered(self.feed, self.schema, batch_rows, self.name):
                if isinstance(element, Punctuation):
                    yield promises.checked(element)
                    continue
                for batch in element.to_batches(max_chunksize=batch_rows):
                    for piece in cut(conform(batch, self.schema, f"the {_LABEL}", self.name), batch_rows):
                        used += piece.num_rows
                        promises.note(piece)
                        yield piece
        except SourceError as error:
            error.used = error.used or used
            raise


def gathered(
    elements: Iterable[Any], schema: pa.Schema, batch_rows: int, name: str
) -> Iterator[pa.Table | Punctuation]:
    """Tables and punctuations in order, with neighbouring dict rows put together."""
    rows: list[Mapping[str, Any]] = []
    for element in elements:
        if isinstance(element, Mapping):
            rows.append(element)
        if rows and (len(rows) == batch_rows or not isinstance(element, Mapping)):
            yield rows_table(rows, schema)
            rows = []
        if isinstance(element, Punctuation):
            yield element
        elif not isinstance(element, Mapping):
            yield as_table(element, name)
    if rows:
        yield rows_table(rows, schema)


def rows_table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Dict rows as columns; a key that is not there is null, keys the schema does not know are left out."""
    return pa.table([_column([row.get(f.name) for row in rows], f) for f in schema], schema=schema)


def _column(values: list[Any], wanted: pa.Field[Any]) -> pa.Array[Any]:
    try:
        return cast("pa.Array[Any]", pa.array(values, wanted.type))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            f"must be {wanted.type} in every row",
            parameter=wanted.name,
            value=repr(_misfit(values, wanted.type)),
            hint="declare the column with another type in `schema`, or correct the row",
        ) from error


def _misfit(values: list[Any], kind: pa.DataType) -> Any:
    for value in values:
        try:
            pa.array([value], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return value
    return None


def as_table(element: Any, name: str) -> pa.Table:
    """An element that holds rows as a table: a batch, a table, or anything with Arrow's stream interface."""
    if isinstance(element, pa.Table):
        return element
    if isinstance(element, pa.RecordBatch):
        return pa.Table.from_batches([element])
    if hasattr(element, "__arrow_c_stream__"):
        return pa.table(element)
    raise SourceError(
        "must give batches, tables, dict rows or punctuations",
        parameter=name,
        value=f"an element of type {type(element).__name__}",
        hint="turn each element into one of these first",
    )


def open_iterable(data: Iterable[Any], *, name: str, schema: pa.Schema | None) -> Source:
    """The source for an iterable; its schema is the one given, its own `schema`, or that of its first batch."""
    own = getattr(data, "schema", None)
    known = schema if schema is not None else own if isinstance(own, pa.Schema) else None
    if known is None and isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        known = _inferred(data, name)
    feed = Feed(name, data)
    return IterableSource(name, feed, plain_schema(known if known is not None else feed.peek_schema()))


def _inferred(rows: list[Mapping[str, Any]], name: str) -> pa.Schema:
    """The columns of a list of dict rows, which unlike an iterator can be looked at in full."""
    names = dict.fromkeys(key for row in rows for key in row)
    fields = []
    for column in names:
        try:
            fields.append(pa.field(column, pa.array([row.get(column) for row in rows]).type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise SourceError(
                f"must have one type in every row ({str(error).splitlines()[0].rstrip('.')})",
                parameter=column,
                hint=f"give `{name}` a schema, or correct the rows",
            ) from error
    return pa.schema(fields)
