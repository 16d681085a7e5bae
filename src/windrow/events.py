"""What happens to a run, for whoever listens: one record of Python's logging an event, under the logger `windrow`.

Sources, sinks and engines tell; nobody here decides where that goes. The command line shows it with `--log`, a program
sets up logging as it does for its own. A record has `event`, a short name such as "checkpoint.written", and `fields`.
What has its own handle on the logger may do with `log.warning("connection lost", extra={"source": "trades"})`, which
the command line shows as the event "source.connection_lost".
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any

LOGGER = logging.getLogger("windrow")
LOGGER.addHandler(logging.NullHandler())  # a library says nothing by itself


class Seldom:
    """Whether it is time again for something that may repeat, by its cause; how often it was held back meanwhile.

    >>> now = iter([0.0, 1.0, 2.0, 30.0])
    >>> seldom = Seldom(clock=lambda: next(now))
    >>> [seldom.due("lost", 30.0) for _ in range(4)]
    [0, None, None, 2]
    """

    MOST = 1000
    """Causes that are remembered; the oldest is forgotten for a new one."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._told: dict[Any, tuple[float, int]] = {}
        self._lock = Lock()

    def due(self, cause: Any, seconds: float) -> int | None:
        """How often it was held back since it was last told; None: it is held back now, too."""
        now = self._clock()
        with self._lock:
            last, held = self._told.pop(cause, (None, 0))
            if last is not None and now - last < seconds:
                self._told[cause] = last, held + 1
                return None
            self._told[cause] = now, 0
            if len(self._told) > self.MOST:
                del self._told[next(iter(self._told))]
            return held


def is_heard() -> bool:
    """Whether anybody has set up logging for events: where not, nobody needs to look for them."""
    logger: logging.Logger | None = LOGGER
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


_SELDOM = Seldom()


def tell(event: str, message: str, /, *, level: int = logging.INFO, every: float | None = None, **fields: Any) -> None:
    """Something happened. With `every` seconds, the same event of the same `source` (or `cause`) is told so seldom.

    What was held back meanwhile is counted in the next one as `repeated`. Costs nothing much where nobody listens.
    """
    if not LOGGER.isEnabledFor(level):
        return
    if every is not None:
        held = _SELDOM.due((event, fields.get("source"), fields.get("cause")), every)
        if held is None:
            return
        if held:
            fields["repeated"] = held
    LOGGER.log(level, "%s", message, extra={"event": event, "fields": fields})
