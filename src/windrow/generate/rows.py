"""Rows on their way through the generator: equally long numpy arrays by column name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = dict[str, NDArray[Any]]

TIME = "time"
SOURCE = "source"
MARK = "punctuation"
"""Columns every stream has inside the generator: event time in microseconds from the start, source, low watermark."""


def count(rows: Rows) -> int:
    return len(rows[TIME])


def join(pieces: Sequence[Rows]) -> Rows:
    """All rows of the pieces, one after another."""
    return pieces[0] if len(pieces) == 1 else {n: np.concatenate([p[n] for p in pieces]) for n in pieces[0]}


def take(rows: Rows, index: NDArray[Any] | slice) -> Rows:
    """The rows at an index array or slice."""
    return {name: values[index] for name, values in rows.items()}


def rebatch(pieces: Iterable[Rows], size: int) -> Iterator[Rows]:
    """The same rows in pieces of exactly `size`, the last one shorter."""
    held: list[Rows] = []
    total = 0
    for piece in pieces:
        held.append(piece)
        total += count(piece)
        if total >= size:
            rows = join(held)
            whole = total - total % size
            yield from (take(rows, slice(at, at + size)) for at in range(0, whole, size))
            held, total = [take(rows, slice(whole, None))], total - whole
    if total:
        yield join(held)
