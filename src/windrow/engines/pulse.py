"""The pulse of a run: that its thread lives, that it works, and what it waits for. Written there, read by anybody.

Each is one attribute that is replaced as a whole, so nobody who looks ever makes the run wait.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic


class Pulse:
    """What the thread that runs leaves behind on its way."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.started_at = clock()
        self.seen_at: float | None = None
        """When the thread was last between two elements, or looked around while none came."""
        self.worked_at = self.started_at
        """When an element was last worked on, or none was there to be."""
        self.held_by: str | None = None
        """The source that is awaited while elements of others are at hand."""
        self.is_busy = False
        """Whether one piece of work is under way elsewhere, a micro-batch."""

    @property
    def is_ready(self) -> bool:
        """Whether all sources are open, and the first element or tick was seen."""
        return self.seen_at is not None

    @property
    def silence(self) -> float:
        """Seconds since the thread was last seen."""
        seen = self.started_at if self.seen_at is None else self.seen_at
        return max(0.0, self.clock() - seen)

    @property
    def held(self) -> float:
        """Seconds for which elements have been waiting for a source; 0 when none is held back."""
        return max(0.0, self.clock() - self.worked_at) if self.held_by is not None else 0.0

    @property
    def busy(self) -> float:
        """Seconds for which one piece of work has been under way elsewhere; 0 when none is."""
        return max(0.0, self.clock() - self.worked_at) if self.is_busy else 0.0

    def work(self) -> None:
        """An element was worked on."""
        self.seen_at = self.worked_at = self.clock()
        self.held_by = None

    def tick(self, held_by: str | None = None, *, busy: bool = False) -> None:
        """Nothing came; elements may be there that wait for a source, or are worked on elsewhere."""
        self.seen_at = now = self.clock()
        if held_by is None and not busy:
            self.worked_at = now
        self.held_by, self.is_busy = held_by, busy
