"""Python iterables of elements: batches, tables, rows as dicts, and punctuations between them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import BATCH_ROWS, Element, Source, cut, narrow, require, resume
from windrow.sources.conform import conform, plain_schema
from windrow.sources.iterables.dict_rows import inferred, refuse_unknown, rows_table
from windrow.sources.iterables.gathering import Rows, gathered, gathered_in_time
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
    """Elements as they come; rows given as dicts are gathered until a batch is full or something else comes.

    With `wait`, rows of an iterator wait no longer than so many seconds for others: from its first row on, a thread of
    its own reads it. With `on_wait`, which is called now and then while nothing comes, it does so from the beginning.
    """

    name: str
    feed: Feed
    schema: pa.Schema
    known: frozenset[str]
    """The keys that dict rows may have: all columns, read or not."""
    is_declared: bool = False
    wait: float | None = None
    on_wait: Callable[[], bool] | None = None
    total_rows: int | None = None
    time: str | None = None
    """The progressing attribute, by whose type punctuations are judged."""

    @property
    def is_live(self) -> bool:
        return not isinstance(self.feed.data, (list, tuple))

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
            for element in self._gathered(batch_rows):
                if isinstance(element, Punctuation):
                    yield promises.checked(element)
                    continue
                for batch in self._table(element, used).to_batches(max_chunksize=batch_rows):
                    for piece in cut(conform(batch, self.schema, f"the {_LABEL}", self.name), batch_rows):
                        used += piece.num_rows
                        promises.note(piece)
                        yield piece
        except SourceError as error:
            error.used = error.used or used
            raise

    def _gathered(self, batch_rows: int) -> Iterator[Any]:
        if self.is_live and (self.wait is not None or self.on_wait is not None):
            return gathered_in_time(iter(self.feed), batch_rows, self.wait, self.on_wait)
        return gathered(self.feed, batch_rows)

    def _table(self, element: Any, used: int) -> pa.Table:
        if isinstance(element, Rows):
            refuse_unknown(element, self.known, used, self.name)
            return rows_table(element, self.schema)
        table = as_table(element, self.name)
        if not self.is_declared:
            require(table.schema, self.schema.names, self.name, f"the {_LABEL}")
            refuse_more(table.schema, self.known, self.name)
        return table


def refuse_more(found: pa.Schema, known: frozenset[str], name: str) -> None:
    """No batch brings columns that the first one, which told them all, did not have."""
    if not known.issuperset(found.names):
        raise SourceError(
            f"must have no column {next(column for column in found.names if column not in known)!r}, which its first"
            " batch has not",
            parameter=name,
            hint="give the columns with `schema`",
        )


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
    declared = known is not None
    if known is None and isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        known = inferred(data, name)
    feed = Feed(name, data)
    columns = plain_schema(known if known is not None else feed.peek_schema())
    return IterableSource(name, feed, columns, frozenset(columns.names), declared)
