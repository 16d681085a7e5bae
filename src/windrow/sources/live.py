"""What can be asked of sources that may never end: not to hold rows back, and to say when nothing comes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from windrow.sources.base import Source
from windrow.sources.iterables.elements import IterableSource
from windrow.sources.memory import ReaderSource


def is_live(source: Source) -> bool:
    """Whether its rows may come slowly, and for ever: those of an iterator or a reader."""
    return isinstance(source, (IterableSource, ReaderSource)) and source.is_live


def in_time(source: Source, wait: float | None) -> Source:
    """The same rows, none of which waits for others longer than so many seconds (None: as long as it takes)."""
    return replace(source, wait=wait) if isinstance(source, IterableSource) else source


def watched(source: Source, on_wait: Callable[[], bool]) -> Source:
    """The same rows; `on_wait` is called now and then while none comes: it may raise, or say that none is awaited."""
    if isinstance(source, (IterableSource, ReaderSource)) and source.is_live:
        return replace(source, on_wait=on_wait)
    return source
