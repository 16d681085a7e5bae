"""Rows on their way through the generator, equally long numpy arrays by column name; and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints: TypeAlias = NDArray[np.int64]
Rows: TypeAlias = dict[str, NDArray[Any]]

TIME = "time"
SOURCE = "source"
MARK = "punctuation"
"""Columns every stream has inside the generator: event time in microseconds from the start, source, low watermark."""

TEXT = pa.dictionary(pa.int32(), pa.string())
Spell: TypeAlias = Callable[[int], str]
"""The text of a key."""

_SHARED = 1 << 16
"""Up to this many keys, all batches share one dictionary."""


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


@dataclass(frozen=True)
class Recipe:
    """Columns of a stream and how their values come from keys and chance; `time` is its last column.

    `fill` gives the others: numbers, or keys for the columns that `texts` says how to spell.
    """

    name: str
    columns: Mapping[str, pa.DataType]
    time: str
    fill: Callable[[Ints, np.random.Generator], Rows]
    texts: Mapping[str, Spell] = field(default_factory=dict)


def spelled(keys: Ints, spell: Spell, shared: dict[Spell, pa.Array[Any]], mask: Any = None) -> pa.Array[Any]:
    """Keys as text, each distinct one spelled once: over the whole stream where they are few, else per batch."""
    if len(keys) and int(keys.max()) >= _SHARED:
        distinct, codes = np.unique(keys, return_inverse=True)
        values = pa.array([spell(key) for key in distinct.tolist()], pa.string())
        return _coded(codes, mask, values)
    known = shared.get(spell)
    needed = int(keys.max()) + 1 if len(keys) else 0
    if known is None or len(known) < needed:
        size = 1 << max(4, needed - 1).bit_length()
        known = shared[spell] = pa.array([spell(key) for key in range(size)], pa.string())
    return _coded(keys, mask, known)


def _coded(codes: Ints, mask: Any, values: pa.Array[Any]) -> pa.Array[Any]:
    indices: Any = pa.array(codes.astype(np.int32), mask=mask)
    return pa.DictionaryArray.from_arrays(indices, values)


def scatter(keys: Ints, below: int) -> Ints:
    """A fixed number below a bound for each key, far from its neighbours'."""
    mixed = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(33)
    return (mixed % np.uint64(below)).astype(np.int64)
