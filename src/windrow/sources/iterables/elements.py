"""Python iterables of elements: batches, tables, rows as dicts, and punctuations between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.errors import DataError, SourceError
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.moments import microseconds, moment
from windrow.sources.base import BATCH_ROWS, Element, Position, Reader, Source, require
from windrow.sources.conform import conform, plain_schema
from windrow.sources.iterables.dict_rows import inferred, refuse_unknown, rows_table
from windrow.sources.iterables.reader import GatheredRows, IteratorReader

_LABEL = "Python iterable"
_UNITS = (("milliseconds", 1_000, 1), ("seconds", 1_000_000, 1), ("nanoseconds", 1, 1_000))
_LONG_AGO, _RECENT, _FAR = (microseconds(datetime(year, 1, 1)) for year in (1980, 2000, 2200))


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
                if isinstance(element, Mapping):
                    raise self._unknown("its rows are dicts")
                return as_table(element, self.name).schema
        raise self._unknown("it has no batch")

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
        return chain(self.seen, self.data)


@dataclass(frozen=True)
class IterableSource(Source):
    """Elements as they come; rows given as dicts are gathered until a batch is full or something else comes."""

    feed: Feed
    known: frozenset[str]
    """The keys that dict rows may have: all columns, read or not."""
    is_declared: bool = False
    time: str | None = None
    """The progressing attribute, by whose type punctuations are judged."""

    @property
    def is_live(self) -> bool:
        return not isinstance(self.feed.data, (list, tuple))

    def describe(self) -> str:
        return _LABEL

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        self.rows_before(position)
        return IteratorReader(self, iter(self.feed), _Converting(self, batch_rows), position, batch_rows, batch_wait)

    def table(self, element: Any, used: int) -> pa.Table:
        if isinstance(element, GatheredRows):
            refuse_unknown(element, self.known, used, self.name)
            return rows_table(element, self.schema)
        table = as_table(element, self.name)
        if not self.is_declared:
            require(table.schema, self.schema.names, self.name, f"the {_LABEL}")
            refuse_more(table.schema, self.known, self.name)
        return table


class _Converting:
    """Batches and punctuations of an iterable from its elements, in order; an error has how many rows came before.

    Takes note of the times of rows and of what is promised, and refuses what cannot be meant. A number next to a
    timestamp column is in microseconds. One in another unit lies decades before all rows and would close nothing, or
    far behind them and would make all rows late.
    """

    def __init__(self, source: IterableSource, batch_rows: int) -> None:
        self.source = source
        self.batch_rows = batch_rows
        self.used = 0
        names = source.schema.names
        self.kind: pa.DataType | None = source.schema.field(source.time).type if source.time in names else None
        self.latest: int | None = None
        self.promised: int | None = None

    def __call__(self, element: Any) -> Iterator[Element]:
        if isinstance(element, Punctuation):
            yield self._checked(element)
            return
        try:
            for batch in self.source.table(element, self.used).to_batches(max_chunksize=self.batch_rows):
                if batch.num_rows:
                    fitted = conform(batch, self.source.schema, f"the {_LABEL}", self.source.name)
                    self.used += fitted.num_rows
                    self._note(fitted)
                    yield fitted
        except SourceError as error:
            error.used = error.used or self.used
            raise

    def _note(self, batch: pa.RecordBatch) -> None:
        if isinstance(self.kind, pa.TimestampType) and (self.promised is not None or self.latest is None):
            times = batch.column(str(self.source.time)).cast(pa.timestamp("us", self.kind.tz), safe=False)
            self.latest = pc.max(times.cast(pa.int64())).as_py()
            self._check()

    def _checked(self, punctuation: Punctuation) -> Punctuation:
        """The punctuation, in the units of the time."""
        if punctuation.is_moment and self.kind is not None and not isinstance(self.kind, pa.TimestampType):
            raise DataError(
                f"must be a number, because {self.source.time} of {self.source.name} is one",
                parameter="punctuation",
                value=str(moment(punctuation.value)),
                hint=f"give the least value of {self.source.time} that may still come",
            )
        if not punctuation.is_moment:
            self.promised = punctuation.value
            self._check()
        return punctuation

    def _check(self) -> None:
        """Refuse a promise that is next to the rows in another unit only."""
        value = self.promised
        if value is None or self.latest is None or value == END or not _RECENT <= self.latest < _FAR:
            return
        for unit, more, less in _UNITS:
            meant = value * more // less
            if not _LONG_AGO <= value < _FAR and _RECENT <= meant < _FAR:
                raise DataError(
                    f"must be in microseconds since 1970, like {self.source.time} of {self.source.name}",
                    parameter="punctuation",
                    value=f"{value}, which would be {moment(meant).replace(tzinfo=None)} in {unit}",
                    hint="give a datetime, as in wr.Punctuation(datetime(2024, 1, 31, tzinfo=timezone.utc))",
                )


def refuse_more(found: pa.Schema, known: frozenset[str], name: str) -> None:
    """No batch brings columns that the first one, which has them all, did not have."""
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
    """The source for an iterable; its schema is the declared one, its own `schema`, or that of its first batch."""
    own = getattr(data, "schema", None)
    known = schema if schema is not None else own if isinstance(own, pa.Schema) else None
    declared = known is not None
    if known is None and isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        known = inferred(data, name)
    feed = Feed(name, data)
    columns = plain_schema(known if known is not None else feed.peek_schema())
    return IterableSource(name, columns, feed, frozenset(columns.names), declared)
