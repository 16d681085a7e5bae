"""Sources that may never end, read by a run that may be asked to stop or to close while nothing comes."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from time import monotonic

from windrow.engines.run import Requests
from windrow.sources.base import BATCH_ROWS, TICK_SECONDS, Delivery, Given, Position, Reader, Sign, Source, lost_by

_AHEAD = 4
"""Elements that may have come already when a run is asked to close."""


def watched(source: Source, requests: Requests) -> Source:
    """The same elements; the run's requests are heeded while none comes. Sources that are there need no watching."""
    return WatchedSource(source.name, source.schema, source, requests) if source.is_live else source


@dataclass(frozen=True)
class WatchedSource(Source):
    """A source whose readers look around while they wait."""

    source: Source
    requests: Requests

    is_live = True

    @property
    def is_endless(self) -> bool:
        return self.source.is_endless

    @property
    def in_process_only(self) -> bool:
        return self.source.in_process_only

    @property
    def delivery(self) -> Delivery:
        return self.source.delivery

    def describe(self) -> str:
        return self.source.describe()

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        narrowed = self.source.select(self.schema.names)
        reader = narrowed.open(position, batch_rows=batch_rows, batch_wait=batch_wait)
        return _WatchedReader(reader, self.requests, inf if self.source.is_read_up else _AHEAD)


class _WatchedReader:
    """Waits as long as it is asked to, but never longer than a tick at a time."""

    def __init__(self, reader: Reader, requests: Requests, left: float) -> None:
        self.reader = reader
        self.requests = requests
        self.left = left
        """How many elements are still taken once the run is to close."""

    @property
    def position(self) -> Position:
        return self.reader.position

    @property
    def lost(self) -> int:
        return lost_by(self.reader)

    def poll(self, timeout: float | None = None) -> Given | Sign:
        until = None if timeout is None else monotonic() + timeout
        while self.left:
            left = TICK_SECONDS if until is None else min(TICK_SECONDS, max(0.0, until - monotonic()))
            element = self.reader.poll(left)
            if element is Sign.TICK and self.requests.heed_waiting():
                element = self.reader.poll(0.0)
                if element is Sign.TICK:
                    return Sign.END
            if element is not Sign.TICK:
                self.left -= self.requests.close.is_set()
                return element
            if until is not None and monotonic() >= until:
                return Sign.TICK
        return Sign.END

    def close(self) -> None:
        self.reader.close()
