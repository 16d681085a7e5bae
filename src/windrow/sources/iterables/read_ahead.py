"""An iterator read by a thread of its own, so that what is there can be taken while the next element is awaited.

Nobody can be called back from an iterator that waits for its next element. So a thread does the waiting, and whoever
works on the elements waits for them only as long as it likes. The thread ends with the iterator, or after `stop` as
soon as the iterator gives something back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextvars import copy_context
from threading import Event, Thread
from time import monotonic
from typing import Any

from windrow.sources.iterables.dict_rows import is_row

_LOOK_AROUND = 0.1
"""Seconds after which one who waits is asked whether that still makes sense."""


class _End:
    """After the last element: what the iterator raised, if it did not just end."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class ReadAhead:
    """Elements in their order, what the iterator raises in its place.

    At most `rows` single rows and `others` other elements are read ahead. `on_wait` is called now and then while
    nothing comes; what it raises ends the waiting, and when it is true, no more is waited for. One thread takes.

    The reading thread only appends to `_ready` and the taking one only removes, so neither locks; each counts for
    itself the elements that are no rows.
    """

    def __init__(
        self, elements: Iterator[Any], *, rows: int, others: int = 2, on_wait: Callable[[], bool] | None = None
    ) -> None:
        self._elements = elements
        self._rows, self._others = rows, others
        self._on_wait = on_wait
        self._ready: deque[Any] = deque()
        self._since = 0.0
        """When the oldest element that is ready came, or one before it."""
        self._others_read = self._others_taken = 0
        self._enough = 1
        """How many elements the taker waits for."""
        self._filled, self._taken = Event(), Event()
        self._stopped = False
        Thread(target=copy_context().run, args=(self._read,), daemon=True, name="windrow-reader").start()

    def take(self, most: int, wait: float) -> list[Any]:
        """The next rows, or one other element alone; none at the end.

        Waits for the first one as long as it takes; then for more rows until there are `most`, until the first has
        waited `wait` seconds, or until something comes that is no row.
        """
        self._await(1, None)
        if not self._ready:
            return []
        self._await(most, self._since + wait)
        taken = self._pop(most)
        self._taken.set()
        if not isinstance(taken[0], _End):
            return taken
        if taken[0].error is not None:
            raise taken[0].error
        return []

    def stop(self) -> None:
        """Nothing more is wanted."""
        self._stopped = True
        self._taken.set()

    def _await(self, enough: int, until: float | None) -> None:
        self._enough = enough
        while True:
            self._filled.clear()  # before looking, so that what comes after the look is noticed
            if len(self._ready) >= enough or (self._ready and self._others_ahead):
                return
            left = None if until is None else until - monotonic()
            if left is not None and left <= 0:
                return
            if self._on_wait is None:
                self._filled.wait(left)
            else:
                self._filled.wait(_LOOK_AROUND if left is None else min(left, _LOOK_AROUND))
                if self._on_wait():
                    return

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
        end = _End()
        try:
            for element in self._elements:
                if self._stopped:
                    return
                self._add(element)
                if len(self._ready) >= self._rows or self._others_ahead >= self._others:
                    self._make_room()
        except BaseException as error:
            end = _End(error)
        finally:
            del self._elements
        self._add(end)

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
        while not self._stopped:
            self._taken.clear()
            if len(self._ready) < self._rows and self._others_ahead < self._others:
                return
            self._taken.wait()
