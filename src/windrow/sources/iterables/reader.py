"""Reading what gives its elements one after another and cannot be asked to begin in the middle.

Nobody can be called back from an iterator that waits for its next element. So a thread does the waiting, and the one
that works on the elements waits for them only as long as it likes. The thread ends with the iterator, or after `stop`
as soon as the iterator gives something back; one that waits for an element then gets the end at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextvars import copy_context
from itertools import chain
from math import inf
from threading import Event, Thread
from time import monotonic
from typing import Any, TypeAlias

from windrow.sources.base import Element, ElementReader, Passing, Position, Sign, Source, shrunk
from windrow.sources.iterables.dict_rows import is_row

Convert: TypeAlias = Callable[[Any], Iterator[Element]]
"""An element as it came, as batches of the source or a punctuation."""


class GatheredRows(list[Any]):
    """Dict rows that came one after another, put together: a batch of one row costs as much as one of many."""


class ReadAhead:
    """An iterator read by a thread of its own: elements in their order, what it raises in its place.

    At most `rows` single rows and `others` other elements are read ahead. One thread takes.

    The reading thread only appends to `_ready` and the taking one only removes, so neither locks; each counts for
    itself the elements that are no rows.
    """

    def __init__(self, elements: Iterator[Any], *, rows: int, others: int = 2) -> None:
        self._elements = elements
        self._rows, self._others = rows, others
        self._ready: deque[Any] = deque()
        self._since = 0.0
        """When the oldest element that is ready came, or one before it."""
        self._others_read = self._others_taken = 0
        self._enough = 1
        """How many elements the taker waits for."""
        self._filled, self._taken = Event(), Event()
        self._stopped = False
        self._error: BaseException | None = None
        """What the iterator raised, if it did not just end."""
        try:
            Thread(target=copy_context().run, args=(self._read,), daemon=True, name="windrow-reader").start()
        except BaseException:  # Ctrl-C while the thread starts: nobody has a hold on it yet
            self.stop()
            raise

    def take(self, most: int, wait: float | None, timeout: float | None = None) -> list[Any] | Sign:
        """The next rows, or one other element alone; a tick when there is nothing to give within `timeout` seconds.

        Once there is a row, waits for more until there are `most`, until the first has waited `wait` seconds (None: as
        long as it takes), or until something comes that is no row.
        """
        limit = inf if timeout is None else monotonic() + timeout
        if not self._await(1, limit):
            return Sign.TICK
        due = inf if wait is None else self._since + wait
        if not self._await(most, min(due, limit)) and limit < due:
            return Sign.TICK
        if self._stopped:
            return Sign.END
        if self._ready[0] is Sign.END:  # which stays, in case someone asks again
            if self._error is not None:
                raise self._error
            return Sign.END
        taken = self._pop(most)
        self._taken.set()
        return taken

    def stop(self) -> None:
        """Nothing more is wanted."""
        self._stopped = True
        self._taken.set()
        self._filled.set()

    def _await(self, enough: int, until: float) -> bool:
        """Whether so many elements are there, or something that no row waits for, in time."""
        self._enough = enough
        while True:
            self._filled.clear()  # before looking, so that what comes after the look is noticed
            if len(self._ready) >= enough or (self._ready and self._others_ahead) or self._stopped:
                return True
            left = until - monotonic()
            if left <= 0:
                return False
            self._filled.wait(None if left == inf else left)

    @property
    def _others_ahead(self) -> int:
        return self._others_read - self._others_taken

    def _pop(self, most: int) -> list[Any]:
        ready = self._ready
        count = min(len(ready), most)  # taken before the look at others: these are counted before they are appended
        if not self._others_ahead:
            return [ready.popleft() for _ in range(count)]
        if is_row(ready[0]):
            taken = [ready.popleft()]
            while ready and len(taken) < most and is_row(ready[0]):
                taken.append(ready.popleft())
            return taken
        self._others_taken += 1
        return [ready.popleft()]

    def _read(self) -> None:
        try:
            for element in self._elements:
                if not self._stopped:
                    self._add(element)
                    if len(self._ready) >= self._rows or self._others_ahead >= self._others:
                        self._make_room()
                if self._stopped:
                    return
        except BaseException as error:
            self._error = error
        finally:
            del self._elements
        self._add(Sign.END)

    def _add(self, element: Any) -> None:
        ready = self._ready
        if not ready:
            self._since = monotonic()
        other = not is_row(element)
        if other:
            self._others_read += 1
        ready.append(element)
        if other or len(ready) >= self._enough:
            self._filled.set()

    def _make_room(self) -> None:
        while True:
            self._taken.clear()  # before looking, as in `_await`
            if self._stopped or (len(self._ready) < self._rows and self._others_ahead < self._others):
                return
            self._taken.wait()


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
