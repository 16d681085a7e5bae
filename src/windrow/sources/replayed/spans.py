"""Read a source span by span: the rows between two offsets of a stream, cut for parallel work where that pays.

An offset is `{"rows": n}`, and `{"rows": n, "ended": true}` once the source is known to be over. Spans are functions of
offsets and of the source's layout alone, so that a restart reads what was read before.

Files that cannot be entered in the middle would be read from their beginning for every micro-batch. Worker processes
live on between micro-batches, so each keeps a few open tapes. A kept tape only saves time: what a span holds never
depends on whether one was found.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import BATCH_ROWS, Element, Sign, Source, position_of, shrunk
from windrow.sources.files.file_source import FileSource, look_of
from windrow.sources.rejects import Rejects

Offset: TypeAlias = dict[str, Any]
Look: TypeAlias = Hashable
"""What the files behind a source look like from outside; a tape of files that changed is not used again."""

LEAST_ROWS = 1 << 16
"""A span is not cut into pieces of fewer rows than this: starting a task costs more than reading them."""
_KEPT = 8
_LEAST_BATCH = 1 << 10


@dataclass(frozen=True)
class RowSpan:
    """Rows `first` to `last` of a source, end exclusive; `ends`: nothing follows."""

    first: int
    last: int
    ends: bool = False

    @property
    def rows(self) -> int:
        return self.last - self.first


def offset(rows: int, ended: bool) -> Offset:
    """What the stream remembers after its first `rows` rows.

    >>> offset(10, False), offset(12, True)
    ({'rows': 10}, {'rows': 12, 'ended': True})
    """
    return {"rows": rows, "ended": True} if ended else {"rows": rows}


def span_between(start: Mapping[str, Any], end: Mapping[str, Any]) -> RowSpan:
    """The rows after one offset up to another; the end of the source lies in the span that first knows of it."""
    return RowSpan(start["rows"], end["rows"], bool(end.get("ended")) and not start.get("ended"))


def cut_span(span: RowSpan, pieces: int, seams: Sequence[int] | None) -> list[RowSpan]:
    """The span in up to `pieces` spans of about the same size, cut only at `seams` (None: anywhere).

    >>> cut_span(RowSpan(0, 300_000, True), 2, seams=[100_000, 200_000])
    [RowSpan(first=0, last=100000, ends=False), RowSpan(first=100000, last=300000, ends=True)]
    """
    pieces = min(pieces, span.rows // LEAST_ROWS)
    ideal = [span.first + span.rows * i // pieces for i in range(1, pieces)]
    cuts = ideal if seams is None else [_nearest(seams, row) for row in ideal]
    inner = sorted({row for row in cuts if row is not None and span.first < row < span.last})
    bounds = [span.first, *inner, span.last]
    return [RowSpan(first, last, span.ends and last == span.last) for first, last in pairwise(bounds)]


def _nearest(seams: Sequence[int], row: int) -> int | None:
    at = bisect_left(seams, row)
    return min(seams[max(0, at - 1) : at + 1], key=lambda seam: abs(seam - row), default=None)


def seams_of(source: Source) -> Sequence[int] | None:
    """Rows at which reading can begin without reading what lies before; None where that is any row."""
    if not source.can_seek:
        return []
    return source.seams() if isinstance(source, FileSource) else None


class Tape:
    """The elements of a source from a row on, taken one span at a time.

    Law: the spans of a source, put together, are its elements: a punctuation belongs to the span of the row before it.
    """

    def __init__(self, source: Source, row: int = 0, batch_rows: int = BATCH_ROWS) -> None:
        self.source = source
        self.row = row
        self._reader = source.open(position_of(row), batch_rows=batch_rows)
        self._waiting: Element | Sign | None = None
        if row:
            for _ in self._punctuations():
                pass

    def forward(self, row: int) -> None:
        """Go on to a later row without giving what lies between."""
        for _ in self.take(row) if row > self.row else ():
            pass

    def take(self, last: int) -> Iterator[Element]:
        """The elements up to row `last`, with the punctuations that follow it."""
        while self.row < last:
            element = self._next()
            if isinstance(element, Sign):
                raise shrunk(self.source, last)
            yield element if isinstance(element, Punctuation) else self._cut(element, last)
        yield from self._punctuations()

    def _next(self) -> Element | Sign:
        element, self._waiting = self._waiting, None
        if element is None:
            given = self._reader.poll()
            assert not isinstance(given, Rejects), "sources that reject are not replayed"
            return given
        return element

    def _cut(self, batch: pa.RecordBatch, last: int) -> pa.RecordBatch:
        """The rows of a batch before row `last`; the others wait."""
        rows = last - self.row
        if batch.num_rows > rows:
            self._waiting = batch.slice(rows)
            batch = batch.slice(0, rows)
        self.row += batch.num_rows
        return batch

    def _punctuations(self) -> Iterator[Punctuation]:
        """The punctuations before the next row. Files hold none: their next batch is not read to find that out."""
        if isinstance(self.source, FileSource):
            return
        while isinstance(element := self._next(), Punctuation):
            yield element
        self._waiting = element


@contextmanager
def clear_errors(source: Source) -> Iterator[None]:
    """Errors of files that are gone or broken, where a source lets them through as they are, become a `SourceError`."""
    try:
        yield
    except SourceError:
        raise
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        raise SourceError(
            f"must still be readable ({reason})",
            parameter=source.name,
            value=source.describe(),
            hint="leave the data where it is while a query runs on it or will be restarted",
        ) from error


_kept: list[tuple[str, Look, Tape]] = []
"""The tapes this process has open, with the tokens and looks of their sources; the one used last at the end."""


def read_span(token: str, source: Source, span: RowSpan) -> Iterator[Element]:
    """The elements of a span; `token` is of this source alone among all that the process may read."""
    look = _look(source)
    with clear_errors(source):
        tape = _reuse(token, look, source, span.first)
        if tape is None:
            tape = Tape(source, span.first, min(BATCH_ROWS, max(_LEAST_BATCH, span.rows)))
        tape.forward(span.first)
    yield from tape.take(span.last)
    if not span.ends:  # kept only after it was read in full: a task may be stopped in the middle
        _kept.append((token, look, tape))
        del _kept[:-_KEPT]


def _reuse(token: str, look: Look, source: Source, row: int) -> Tape | None:
    """The kept tape nearest before a row, which then is kept no longer."""
    mine = [one for one in _kept if one[:2] == (token, look) and _is_near(source, one[2], row)]
    if not mine:
        return None
    best = max(mine, key=lambda one: one[2].row)
    _kept.remove(best)
    return best[2]


def _is_near(source: Source, tape: Tape, row: int) -> bool:
    """Going on from the tape is cheaper than a new start; one that can begin anywhere is not read far."""
    return tape.row <= row and (not source.can_seek or row - tape.row <= BATCH_ROWS)


def _look(source: Source) -> Look:
    if not isinstance(source, FileSource):
        return None
    try:
        return tuple(look_of(path) for path in source.files)
    except OSError:
        return object()  # equal to nothing: the files are opened again, and the error names what is wrong with them
