"""From rows in order of their time to rows in order of arrival, piece by piece.

Only rows that are still on their way are kept: memory grows with the delay, never with the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from windrow.generate.disorder import Disorder
from windrow.generate.rows import MARK, SOURCE, TIME, Ints, Rows, count, join, take
from windrow.semantics.progress.policies import END

_ARRIVAL = "arrival"


@dataclass(frozen=True)
class Arrived:
    """Rows in arrival order, and the smallest time among all rows that come after them (END: none come)."""

    rows: Rows
    low: int


def reorder(pieces: Iterable[Rows], disorder: Disorder, rng: np.random.Generator) -> Iterator[Arrived]:
    """The same rows by arrival. The pieces hold rows in order of time; how they are cut changes no answer.

    Invariant: what is held back arrives no earlier than anything given out before.
    """
    held: list[Rows] = []
    for piece, upcoming in with_upcoming(pieces):
        arrivals = disorder.arrivals(piece[TIME], piece[SOURCE], rng)
        rows = join([*held, {**piece, _ARRIVAL: arrivals}])
        rows = take(rows, np.argsort(rows[_ARRIVAL], kind="stable"))
        ready = count(rows)
        if upcoming != END:  # of equal arrivals the earlier rows go first, so those up to the bound are ready
            ready = int(np.searchsorted(rows[_ARRIVAL], disorder.reached(upcoming), side="right"))
        held = [take(rows, slice(ready, None))]
        low = min(upcoming, int(held[0][TIME].min(initial=END)))
        given = take(rows, slice(0, ready))
        del given[_ARRIVAL]
        yield Arrived(given, low)


def with_upcoming(pieces: Iterable[Rows]) -> Iterator[tuple[Rows, int]]:
    """Each piece with the first time of the next one, END for the last."""
    previous: Rows | None = None
    for piece in pieces:
        if previous is not None:
            yield previous, int(piece[TIME][0])
        previous = piece  # and no longer the one before, whose memory the next piece is made in
    if previous is not None:
        yield previous, END


def punctuate(arrived: Iterable[Arrived], every: int) -> Iterator[Rows]:
    """The rows with exact punctuations between them: each time the low watermark enters another stretch of `every`.

    The low watermark after a row is the smallest time of all that follows. Column `punctuation` holds it on
    punctuation rows and -1 on data rows; there is none after the last row, where the stream itself ends.
    """
    stretch = 0
    for piece in arrived:
        low = low_watermarks(piece.rows[TIME], piece.low)
        stretches = low // every
        before = np.concatenate(([stretch], stretches[:-1]))
        at = np.flatnonzero((stretches > before) & (low != END))
        stretch = max(stretch, int(stretches[-1])) if len(low) else stretch
        yield _with_marks(piece.rows, at, low)


def low_watermarks(times: Ints, low: int) -> Ints:
    """For each row the smallest time among the rows after it, `low` being that of the rows after them all.

    >>> low_watermarks(np.array([5, 3, 8]), 6).tolist()
    [3, 6, 6]
    """
    following = np.append(times[1:], low)[: len(times)]
    return np.minimum.accumulate(following[::-1])[::-1]


def _with_marks(rows: Rows, at: Ints, low: Ints) -> Rows:
    index = np.insert(np.arange(count(rows)), at + 1, at)
    marks = np.insert(np.full(count(rows), -1, np.int64), at + 1, low[at])
    return {**take(rows, index), MARK: marks}
