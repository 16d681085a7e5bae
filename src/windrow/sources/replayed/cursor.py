"""Read a source span by span, going on where the last span stopped.

Files that cannot be entered in the middle would be read from their beginning for every micro-batch. Worker processes
live on between micro-batches, so each keeps a few open tapes. A kept tape only saves time: what a span holds never
depends on whether one was found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import BATCH_ROWS, Element, Sign, Source
from windrow.sources.files.file_source import FileSource
from windrow.sources.files.reader import look_of
from windrow.sources.positions import position_of, shrunk
from windrow.sources.replayed.spans import RowSpan

Look: TypeAlias = Hashable
"""What the files behind a source look like from outside; a tape of files that changed is not used again."""

_KEPT = 8
_LEAST_BATCH = 1 << 10


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
            _drop(self._punctuations())

    def forward(self, row: int) -> None:
        """Go on to a later row without giving what lies between."""
        if row > self.row:
            _drop(self.take(row))

    def take(self, last: int) -> Iterator[Element]:
        """The elements up to row `last`, with the punctuations that follow it."""
        while self.row < last:
            element = self._next()
            if isinstance(element, Sign):
                raise shrunk(self.source, last, name_of(self.source))
            yield element if isinstance(element, Punctuation) else self._cut(element, last)
        yield from self._punctuations()

    def _next(self) -> Element | Sign:
        element, self._waiting = self._waiting, None
        return self._reader.poll() if element is None else element

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


def _drop(elements: Iterator[Element]) -> None:
    for _ in elements:
        pass


def name_of(source: Source) -> str:
    """What messages call a source."""
    return str(getattr(source, "name", "stream"))


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
            parameter=name_of(source),
            value=source.describe(),
            hint="leave the data where it is while a query runs on it or will be restarted",
        ) from error


@dataclass(frozen=True)
class _Kept:
    token: str
    look: Look
    tape: Tape


_kept: list[_Kept] = []
"""The tapes this process has open, the one used last at the end."""


def read_span(token: str, source: Source, span: RowSpan) -> Iterator[Element]:
    """The elements of a span; `token` tells this source from every other one that the process may read."""
    look = _look(source)
    with clear_errors(source):
        tape = _reuse(token, look, source, span.first)
        if tape is None:
            tape = Tape(source, span.first, min(BATCH_ROWS, max(_LEAST_BATCH, span.rows)))
        tape.forward(span.first)
    yield from tape.take(span.last)
    if not span.ends:  # kept only after it was read in full: a task may be stopped in the middle
        _kept.append(_Kept(token, look, tape))
        del _kept[:-_KEPT]


def _reuse(token: str, look: Look, source: Source, row: int) -> Tape | None:
    """The kept tape nearest before a row, which then is kept no longer."""
    mine = [one for one in _kept if one.token == token and one.look == look and _is_near(source, one.tape, row)]
    best = max(mine, key=lambda one: one.tape.row, default=None)
    if best is None:
        return None
    _kept.remove(best)
    return best.tape


def _is_near(source: Source, tape: Tape, row: int) -> bool:
    """Going on from the tape is cheaper than a new start; one that can begin anywhere is not read far."""
    return tape.row <= row and (not source.can_seek or row - tape.row <= BATCH_ROWS)


def _look(source: Source) -> Look:
    if not isinstance(source, FileSource):
        return None
    try:
        return tuple(look_of(path) for path in source.files)
    except OSError:
        return object()  # equal to nothing: the files are opened again, and what is wrong with them is said
