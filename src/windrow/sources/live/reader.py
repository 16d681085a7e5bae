"""What readers of live streams share: batches of at most so many rows, positions between any two, ticks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

import pyarrow as pa

from windrow.sources.base import Given, Passing, Position, Sign, counts_of, cut
from windrow.sources.rejects import Reject, Rejects


class LiveReader(ABC):
    """Gives what `fill` brings, in pieces.

    A position is where the bytes begin that the last rows came from, and how many rows behind that were given. What
    cannot be read again has no such place: there, a restored run goes on with what comes.
    """

    def __init__(self, name: str, position: Position | None, batch_rows: int) -> None:
        self.name = name
        self.batch_rows = batch_rows
        self.rows, _ = counts_of(position)
        self.place: Any = None if position is None else position.get("place")
        self.given = 0 if position is None else position.get("given", 0)
        """Rows behind the place that were given, or are to be passed over."""
        self.of: Any = None if position is None else position.get("of")
        """What these rows are of, where a place has several parts."""
        self._passing = Passing({"rows": self.given if self.place is not None else 0})
        self._ready: deque[Given] = deque()
        self._next_place = self.place
        self.has_ended = False

    @property
    def position(self) -> Position:
        place = {} if self.place is None else {"place": self.place}
        return {"rows": self.rows, **place, **({"given": self.given, "of": self.of} if self.given and place else {})}

    def poll(self, timeout: float | None = None) -> Given | Sign:
        until = None if timeout is None else monotonic() + timeout
        while not self._ready:
            if self.has_ended:
                return Sign.END
            self.place, self.given = self.here(), self._passing.rows
            batches, rejects = self.fill(None if until is None else max(0.0, until - monotonic()))
            self._add(batches, rejects)
            if not self._ready and until is not None and monotonic() >= until and not self.has_ended:
                return Sign.TICK
        element = self._ready.popleft()
        if isinstance(element, pa.RecordBatch):
            self.rows += element.num_rows
            self.given += element.num_rows
        if not self._ready:
            self.place, self.given = self.here(), 0
        return element

    def _add(self, batches: Iterable[pa.RecordBatch], rejects: Sequence[Reject]) -> None:
        for batch in batches:
            rest = self._passing.rest(batch) if self._passing.rows else batch
            if isinstance(rest, pa.RecordBatch):
                self._ready.extend(cut(rest, self.batch_rows))
        if rejects:
            self._ready.append(Rejects.of(self.name, rejects))

    @abstractmethod
    def fill(self, timeout: float | None) -> tuple[Iterable[pa.RecordBatch], Sequence[Reject]]:
        """What came within so many seconds (None: as long as it takes), as soon as something did; sets `has_ended`."""

    def here(self) -> Any:
        """Where reading goes on behind all that `fill` gave, in JSON; None where nothing can be read again."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Nothing more is wanted."""
