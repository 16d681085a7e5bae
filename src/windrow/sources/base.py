"""What every source is: columns, and readers that poll its elements in arrival order from any position."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from windrow.errors import QueryError, SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.rejects import Rejects, unreadable

Element: TypeAlias = pa.RecordBatch | Punctuation
Given: TypeAlias = Element | Rejects
"""What a reader gives: elements, and now and then what it could not make rows of."""

Position: TypeAlias = dict[str, Any]
"""From where a source goes on: a small JSON object.

`rows` is the number of rows before it, `punctuations` how many were given behind the last of these. A source may add
what brings it there faster, or shows that it is still the same data. `{"rows": n}` alone fits every source that is
there again in full when it is read again.
"""

BATCH_ROWS = 1 << 17
"""Rows of a batch unless the caller asks otherwise: large enough for whole-array work, small enough for the cache."""
TICK_SECONDS = 0.1
"""Seconds after which one who waits for a source looks around."""


class Sign(Enum):
    """What `poll` gives when there is no element."""

    TICK = "nothing came in time"
    END = "nothing more comes"


class Delivery(Enum):
    """How often a row counts when a run breaks off and is restored; and a result, where it is a sink's."""

    EXACTLY_ONCE = "exactly once"
    AT_LEAST_ONCE = "at least once"
    AT_MOST_ONCE = "at most once"


