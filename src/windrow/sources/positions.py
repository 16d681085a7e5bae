"""From where sources go on: positions, and how one is found where it cannot be sought."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation

if TYPE_CHECKING:
    from windrow.sources.base import Element, Source

Position: TypeAlias = dict[str, Any]
"""From where a source goes on: a small JSON object.

`rows` is the number of rows before it, `punctuations` how many were given behind the last of these. A source may add
what brings it there faster, or shows that it is still the same data. `{"rows": n}` alone fits every source that is
there again in full when it is read again.
"""


def position_of(rows: int, punctuations: int = 0) -> Position:
    """Behind so many rows, and so many punctuations that follow the last of them."""
    return {"rows": rows, "punctuations": punctuations} if punctuations else {"rows": rows}


def counts_of(position: Position | None) -> tuple[int, int]:
    """The rows before a position and the punctuations behind the last of them; none at the start."""
    return (0, 0) if position is None else (position["rows"], position.get("punctuations", 0))


def rows_before(position: Position | None, total: int | None, source: Source, name: str) -> int:
    """How many rows to pass over, where rows are all that a source counts; refused when it has not so many."""
    rows, _ = counts_of(position)
    if position is not None and not {"rows", "punctuations"}.issuperset(position):
        raise SourceError(
            "must be the data that was read before",
            parameter=name,
            value=f"{source.describe()} in place of {position.get('file', 'another source')}",
            hint="give the run the data it began with, or begin anew in an empty folder",
        )
    if total is not None and rows > total:
        raise shrunk(source, rows, name)
    return rows


def shrunk(source: Source, rows: int, name: str) -> SourceError:
    """The error for a source that has fewer rows than it had."""
    return SourceError(
        f"must still have the {rows} rows it had before",
        parameter=name,
        value=source.describe(),
        hint="leave the data alone while a query runs on it or will be restarted; give new rows as new data",
    )


def behind(elements: Iterable[Element], position: Position | None, source: Source, name: str) -> Iterator[Element]:
    """What follows a position, found by passing over what lies before it; refused when the elements end before it."""
    passing = Passing(position)
    for element in elements:
        rest = passing.rest(element)
        if rest is not None:
            yield rest
    if passing.rows:
        raise shrunk(source, counts_of(position)[0], name)


class Passing:
    """Passes over the elements before a position, one by one as they come.

    >>> import pyarrow as pa
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
