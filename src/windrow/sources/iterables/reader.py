"""Reading what gives its elements one after another and cannot be asked to begin in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from time import monotonic
from typing import Any, TypeAlias

from windrow.sources.base import Element, ElementReader, Passing, Position, Sign, Source, shrunk
from windrow.sources.iterables.dict_rows import is_row
from windrow.sources.iterables.read_ahead import ReadAhead

Convert: TypeAlias = Callable[[Any], Iterator[Element]]
"""An element as it came, as batches of the source or a punctuation."""


class GatheredRows(list[Any]):
    """Dict rows that came one after another, put together: a batch of one row costs as much as one of many."""


class IteratorReader(ElementReader):
    """Reads from the beginning and passes over what lies before its position.

    Neighbouring dict rows are converted together, up to `batch_rows` of them. Of a live source no row waits for others
    longer than `wait` seconds (None: until a batch is full). What comes is read right here until somebody waits for it
    only so long, or a row may wait only so long: from then on a thread of its own reads.
    """

    def __init__(
        self,
        source: Source,
        came: Iterator[Any],
        convert: Convert,
        position: Position | None,
        batch_rows: int,
        wait: float | None = None,
    ) -> None:
        super().__init__(iter(()), position)
        self.source = source
        self.came = came
        self.convert = convert
        self.passing = Passing(position)
        self.batch_rows = batch_rows
        self.wait = wait
        self.ahead: ReadAhead | None = None
        self.held: list[Any] = []
        """What ended the last rows that were read right here."""

    def poll(self, timeout: float | None = None) -> Element | Sign:
        until = None if timeout is None else monotonic() + timeout
        while True:
            for piece in self.elements:
                rest = self.passing.rest(piece)
                if rest is not None:
                    return self.counted(rest)
            came = self._next(None if until is None else max(0.0, until - monotonic()))
            if came is Sign.END and self.passing.rows:
                raise shrunk(self.source, self.rows)
            if isinstance(came, Sign):
                return came
            self.elements = self.convert(came)

    def close(self) -> None:
        if self.ahead is not None:
            self.ahead.stop()

    def _next(self, timeout: float | None) -> Any:
        """What came next, or rows that did; a tick when nothing came in time, and the end."""
        if self.source.is_live and timeout is not None and self.ahead is None:
            self._read_ahead()
        if self.ahead is None:
            return self._next_here()
        wait = 0.0 if timeout == 0 else self.wait  # one who does not wait takes the rows that are there
        taken = self.ahead.take(self.batch_rows, wait, timeout)
        if isinstance(taken, Sign):
            return taken
        return GatheredRows(taken) if is_row(taken[0]) else taken[0]

    def _read_ahead(self, *first: Any) -> None:
        self.ahead = ReadAhead(chain(first, self.held, self.came), rows=self.batch_rows)

    def _next_here(self) -> Any:
        element = self.held.pop() if self.held else next(self.came, Sign.END)
        if not is_row(element):
            return element
        if self.source.is_live and self.wait is not None:
            self._read_ahead(element)
            return self._next(None)
        rows = GatheredRows([element])
        for element in self.came if self.batch_rows > 1 else ():
            if not is_row(element):
                self.held.append(element)
                break
            rows.append(element)
            if len(rows) == self.batch_rows:
                break
        return rows
