"""The rows of one side as plain arrays: what is stored of them, and what they look for on the other side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers, Numbers
from windrow.operators.expressions.tree import evaluate
from windrow.operators.expressions.values import convert, microseconds
from windrow.operators.joins.progress import met_by
from windrow.operators.joins.scales import Interval, Scale
from windrow.operators.kernels import hashing
from windrow.operators.state.hashes import hashes
from windrow.operators.state.keys import as_float64, as_int64, float_keys, present
from windrow.plan.conditions import Conditions, Equality
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import NUMBERS, Family, family_of
from windrow.semantics.joins import LEFT, RIGHT, TimeWindow

Words: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Encoded:
    """Rows as they are stored.

    Rows with equal keys have equal `words` (None without an equality). `bands` are the places of band values in their
    order (see `scales`). A row that is not `alive` has a NULL where a value must be: it joins nothing.
    """

    times: Integers
    words: Words | None
    bands: tuple[Numbers, ...]
    alive: Flags | None = None

    def __len__(self) -> int:
        return len(self.times)

    def take(self, rows: Integers | slice) -> Encoded:
        words = None if self.words is None else self.words[rows]
        alive = None if self.alive is None else self.alive[rows]
        return Encoded(self.times[rows], words, tuple(band[rows] for band in self.bands), alive)


@dataclass(frozen=True)
class Probes:
    """What rows look for: times from `first` to `last` of the other side, this word, bands from `lows` to `highs`."""

    first: Integers
    last: Integers
    words: Words | None
    lows: tuple[Numbers, ...]
    highs: tuple[Numbers, ...]

    def __len__(self) -> int:
        return len(self.first)

    def take(self, rows: Integers | slice) -> Probes:
        words = None if self.words is None else self.words[rows]
        lows, highs = (tuple(band[rows] for band in ends) for ends in (self.lows, self.highs))
        return Probes(self.first[rows], self.last[rows], words, lows, highs)


class Encoder:
    """Encodes rows of one side of a join. `schema` has the columns of both sides under their names in the join."""

    def __init__(self, conditions: Conditions, side: int, schema: pa.Schema) -> None:
        self.side = side
        self.equalities = conditions.equalities
        self.bands = conditions.bands
        self.ways = [_way(equality, schema) for equality in conditions.equalities]
        scales = [[Scale.of(type_of(band.of(one), schema)) for one in (LEFT, RIGHT)] for band in self.bands]
        self.scales = [pair[side] for pair in scales]
        self.intervals = [
            Interval(band, side, pair[side], pair[1 - side]) for band, pair in zip(self.bands, scales, strict=True)
        ]

    @property
    def is_exact(self) -> bool:
        """Equal words mean equal keys; else the values of candidates must be compared."""
        return len(self.ways) <= 1 and Family.STRING not in self.ways and Family.DECIMAL not in self.ways

    def encode(self, data: pa.RecordBatch, times: Integers) -> Encoded:
        """`data` has the columns of this side under their names in the join."""
        keys = [evaluate(equality.of(self.side), data) for equality in self.equalities]
        bands = [evaluate(band.of(self.side), data) for band in self.bands]
        missing = [column for column in (*keys, *bands) if column.null_count or pa.types.is_dictionary(column.type)]
        alive = np.logical_and.reduce([present(column) for column in missing]) if missing else None
        places = [scale.places(band) for scale, band in zip(self.scales, bands, strict=True)]
        return Encoded(times, self._words(keys), tuple(places), None if alive is None or alive.all() else alive)

    def _words(self, keys: Sequence[Array]) -> Words | None:
        if not keys:
            return None
        first, *others = [hashes(key, partial(_numbers, way)) for key, way in zip(keys, self.ways, strict=True)]
        for other in others:
            hashing.fold(first, other)
        return first

    def probes(self, rows: Encoded, window: TimeWindow) -> Probes:
        return self.probes_between(rows, *met_by(window, self.side, rows.times))

    def probes_between(self, rows: Encoded, first: Integers, last: Integers) -> Probes:
        ends = [interval.of(places) for interval, places in zip(self.intervals, rows.bands, strict=True)]
        return Probes(first, last, rows.words, tuple(low for low, _ in ends), tuple(high for _, high in ends))


def _way(equality: Equality, schema: pa.Schema) -> Family:
    """The family in which both sides of an equality are compared."""
    families = {family_of(type_of(equality.of(side), schema)) for side in (LEFT, RIGHT)} - {Family.NULL}
    if not families:
        return Family.NULL
    if len(families) > 1:
        return Family.FLOAT if families <= NUMBERS else Family.TIMESTAMP
    return families.pop()


def _numbers(way: Family, column: Array) -> Integers:
    """Words that are equal for equal values, and different for different ones but for decimals."""
    if way in (Family.FLOAT, Family.DECIMAL):
        return float_keys(as_float64(convert(column, pa.float64())))
    if way in (Family.TIMESTAMP, Family.DATE, Family.DURATION):
        return as_int64(microseconds(column))
    return as_int64(column)
