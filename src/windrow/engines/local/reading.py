"""In which order the rows of several sources are read: by the data alone, never by how its batches are cut.

The source whose next row is earliest goes next, a pace at a time: times of one pace count as equal, so that sources
that run side by side are not read row by row. What is late in a union thus depends on the rows, not on batches.

So nothing is read on before every source has shown its next row, however long it lets itself be waited for. Only one
with an idle time by the clock is passed by once it has been silent for so long, until it has something again.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from threading import Event
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.input.input import Input
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sources.base import Given, Position, Reader, Sign, begin_of, lost_by
from windrow.sources.iterables.reader import ReadAhead
from windrow.sources.rejects import Rejects

Clock = Callable[[], float]


class Reading:
    """One source with its next element at hand; after its last element comes the punctuation that ends it.

    `silence` is after how many seconds without an element it may be passed by. It goes on after `done` rows behind the
    place where its reader was opened.
    """

    def __init__(
        self,
        reader: Reader,
        stage: Input,
        *,
        done: int = 0,
        silence: float | None = None,
        clock: Clock = monotonic,
    ) -> None:
        self.reader = reader
        self.stage = stage
        self.silence = silence
        self.clock = clock
        self.last_came = clock()
        self.waiting: Given | None = None
        self.start = reader.position
        """Where the waiting element begins, or the next one."""
        self.done = done
        """Rows behind the start that were taken."""
        self.places: Integers = np.empty(0, np.int64)
        """Where the rows of the waiting batch lie."""
        self.reach: Integers = self.places
        """The furthest place up to each of them: a batch is cut where this passes a limit, which no row before did."""
        self.ended = False

    @property
    def position(self) -> dict[str, Any]:
        """Behind what was taken: where to open a reader, and how many rows behind that are done."""
        return {"at": self.start, "done": self.done}

    @property
    def is_idle(self) -> bool:
        """Whether it has been silent for so long that others go on without it."""
        return self.silence is not None and self.waiting is None and self.clock() - self.last_came >= self.silence

    def fill(self, timeout: float | None) -> bool:
        """Whether its next element is at hand, or comes within so many seconds (None: as long as it takes)."""
        while self.waiting is None:
            element = self.reader.poll(timeout)
            if element is Sign.TICK:
                return False
            self.last_came = self.clock()
            if isinstance(element, Sign):
                self.waiting, self.ended = Punctuation(END), True
            elif isinstance(element, (Punctuation, Rejects)):
                self.waiting = element
            elif len(element) <= self.done:
                self.start, self.done = self.reader.position, self.done - len(element)
            else:
                self.start = begin_of(self.reader, self.start)
                self.waiting = element.slice(self.done) if self.done else element
                self.places = np.empty(0, np.int64)
        return True

    @property
    def place(self) -> int:
        """Where its next row, which is at hand, lies, rounded down to the pace. The end comes at once, and so does
        what was rejected."""
        element = self.waiting
        assert element is not None
        if self.ended or isinstance(element, Rejects):
            return START
        if isinstance(element, Punctuation):  # of a single group or partition it says nothing about where the source is
            return START if element.group is not None else self.stage.pace.round_down(element.value)
        if len(self.places) == 0:
            pace = self.stage.pace
            self.places = (self.stage.places_of(element) - pace.origin) // pace.step * pace.step + pace.origin
            self.reach = np.maximum.accumulate(self.places)
        return int(self.places[0])

    def take(self, limit: int) -> Given:
        """The element at hand: of a batch, the rows before the first one above `limit`, and a stride at least."""
        element, self.waiting = self.waiting, None
        assert element is not None
        if isinstance(element, pa.RecordBatch) and limit != END:
            cut = max(int(np.searchsorted(self.reach, limit, side="right")), self.stage.stride)
            if cut < len(element):
                self.waiting, self.places, self.reach = element.slice(cut), self.places[cut:], self.reach[cut:]
                self.done += cut
                return element.slice(0, cut)
        self.start, self.done = self.reader.position, 0
        return element


class ReadAheadReader:
    """The same elements, read by a thread of its own while earlier ones are worked on; errors come in their place."""

    def __init__(self, reader: Reader, depth: int = 2, tick: float | None = None) -> None:
        """The thread looks every `tick` seconds whether anybody wants it (None: when it has something)."""
        self.reader = reader
        self.tick = tick
        self.is_wanted = True
        self.has_ended = Event()
        self.position: Position = reader.position
        self.begins: Position = reader.position
        """Where the element begins that was given last."""
        self.depth = depth
        self.ahead: ReadAhead | None = None

    @property
    def lost(self) -> int:
        return lost_by(self.reader)

    def poll(self, timeout: float | None = None) -> Given | Sign:
        if self.ahead is None:
            self.ahead = ReadAhead(self._read(), rows=self.depth, others=self.depth)
        taken = self.ahead.take(1, 0.0, timeout)
        if isinstance(taken, Sign):
            return taken
        element: Given
        element, self.begins, self.position = taken[0]
        return element

    def close(self) -> None:
        if self.ahead is None:
            self.reader.close()
        else:
            self.is_wanted = False
            self.ahead.stop()
            if self.tick is not None:  # it ends soon, and what it has open is free for others then
                self.has_ended.wait(10 * self.tick)

    def _read(self) -> Iterator[tuple[Given, Position, Position]]:
        """What the thread reads; it closes what it reads, because nobody else may do that meanwhile."""
        try:
            before = self.reader.position
            while self.is_wanted and (element := self.reader.poll(self.tick)) is not Sign.END:
                behind = self.reader.position
                if not isinstance(element, Sign):
                    yield element, begin_of(self.reader, before), behind
                before = behind
        finally:
            self.reader.close()
            self.has_ended.set()


def interleaved(
    readings: Mapping[str, Reading], tick: float | None = None, on_tick: Callable[[], bool] = lambda: False
) -> Generator[tuple[str, Given], None, None]:
    """The elements of all sources with their names; a source that ends is followed by its last punctuation.

    While something is awaited, `on_tick` is called every `tick` seconds (None: never); it says whether to end here.
    """
    left = dict(readings)
    try:
        while left:
            ready = _ready(left, tick)
            if not ready:
                if on_tick():
                    return
                continue
            name = min(ready, key=lambda one: ready[one].place) if len(ready) > 1 else next(iter(ready))
            yield name, left[name].take(_limit(ready, name))
            if left[name].ended and left[name].waiting is None:
                del left[name]
    finally:
        for reading in readings.values():
            reading.reader.close()


def _ready(readings: Mapping[str, Reading], tick: float | None) -> Mapping[str, Reading]:
    """The sources among which the next one is chosen: all that are not passed by; none while one is awaited."""
    ready = {name: reading for name, reading in readings.items() if reading.fill(0.0 if reading.is_idle else tick)}
    if len(ready) == len(readings):
        return readings
    if all(reading.is_idle for name, reading in readings.items() if name not in ready):
        if not ready:  # all of them: wait for one, lest this goes round and round
            next(iter(readings.values())).fill(tick)
        return ready
    return {}


def _limit(readings: Mapping[str, Reading], name: str) -> int:
    """How far a source may be read before it is another's turn; among equals, the first one goes first."""
    if all(reading.stage.is_patient for reading in readings.values()):
        return END
    names = list(readings)
    turn = names.index(name)
    limits = [readings[other].place - (i < turn) for i, other in enumerate(names) if i != turn]
    return min(limits, default=END)
