"""What every source gives: elements in arrival order, and a way to ask for less of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

import pyarrow as pa

from windrow.errors import QueryError, SourceError
from windrow.semantics.progress.policies import Punctuation

Element: TypeAlias = pa.RecordBatch | Punctuation

BATCH_ROWS = 1 << 17
"""Rows of a batch unless the caller asks otherwise: large enough for whole-array work, small enough for the cache."""


class Source(Protocol):
    """Rows of one stream in arrival order, read batch by batch."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of every batch."""

    @property
    def total_rows(self) -> int | None:
        """How many rows there are, where that is known without reading them."""

    def describe(self) -> str:
        """What the data is, for `explain` and messages."""

    def select(self, columns: Sequence[str]) -> Source:
        """The same rows with only these columns, in this order; the others are never read."""

    def elements(self, batch_rows: int = BATCH_ROWS, skip_rows: int = 0) -> Iterator[Element]:
        """Batches of at most `batch_rows` rows and punctuations, after the first `skip_rows` rows.

        Every row of a batch counts, punctuation rows included. Punctuations that lie between the last row
        skipped and the next one are given (again): the last of each group, which repeats no earlier promise.
        """


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


def resume(elements: Iterable[Element], skip_rows: int) -> Iterator[Element]:
    """What follows the first `skip_rows` rows, with the last punctuation of each group at the seam.

    >>> batch = pa.record_batch({"a": [1, 2, 3]})
    >>> [e if isinstance(e, Punctuation) else e["a"].to_pylist() for e in resume([batch, Punctuation(9)], 2)]
    [[3], Punctuation(value=9, group=None)]
    """
    rest = iter(elements)
    seam: dict[Hashable, Punctuation] = {}
    for element in rest if skip_rows else ():
        if isinstance(element, Punctuation):
            seam[element.group] = element
        elif skip_rows:
            seam.clear()
            dropped = min(skip_rows, element.num_rows)
            skip_rows -= dropped
            if dropped < element.num_rows:
                yield element.slice(dropped)
                break
        elif element.num_rows:
            yield from seam.values()
            seam.clear()
            yield element
            break
    yield from seam.values()
    yield from rest
