"""What came and was not taken yet: between the thread that empties a socket and the one that works on rows.

Rows that follow one another are one piece, however many datagrams brought them, so that whoever takes them after some
work takes all of them. The ring has room for so many bytes; when it is full the socket is left alone, its own buffer
fills, and what does not fit there any more the kernel counts.
"""

from __future__ import annotations

from collections import deque
from math import inf
from threading import Condition
from time import monotonic
from typing import TypeAlias

from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Sign
from windrow.sources.datagrams.records import Piece
from windrow.sources.rejects import Reject

_MOST_LINES = 1 << 20
"""Bytes of text that are put together."""


class Lines(list[bytes]):
    """Messages, or lines of them, one after another."""


class Refused(list[Reject]):
    """Messages that no row could be made of, one after another."""


Item: TypeAlias = "Piece | Lines | Punctuation | Refused | BaseException | Sign"


class Ring:
    """One thread puts, one takes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.held = 0
        """Bytes in it."""
        self.full_seconds = 0.0
        """How long the socket was left alone because nobody took what was there."""
        self._items: deque[tuple[Item, int]] = deque()
        self._since = 0.0
        """When the oldest rows in it came, or some before them."""
        self._changed = Condition()
        self._enough = 1
        """How many items or bytes the taker waits for."""
        self.stopped = False

    def put(self, item: Item, size: int) -> None:
        """Add what came, of so many bytes."""
        with self._changed:
            if not self._items:
                self._since = monotonic()
            if not self._joined(item, size):
                self._items.append((item, size))
            self.held += size
            if self._is_due():
                self._changed.notify_all()

    def _joined(self, item: Item, size: int) -> bool:
        """Whether it could be made part of what came last."""
        last, before = self._items[-1] if self._items else (None, 0)
        if isinstance(item, Piece) and isinstance(last, Piece) and last.block is item.block and last.end == item.start:
            self._items[-1] = Piece(item.block, last.start, item.end, item.dictionaries), before + size
            return True
        if isinstance(item, Lines) and isinstance(last, Lines) and before < _MOST_LINES:
            last.extend(item)
            self._items[-1] = last, before + size
            return True
        if isinstance(item, Refused) and isinstance(last, Refused):
            last.extend(item)
            self._items[-1] = last, before + size
            return True
        return False

    def make_room(self) -> bool:
        """Wait until there is room; whether anything is still wanted."""
        with self._changed:
            if self.held >= self.room and not self.stopped:
                began = monotonic()
                while self.held >= self.room and not self.stopped:
                    self._changed.wait()
                self.full_seconds += monotonic() - began
            return not self.stopped

    def take(self, enough: int, wait: float, timeout: float | None) -> Item:
        """What came first, once it has waited for `wait` seconds, or has `enough` bytes; a tick when nothing did."""
        limit = inf if timeout is None else monotonic() + timeout
        with self._changed:
            while not self._items and not self.stopped:
                self._enough = 0
                if (left := limit - monotonic()) <= 0:
                    return Sign.TICK
                self._changed.wait(None if left == inf else left)
            self._enough = enough
            due = self._since + wait
            while not self.stopped and not self._is_due() and (left := min(due, limit) - monotonic()) > 0:
                self._changed.wait(left)
            if self.stopped:
                return Sign.END
            if self._items[0][0] is Sign.END:  # which stays, in case someone asks again
                return Sign.END
            item, size = self._items.popleft()
            self.held -= size
            self._since = monotonic()
            self._changed.notify_all()
            return item

    def _is_due(self) -> bool:
        """Whether what came first need not wait for more."""
        return len(self._items) > 1 or self.held >= self._enough or not isinstance(self._items[0][0], (Piece, Lines))

    def stop(self) -> None:
        """Nothing more is wanted."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
