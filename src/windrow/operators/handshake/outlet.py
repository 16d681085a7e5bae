"""What workers found, on its way to the driver: a worker waits there while much is waiting to be taken."""

from __future__ import annotations

import threading
from collections import deque
from typing import TypeAlias

from windrow.aggregates.kinds.base import Integers

Found: TypeAlias = tuple[Integers, Integers]
"""Ids of left and of right rows, pair by pair."""
PAIRS = 1 << 16
"""So many pairs wait before workers do."""


class Outlet:
    """Pairs that wait to be taken. Its lock is that of the chain, so that one wait of the driver sees all news."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.room = threading.Condition(self.lock)
        self.changed = threading.Condition(self.lock)
        """There is something new for the driver to look at."""
        self.parts: deque[Found] = deque()
        self.pairs = 0
        self.is_closed = False

    @property
    def is_full(self) -> bool:
        return self.pairs >= PAIRS

    def put(self, found: Found) -> None:
        """Pairs of a worker, once there is room; after the end nobody wants them."""
        with self.lock:
            self.room.wait_for(lambda: not self.is_full or self.is_closed)
            if self.is_closed:
                return
            self.parts.append(found)
            self.pairs += len(found[0])
            if self.is_full:
                self.changed.notify_all()

    def take(self) -> list[Found]:
        """All that waits."""
        with self.lock:
            taken = list(self.parts)
            self.parts.clear()
            self.pairs = 0
            self.room.notify_all()
        return taken

    def close(self) -> None:
        """With the lock held: nothing is taken any more."""
        self.is_closed = True
        self.room.notify_all()
        self.changed.notify_all()
