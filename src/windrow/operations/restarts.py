"""Going on after a fault that came from outside: what counts as one, and how long to wait before trying again."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from time import monotonic

from windrow.errors import ConfigurationError, QueryError, UnavailableError

MOST_SECONDS = 60.0
"""The longest wait, and how long a run must have gone well for the waits to begin anew."""
_AWAY = frozenset(
    getattr(errno, name)
    for name in (
        *("ECONNREFUSED", "ECONNRESET", "ECONNABORTED", "EPIPE", "ETIMEDOUT", "EHOSTUNREACH", "EHOSTDOWN"),
        *("ENETUNREACH", "ENETDOWN", "ENETRESET", "ENOTCONN", "ESHUTDOWN"),
    )
    if hasattr(errno, name)
)
_IN_JAVA = re.compile(
    r"java\.net\.(?:Connect|UnknownHost|SocketTimeout|NoRouteToHost|Socket)Exception"
    r"|org\.apache\.kafka\.common\.(?:errors\.(?:Timeout|Disconnect|Network)Exception|KafkaException)"
    r"|Connection (?:refused|reset)"
)


def is_outside(error: BaseException) -> bool:
    """Whether something that a run depends on was away, which may be back: what a restart is for.

    >>> is_outside(ConnectionRefusedError(111, "refused")), is_outside(ValueError("range"))
    (True, False)
    """
    if isinstance(error, (ConfigurationError, QueryError)):
        return False
    return any(map(_is_away, _chain(error)))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        yield error
        error = error.__cause__ or error.__context__  # also where messages leave it out


def _is_away(error: BaseException) -> bool:
    if isinstance(error, (UnavailableError, ConnectionError, TimeoutError)):
        return True
    if isinstance(error, OSError) and error.errno in _AWAY:
        return True
    of_spark = type(error).__module__.partition(".")[0] in ("pyspark", "py4j")
    return of_spark and _IN_JAVA.search(str(error)) is not None


class Delays:
    """Waits that double, up to a minute, until a run has gone well for so long.

    >>> now = [0.0]
    >>> delays = Delays(5.0, clock=lambda: now[0])
    >>> delays.begin(); [delays.next() for _ in range(5)]
    [5.0, 10.0, 20.0, 40.0, 60.0]
    >>> delays.begin(); now[0] += 61; delays.next()
    5.0
    """

    def __init__(self, first: float, *, clock: Callable[[], float] = monotonic) -> None:
        self.first = first
        self._clock = clock
        self._next = first
        self._began = clock()

    def begin(self) -> None:
        """A run begins."""
        self._began = self._clock()

    def next(self) -> float:
        """It broke off: how long to wait."""
        most = max(self.first, MOST_SECONDS)
        if self._clock() - self._began >= MOST_SECONDS:
            self._next = self.first
        found, self._next = self._next, min(most, 2 * self._next)
        return found
