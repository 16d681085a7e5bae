"""The rows of one side that a chain may still find partners for: their columns, and whether they have met one.

The chain knows rows by their ids, which are given as they come. Rows lie in chunks by id; small neighbours are put
together, and a chunk is let go when all of its rows have left. Workers read columns while the driver adds rows: a list
of chunks is never changed, only replaced, and the rows of a chunk are never changed at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.joins.results import Picked
from windrow.semantics.progress.policies import END

CHUNK = 1 << 16


@dataclass
class _Chunk:
    first: int
    rows: Picked
    times: Integers
    done: npt.NDArray[np.bool_]
    """Rows that have met a partner, or left."""
    earliest: int
    latest: int

    def __len__(self) -> int:
        return len(self.rows)


def timed(rows: Picked) -> Integers:
    """The times of rows that have them."""
    assert rows.times is not None
    return rows.times


class Kept:
    """Rows by id."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        """The next id."""
        self.chunks: list[_Chunk] = []

    def __len__(self) -> int:
        return sum(map(len, self.chunks))

    def add(self, rows: Picked, done: npt.NDArray[np.bool_] | None = None) -> Integers:
        """Keep rows; gives their ids."""
        ids = np.arange(self.count, self.count + len(rows))
        if len(rows):
            times = timed(rows)
            marks = np.zeros(len(rows), np.bool_) if done is None else done
            self._push(_Chunk(self.count, rows, times, marks, int(times.min()), int(times.max())))
        self.count += len(rows)
        return ids

    def _push(self, chunk: _Chunk) -> None:
        """Each chunk is at least twice as long as the next, or long enough, unless one between them is gone."""
        chunks = list(self.chunks)
        while chunks and len(chunks[-1]) < min(CHUNK, 2 * len(chunk)):
            before = chunks[-1]
            if before.first + len(before) < chunk.first:
                break
            chunks.pop()
            rows = Picked.together([before.rows, chunk.rows])
            done = np.concatenate([before.done, chunk.done])
            span = min(before.earliest, chunk.earliest), max(before.latest, chunk.latest)
            chunk = _Chunk(before.first, rows, timed(rows), done, *span)
        self.chunks = [*chunks, chunk]

    def gather(self, ids: Integers, columns: Sequence[str] | None = None) -> Picked:
        """Rows by id, in this order; at least one. All columns, or those that there are of some."""
        places, order = self._placed(ids)
        if len(places) == 1:
            ((chunk, offsets),) = places
            return chunk.rows.only(columns).take(offsets)
        whole = Picked.together([chunk.rows.only(columns).take(offsets) for chunk, offsets in places])
        back = np.empty(len(ids), np.int64)
        back[order] = np.arange(len(ids))
        return whole.take(back)

    def mark(self, ids: Integers) -> Integers:
        """Note that rows have met a partner; gives those for which it is the first, each once."""
        ids = np.unique(ids)
        news = np.zeros(len(ids), np.bool_)
        places, _ = self._placed(ids)
        start = 0
        for chunk, offsets in places:
            news[start : start + len(offsets)] = ~chunk.done[offsets]
            chunk.done[offsets] = True
            start += len(offsets)
        return ids[news]

    def _placed(self, ids: Integers) -> tuple[list[tuple[_Chunk, Integers]], Integers]:
        """The chunks of ids with the places there, and the order in which these are given."""
        chunks = self.chunks
        firsts = np.array([chunk.first for chunk in chunks])
        if len(ids) == 0:
            return [], ids
        low, high = np.searchsorted(firsts, (ids.min(), ids.max()), side="right") - 1
        if low == high:  # so it is for most pairs that a worker finds together
            return [(chunks[low], ids - firsts[low])], np.arange(len(ids))
        places = np.searchsorted(firsts, ids, side="right") - 1
        order = np.argsort(places, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(places[order])) + 1)
        return [(chunks[places[part[0]]], ids[part] - firsts[places[part[0]]]) for part in parts], order

    def leave(self, limit: int) -> Iterator[Picked]:
        """Rows below the limit go; those that never met a partner are given."""
        for chunk in self.chunks:
            if chunk.earliest >= limit and limit != END:
                continue
            below = chunk.times < limit if limit != END else np.ones(len(chunk), np.bool_)
            alone = np.flatnonzero(below & ~chunk.done)
            if len(alone):
                chunk.done[alone] = True
                yield chunk.rows.take(alone)
        self.chunks = [chunk for chunk in self.chunks if chunk.latest >= limit and limit != END]

    def leaving(self, limit: int) -> int:
        """How many rows there are in chunks that could be let go."""
        return sum(len(chunk) for chunk in self.chunks if chunk.latest < limit or limit == END)

    @property
    def nbytes(self) -> int:
        data = sum(chunk.rows.data.nbytes for chunk in self.chunks if chunk.rows.data is not None)
        return data + sum(chunk.times.nbytes + chunk.done.nbytes for chunk in self.chunks)

    def done(self, ids: Integers) -> npt.NDArray[np.bool_]:
        """Which of some rows, in the order of ids, have met a partner."""
        places, _ = self._placed(ids)
        return np.concatenate([chunk.done[offsets] for chunk, offsets in places])
