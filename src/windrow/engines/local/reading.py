"""In which order the rows of several sources are read: by the data alone, never by how its batches are cut.

The source whose next row is earliest goes next, a pace at a time: times of one pace count as equal, so that sources
that run side by side are not read row by row. What is late in a union thus depends on the rows, not on batches.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from threading import Event
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.input.input import Input
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sources.iterables.read_ahead import ReadAhead

Element: TypeAlias = pa.RecordBatch | Punctuation


class Reader:
    """One source with its next element at hand; after its last element comes the punctuation that ends it."""

    def __init__(self, elements: Iterator[Element], stage: Input) -> None:
        self.elements = elements
        self.stage = stage
        self.waiting: Element | None = None
        self.places: Integers = np.empty(0, np.int64)
        """Where the rows of the waiting batch lie."""
        self.reach: Integers = self.places
        """The furthest place up to each of them: a batch is cut where this passes a limit, which no row before did."""
        self.done = False

    def _fill(self) -> Element:
        while self.waiting is None:
            element = next(self.elements, None)
            if element is None:
                self.waiting, self.done = Punctuation(END), True
            elif isinstance(element, Punctuation) or len(element):
                self.waiting = element
                self.places = np.empty(0, np.int64)
        return self.waiting

    @property
    def place(self) -> int:
        """Where its next row lies, rounded down to the pace. The end comes at once."""
        element = self._fill()
        if self.done:
            return START
        if isinstance(element, Punctuation):
            return self.stage.pace.round_down(element.value)
        if len(self.places) == 0:
            pace = self.stage.pace
            self.places = (self.stage.places_of(element) - pace.origin) // pace.step * pace.step + pace.origin
            self.reach = np.maximum.accumulate(self.places)
        return int(self.places[0])

    def take(self, limit: int) -> Element:
        """Its next element: of a batch, the rows before the first one above `limit`, and a stride at least."""
        element = self._fill()
        self.waiting = None
        if isinstance(element, Punctuation) or limit == END:
            return element
        cut = max(int(np.searchsorted(self.reach, limit, side="right")), self.stage.stride)
        if cut < len(element):
            self.waiting, self.places, self.reach = element.slice(cut), self.places[cut:], self.reach[cut:]
        return element.slice(0, cut)


def read_ahead(elements: Iterator[Element], depth: int = 2) -> Generator[Element, None, None]:
    """The same elements, read by a thread of its own while earlier ones are worked on; errors come in their place."""
    ahead = ReadAhead(elements, rows=depth, others=depth)
    try:
        while taken := ahead.take(1, 0.0):
            yield taken[0]
    finally:
        ahead.stop()


_AHEAD = 4
"""Elements of a live source that may have come already when a run is told to close."""


def until_closed(elements: Iterator[Element], close: Event) -> Generator[Element, None, None]:
    """The elements of a source that may never end: once `close` is set, those that are there."""
    left = _AHEAD
    for element in elements:
        yield element
        left -= close.is_set()
        if not left:
            return


def interleaved(readers: Mapping[str, Reader]) -> Generator[tuple[str, Element], None, None]:
    """The elements of all sources with their names; a source that ends is followed by its last punctuation."""
    left = dict(readers)
    while left:
        name = min(left, key=lambda one: left[one].place) if len(left) > 1 else next(iter(left))
        yield name, left[name].take(_limit(left, name))
        if left[name].done and left[name].waiting is None:
            del left[name]


def _limit(readers: Mapping[str, Reader], name: str) -> int:
    """How far a source may be read before it is another's turn; among equals, the first one goes first."""
    if all(reader.stage.is_patient for reader in readers.values()):
        return END
    names = list(readers)
    turn = names.index(name)
    limits = [readers[other].place - (i < turn) for i, other in enumerate(names) if i != turn]
    return min(limits, default=END)
