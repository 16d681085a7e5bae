"""So many rows a second: whoever sends waits for the moment at which the next ones are due."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

_MOMENT = 0.5e-3
"""Seconds of rows that go out together, at the least."""
_BEHIND = 0.1
"""Seconds of rows that are made up for; who is further behind goes on from there, without a flood."""


class Pace:
    """A bucket that fills with `rate` rows a second (None: it is always full).

    >>> now = [5.0]
    >>> pace = Pace(10_000.0, clock=lambda: now[0], wait=lambda seconds: now.append(now.pop() + seconds))
    >>> [pace.due(100), round(now[0], 4), pace.due(100), round(now[0], 4), pace.due(3), round(now[0], 4)]
    [5, 5.0, 5, 5.0005, 3, 5.001]
    """

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = monotonic,
        wait: Callable[[float], object] = sleep,
    ) -> None:
        self.rate, self._clock, self._wait = rate, clock, wait
        self._next = clock()
        """When the next row is due."""

    def due(self, most: int) -> int:
        """Wait until rows are due, and say how many of these go now."""
        if self.rate is None:
            return most
        left = self._next - self._clock()
        if left > 0:
            self._wait(left)
        late = self._clock() - self._next
        if late > _BEHIND:
            self._next += late - _BEHIND
            late = _BEHIND
        rows = min(most, max(1, int((_MOMENT + max(0.0, late)) * self.rate)))
        self._next += rows / self.rate
        return rows
