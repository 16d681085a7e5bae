"""What every source is: columns, and readers that poll its elements in arrival order from any position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Protocol, TypeAlias

import pyarrow as pa

from windrow.errors import QueryError, SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.positions import Position, counts_of, position_of

Element: TypeAlias = pa.RecordBatch | Punctuation

BATCH_ROWS = 1 << 17
"""Rows of a batch unless the caller asks otherwise: large enough for whole-array work, small enough for the cache."""
TICK_SECONDS = 0.1
"""Seconds after which one who waits for a source looks around."""


class Sign(Enum):
    """What `poll` gives when there is no element."""

    TICK = "nothing came in time"
    END = "nothing more comes"


class Reader(Protocol):
    """One reading of a source, from a position to its end."""

    @property
    def position(self) -> Position:
        """Behind all that `poll` gave so far: a reader opened there gives exactly the rest, in batches of any size."""

    def poll(self, timeout: float | None = None) -> Element | Sign:
        """The next element; a tick when none came within so many seconds (None: wait as long as it takes); the end.

        Only a source that is live ever ticks; rows that wait for others are given, too, to one who does not wait. Every
        row of a batch counts, punctuation rows included.
        """

    def close(self) -> None:
        """Nothing more is wanted; a thread that reads ends as soon as it can."""


class Source(Protocol):
    """Rows of one stream in arrival order, read batch by batch. One that is bounded is one that comes to its end.

    One that reads files has their paths in `reads`, too: no output of a run may replace them.
    """

    @property
    def schema(self) -> pa.Schema:
        """The columns of every batch."""

    @property
    def total_rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""

    @property
    def is_live(self) -> bool:
        """Whether its rows may come slowly, and for ever."""

    @property
    def can_seek(self) -> bool:
        """Whether reading can begin at a position; others read, or make, what lies before it once more."""

    def describe(self) -> str:
        """What the data is, for `explain` and messages."""

    def select(self, columns: Sequence[str]) -> Source:
        """The same rows with only these columns, in this order; the others are never read."""

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        """Begin to read at a position, or else at the start; one that does not fit the data is a `SourceError`.

        Batches have at most `batch_rows` rows. Rows that come one by one wait at most `batch_wait` seconds for others
        (None: until a batch is full).
        """


class ElementReader:
    """Reads elements that are there when they are asked for; its positions count rows and punctuations.

    >>> reader = ElementReader(iter([pa.record_batch({"a": [1, 2]}), Punctuation(9)]))
    >>> reader.poll()["a"].to_pylist(), reader.position
    ([1, 2], {'rows': 2})
    >>> reader.poll(), reader.position, reader.poll()
    (Punctuation(value=9, group=None), {'rows': 2, 'punctuations': 1}, <Sign.END: 'nothing more comes'>)
    """

    def __init__(self, elements: Iterator[Element], position: Position | None = None) -> None:
        """`elements` are those behind `position`."""
        self.elements = elements
        self.rows, self.punctuations = counts_of(position)

    @property
    def position(self) -> Position:
        return position_of(self.rows, self.punctuations)

    def poll(self, timeout: float | None = None) -> Element | Sign:
        element = next(self.elements, Sign.END)
        if isinstance(element, Punctuation):
            self.punctuations += 1
        elif not isinstance(element, Sign) and element.num_rows:
            self.rows += element.num_rows
            self.punctuations = 0
        return element

    def close(self) -> None:
        """Nothing is read ahead."""


def elements_of(source: Source, position: Position | None = None, *, batch_rows: int = BATCH_ROWS) -> Iterator[Element]:
    """All that a source gives from a position on, however long that takes."""
    reader = source.open(position, batch_rows=batch_rows)
    try:
        while not isinstance(element := reader.poll(), Sign):
            yield element
    finally:
        reader.close()


def narrow(schema: pa.Schema, columns: Sequence[str], name: str) -> pa.Schema:
    """The fields of these columns in this order, or an error that lists what there is."""
    if not columns:
        raise QueryError("must name at least one column of the stream", parameter="columns", value=list(columns))
    known = frozenset(schema.names)  # which Arrow lists anew each time it is asked
    for column in columns:
        if column not in known:
            raise QueryError(
                f"has no column {column!r}", parameter=name, allowed=tuple(schema.names), hint="use a column there is"
            )
    return pa.schema([schema.field(column) for column in columns])


def require(schema: pa.Schema, columns: Iterable[str], name: str, where: str) -> None:
    """Every declared column is in the data, or an error that names the first one missing and what there is."""
    known = frozenset(schema.names)
    for column in columns:
        if column not in known:
            raise SourceError(
                f"has no column {column!r} in {where}",
                parameter=name,
                allowed=tuple(schema.names),
                hint="correct the declared schema, or add the column to the data",
            )


def refuse_repeated(schema: pa.Schema, name: str) -> None:
    """No two columns share a name, because a query could not tell them apart."""
    for column, times in Counter(schema.names).items():
        if times > 1:
            raise SourceError(
                f"has more than one column named {column!r}", parameter=name, hint="rename one of them in the data"
            )


def cut(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of at most `rows` rows, without copying; an empty batch gives none."""
    for offset in range(0, batch.num_rows, rows):
        yield batch if batch.num_rows <= rows else batch.slice(offset, rows)


def dropped(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """The batches without their first `rows` rows."""
    for batch in batches:
        if batch.num_rows > rows:
            yield batch.slice(rows) if rows else batch
        rows = max(0, rows - batch.num_rows)
