"""Sources that may never end, read by someone who looks around while nothing comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.sources.base import BATCH_ROWS, TICK_SECONDS, Element, Reader, Sign, Source
from windrow.sources.positions import Position

OnTick: TypeAlias = Callable[[], bool]
"""Called now and then while nothing comes: it may raise, or say that no more is awaited."""


def watched(source: Source, on_tick: OnTick) -> Source:
    """The same elements; `on_tick` is called now and then while none comes. Sources that are there need no watching."""
    return WatchedSource(source, on_tick) if source.is_live else source


@dataclass(frozen=True)
class WatchedSource:
    """A source whose readers look around while they wait."""

    source: Source
    on_tick: OnTick

    is_live = True

    @property
    def name(self) -> str:
        return str(getattr(self.source, "name", "stream"))

    @property
    def schema(self) -> pa.Schema:
        return self.source.schema

    @property
    def total_rows(self) -> int | None:
        return self.source.total_rows

    @property
    def can_seek(self) -> bool:
        return self.source.can_seek

    def describe(self) -> str:
        return self.source.describe()

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, source=self.source.select(columns))

    def open(self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, **how: Any) -> Reader:
        return _WatchedReader(self.source.open(position, batch_rows=batch_rows, **how), self.on_tick)


class _WatchedReader:
    """Waits as long as it is asked to, but never longer than a tick at a time."""

    def __init__(self, reader: Reader, on_tick: OnTick) -> None:
        self.reader = reader
        self.on_tick = on_tick

    @property
    def position(self) -> Position:
        return self.reader.position

    def poll(self, timeout: float | None = None) -> Element | Sign:
        until = None if timeout is None else monotonic() + timeout
        while True:
            left = TICK_SECONDS if until is None else min(TICK_SECONDS, max(0.0, until - monotonic()))
            element = self.reader.poll(left)
            if element is not Sign.TICK:
                return element
            if self.on_tick():
                rest = self.reader.poll(0.0)
                return Sign.END if rest is Sign.TICK else rest
            if until is not None and monotonic() >= until:
                return Sign.TICK

    def close(self) -> None:
        self.reader.close()
