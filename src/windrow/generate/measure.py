"""How disordered a stream is, measured in one pass and constant memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from windrow.generate.rows import Ints
from windrow.semantics.progress.policies import START

_FINE = 1024
"""Buckets for each power of two: a quantile is at most 0.1 percent too high, and exact below this many units."""


@dataclass(frozen=True)
class Measured:
    """Lateness of a stream: how far each row's time lies below the largest time seen before it.

    `late_fraction` is the share of rows that are late at all; `p99` is over all rows, late or not.
    """

    rows: int
    late_fraction: float
    p99: timedelta
    max: timedelta

    def __str__(self) -> str:
        late = f"{100 * self.late_fraction:.3g} % of {self.rows} rows late"
        return f"{late}, lateness p99 {_seconds(self.p99)} / max {_seconds(self.max)}"


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():.3g} s"


def measure(times: Iterable[Ints]) -> Measured:
    """The disorder of times in microseconds, given in arrival order, piece by piece.

    >>> print(measure([np.array([10_000_000, 7_000_000]), np.array([12_000_000])]))
    33.3 % of 3 rows late, lateness p99 3 s / max 3 s
    """
    high, largest, late, rows = START, 0, 0, 0
    histogram = np.zeros(64 * _FINE, np.int64)
    for piece in times:
        if not len(piece):
            continue
        highs = np.maximum(np.maximum.accumulate(piece), high)
        lateness = highs - piece
        high = int(highs[-1])
        rows += len(piece)
        late += int(np.count_nonzero(lateness))
        largest = max(largest, int(lateness.max()))
        histogram += np.bincount(_bucket(lateness), minlength=len(histogram))
    rank = int(np.searchsorted(np.cumsum(histogram), np.ceil(0.99 * rows))) if rows else 0
    p99 = min(largest, _upper(rank))
    return Measured(rows, late / rows if rows else 0.0, timedelta(microseconds=p99), timedelta(microseconds=largest))


def _bucket(lateness: Ints) -> Ints:
    """Buckets that widen with the value: one unit wide at first, then `_FINE` for each power of two."""
    shift = np.maximum(np.frexp(lateness.astype(np.float64))[1] - 11, 0).astype(np.int64)
    buckets: Ints = shift * _FINE + (lateness >> shift)
    return buckets


def _upper(bucket: int) -> int:
    """The largest value of a bucket."""
    shift = max(bucket // _FINE - 1, 0)
    return ((bucket - shift * _FINE + 1) << shift) - 1
