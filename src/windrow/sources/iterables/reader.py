"""Reading what gives its elements one after another and cannot be asked to begin in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, TypeAlias

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Element, Sign
from windrow.sources.iterables.gathering import Gathering
from windrow.sources.positions import Passing, Position, counts_of, position_of

Convert: TypeAlias = Callable[[Any], Iterator[Element]]
"""An element as it came, as batches of the source or a punctuation."""


class IteratorReader:
    """Reads from the beginning and passes over what lies before its position."""

    def __init__(
        self, gathering: Gathering, convert: Convert, position: Position | None, fewer: Callable[[], SourceError]
    ) -> None:
        """`fewer` makes the error for one that ends before its position."""
        self.gathering = gathering
        self.convert = convert
        self.fewer = fewer
        self.passing = Passing(position)
        self.rows, self.punctuations = counts_of(position)
        self.pieces: Iterator[Element] = iter(())

    @property
    def position(self) -> Position:
        return position_of(self.rows, self.punctuations)

    def poll(self, timeout: float | None = None) -> Element | Sign:
        until = None if timeout is None else monotonic() + timeout
        while True:
            for piece in self.pieces:
                rest = self.passing.rest(piece)
                if rest is not None:
                    return self._counted(rest)
            came = self.gathering.next(None if until is None else max(0.0, until - monotonic()))
            if came is Sign.END and self.passing.rows:
                raise self.fewer()
            if isinstance(came, Sign):
                return came
            self.pieces = self.convert(came)

    def _counted(self, element: Element) -> Element:
        if isinstance(element, Punctuation):
            self.punctuations += 1
        else:
            self.rows += element.num_rows
            self.punctuations = 0
        return element

    def close(self) -> None:
        self.gathering.stop()
