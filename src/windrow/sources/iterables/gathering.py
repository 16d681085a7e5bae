"""Rows among the elements of an iterable, put together, because a batch of one row costs as much as one of many."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from windrow.sources.base import Sign
from windrow.sources.iterables.dict_rows import is_row
from windrow.sources.iterables.read_ahead import ReadAhead


class Rows(list[Any]):
    """Dict rows that came one after another."""


class Gathering:
    """The elements of an iterable in order, neighbouring dict rows as `Rows` of up to `batch_rows`.

    Of one that is `live` no row waits for others longer than `wait` seconds (None: until a batch is full). Elements are
    read right here until somebody waits for one only so long, or a row may wait only so long: from then on a thread of
    its own reads them.
    """

    def __init__(self, elements: Iterator[Any], batch_rows: int, *, live: bool, wait: float | None = None) -> None:
        self.elements = elements
        self.batch_rows = batch_rows
        self.live = live
        self.wait = wait
        self.ahead: ReadAhead | None = None
        self.held: list[Any] = []
        """What ended the last rows that were read right here."""

    def next(self, timeout: float | None) -> Any:
        """The next of them; a tick when none came in time, and the end."""
        if self.live and timeout is not None and self.ahead is None:
            self._read_ahead()
        if self.ahead is None:
            return self._next_here()
        wait = 0.0 if timeout == 0 else self.wait  # whoever does not wait takes the rows that are there
        taken = self.ahead.take(self.batch_rows, wait, timeout)
        if isinstance(taken, Sign):
            return taken
        return Rows(taken) if is_row(taken[0]) else taken[0]

    def stop(self) -> None:
        """Nothing more is wanted."""
        if self.ahead is not None:
            self.ahead.stop()

    def _read_ahead(self, *first: Any) -> None:
        self.ahead = ReadAhead(chain(first, self.held, self.elements), rows=self.batch_rows)

    def _next_here(self) -> Any:
        element = self.held.pop() if self.held else next(self.elements, Sign.END)
        if not is_row(element):
            return element
        if self.live and self.wait is not None:
            self._read_ahead(element)
            return self.next(None)
        return self._rows_here(element)

    def _rows_here(self, first: Any) -> Rows:
        rows = Rows([first])
        for element in self.elements if self.batch_rows > 1 else ():
            if not is_row(element):
                self.held.append(element)
                break
            rows.append(element)
            if len(rows) == self.batch_rows:
                break
        return rows