class Reader(Protocol):
    """One reading of a source, from a position to its end."""

    @property
    def position(self) -> Position:
        """Behind all that `poll` gave so far: a reader opened there gives exactly the rest, in batches of any size."""

    def poll(self, timeout: float | None = None) -> Given | Sign:
        """The next element; a tick when none came within so many seconds (None: wait as long as it takes); the end.

        Only a source that is live ever ticks; rows that wait for others are given, too, to one who does not wait. Every
        row of a batch counts, punctuation rows included.
        """

    def close(self) -> None:
        """Nothing more is wanted; a thread that reads ends as soon as it can."""


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Rows of one stream in arrival order, read batch by batch. One that is bounded is one that comes to its end."""

    name: str
    """What messages call it."""
    schema: pa.Schema
    """The columns of every batch."""

    @property
    def total_rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""
        return None

    @property
    def reads(self) -> tuple[str, ...]:
        """The paths and addresses it reads, where it reads any: no output of a run may replace them."""
        return ()

    @property
    def is_live(self) -> bool:
        """Whether its rows may come slowly, and for ever."""
        return False

    @property
    def is_endless(self) -> bool:
        """Whether nothing but the user ends it, so that a run keeps nothing of what it gave: its outputs do."""
        return False

    @property
    def in_process_only(self) -> bool:
        """Whether it is read where it is opened, and no other engine can."""
        return False

    @property
    def partition_column(self) -> str | None:
        """The column that says which partition a row is of, where each of them has an order of its own."""
        return None

    def by_partition(self) -> Source:
        """The same with that column, and with punctuations that tell of partitions when they begin and end."""
        return self

    @property
    def is_read_up(self) -> bool:
        """Whether all that is there is read before a run that is closed ends; of others only a little."""
        return False

    def until_now(self) -> Source:
        """The same with an end, behind what is there now; a source that does not know that ends when its data does."""
        return self

    @property
    def delivery(self) -> Delivery:
        """How often each of its rows counts when a run breaks off and is restored."""
        return Delivery.EXACTLY_ONCE

    @property
    def can_seek(self) -> bool:
        """Whether reading can begin at a position; others read, or make, what lies before it once more."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """What the data is, for `explain` and messages."""

    def select(self, columns: Sequence[str]) -> Source:
        """The same rows with only these columns, in this order; the others are never read."""
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        """Begin to read at a position, or else at the start; one that does not fit the data is a `SourceError`.

        Batches have at most `batch_rows` rows. Rows that come one by one wait at most `batch_wait` seconds for others
        (None: until a batch is full).
        """
        return ElementReader(self.elements(position, batch_rows), position)

    def elements(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        """What follows a position, of a source whose elements are there when they are asked for."""
        raise NotImplementedError

    def rows_before(self, position: Position | None) -> int:
        """How many rows to pass over, where rows are all that a source counts; refused when it has not so many."""
        rows, _ = counts_of(position)
        if position is not None and not {"rows", "punctuations"}.issuperset(position):
            raise SourceError(
                "must be the data that was read before",
                parameter=self.name,
                value=f"{self.describe()} in place of {position.get('file', 'another source')}",
                hint="give the run the data it began with, or begin anew in an empty folder",
            )
        if self.total_rows is not None and rows > self.total_rows:
            raise shrunk(self, rows)
        return rows


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
        return self.counted(next(self.elements, Sign.END))

    def counted(self, element: Element | Sign) -> Element | Sign:
        """The element, behind which the position then is."""
        if isinstance(element, Punctuation):
            self.punctuations += 1
        elif not isinstance(element, Sign) and element.num_rows:
            self.rows += element.num_rows
            self.punctuations = 0
        return element

    def close(self) -> None:
        """Nothing is read ahead."""


def lost_by(reader: Reader) -> int:
    """How many messages never came in, where a reader counts these as `lost`."""
    return int(getattr(reader, "lost", 0))


def begin_of(reader: Reader, before: Position) -> Position:
    """Where the element begins that a reader gave last; `before` is where the reader was when it was asked for it.

    Where several partitions are read side by side that alone does not say which of their rows comes first: such a
    reader has a position of its own for it, `begins`.
    """
    begins: Position = getattr(reader, "begins", before)
    return begins


def elements_of(source: Source, position: Position | None = None, *, batch_rows: int = BATCH_ROWS) -> Iterator[Element]:
    """All that a source gives from a position on, however long that takes."""
    reader = source.open(position, batch_rows=batch_rows)
    try:
        while not isinstance(element := reader.poll(), Sign):
            if isinstance(element, Rejects):
                raise unreadable(element)
            yield element
    finally:
        reader.close()


def position_of(rows: int, punctuations: int = 0) -> Position:
    """Behind so many rows, and so many punctuations that follow the last of them."""
    return {"rows": rows, "punctuations": punctuations} if punctuations else {"rows": rows}


def counts_of(position: Position | None) -> tuple[int, int]:
    """The rows before a position and the punctuations behind the last of them; none at the start."""
    return (0, 0) if position is None else (position["rows"], position.get("punctuations", 0))


def shrunk(source: Source, rows: int) -> SourceError:
    """The error for a source that has fewer rows than it had."""
    return SourceError(
        f"must still have the {rows} rows it had before",
        parameter=source.name,
        value=source.describe(),
        hint="leave the data alone while a query runs on it or will be restarted; give new rows as new data",
    )


def grown(source: Source, before: int, rows: int) -> SourceError:
    """The error for a source that has more rows than it had when the run over it came to its end."""
    return SourceError(
        f"must still have the {before} rows it had when the run came to its end",
        parameter=source.name,
        value=f"{rows} in {source.describe()}",
        hint="run the query from the start in an empty folder; no window is open any more for new rows",
    )


def behind(elements: Iterable[Element], position: Position | None, source: Source) -> Iterator[Element]:
    """What follows a position, found by passing over what lies before it; refused when the elements end before it."""
    passing = Passing(position)
    for element in elements:
        rest = passing.rest(element)
        if rest is not None:
            yield rest
    if passing.rows:
        raise shrunk(source, counts_of(position)[0])


class Passing:
    """Passes over the elements before a position, one by one as they come.

    >>> passing = Passing({"rows": 2})
    >>> passing.rest(Punctuation(1)), passing.rest(pa.record_batch({"a": [1, 2, 3]}))["a"].to_pylist()
    (None, [3])
    """

    def __init__(self, position: Position | None) -> None:
        self.rows, self.punctuations = counts_of(position)

    def rest(self, element: Element) -> Element | None:
        """The element, or the rows of it that lie behind the position; None when nothing does."""
        if isinstance(element, Punctuation):
            is_before = bool(self.rows or self.punctuations)
            self.punctuations -= bool(not self.rows and self.punctuations)
            return None if is_before else element
        if element.num_rows <= self.rows:
            self.rows -= element.num_rows
            return None
        ahead, self.rows, self.punctuations = self.rows, 0, 0
        return element.slice(ahead) if ahead else element


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
