"""Where the rows of a join go that has no equality: some of them to several shards, so that each pair meets in one.

A row has one home, the first of its shards: there it is counted when it is late. Its other places hold copies. Which
shards these are depends on the row alone, so that a task that is run again sends the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Integers, is_scalar
from windrow.operators.divided.routing import Shards, shards_of
from windrow.operators.evaluate import evaluate
from windrow.operators.input.times import to_units
from windrow.operators.state.keys import present
from windrow.physical.join_choice import looked_up
from windrow.plan.conditions import Band
from windrow.plan.nodes import LEFT, RIGHT, Join, JoinKind
from windrow.semantics.joins import AsOf
from windrow.semantics.scalars.expressions import Expression
from windrow.sharded.join_routing import over_input

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = Iterator[tuple[Integers, Shards]]
"""Rows by number with the shard of each: first all rows with their homes, then copies."""

WIDER = 8
"""A cell is so many times as wide as the band: of the copied side about one row in so many goes to two shards."""
FAR = 1 << 45
"""Cells further from zero than this are one: beyond it, numbers are too coarse to tell cells apart."""
ROUNDING = 2.0**-50
"""More than what a double may be off by after an addition, as a part of its value."""


@dataclass(frozen=True)
class Cells:
    """Rows by the cell of a value; those of the copied side by all cells that the band around them reaches."""

    value: Expression
    width: float
    reach: tuple[float, float] | None
    """From where to where, around its own value, a row of the copied side finds values; None for the other side."""

    def places(self, data: pa.RecordBatch, count: int) -> Places:
        values = _numbers(evaluate(self.value, data))
        if self.reach is None:
            yield np.arange(len(data)), self._shards(self._cells(values), count)
            return
        with np.errstate(over="ignore"):  # what is beyond all numbers is in the last cell
            slop = (np.where(np.isfinite(values), np.abs(values), 0.0) + max(map(abs, self.reach))) * ROUNDING
            first, last = values + self.reach[0] - slop, values + self.reach[1] + slop
        yield from self._spanned(self._cells(first), self._cells(last), count)

    def describe(self) -> str:
        """Where rows go, in words."""
        if self.reach is None:
            return f"divided by cells of {self.value} that are {self.width:g} wide"
        return f"by the same cells of {self.value}, copied into those that the band around a row reaches"

    def _spanned(self, first: Integers, last: Integers, count: int) -> Places:
        """One cell after another of each row, without shards that it goes to already."""
        rows = np.arange(len(first))
        known = [self._shards(first, count)]
        yield rows, known[0]
        for step in range(1, int((last - first).max(initial=0)) + 1):
            shards = self._shards(first + step, count)
            fresh = (first + step <= last) & np.all([shards != other for other in known], axis=0)
            known.append(np.where(first + step <= last, shards, known[0]))
            if fresh.any():
                yield rows[fresh], shards[fresh]

    def _cells(self, values: Floats) -> Integers:
        with np.errstate(over="ignore"):
            cells = np.clip(np.floor(values / self.width), -FAR, FAR)
        return np.where(np.isnan(cells), FAR + 1, cells).astype(np.int64)

    def _shards(self, cells: Integers, count: int) -> Shards:
        return shards_of([arrow(cells)], len(cells), count)


@dataclass(frozen=True)
class Lanes:
    """Shards as a table: a left row goes to all shards of one line, a right row to all of one column.

    Where rows of one side are given without a partner, or have one partner only, that side is `divided` among all
    shards and the other one goes to each of them.
    """

    side: int
    divided: int | None

    def places(self, data: pa.RecordBatch, count: int) -> Places:
        rows, (lines, columns) = np.arange(len(data)), self._table(count)
        numbers = [column for column in data.columns if is_scalar(column.type)]
        if self.side == LEFT:
            own = shards_of(numbers, len(data), lines) * columns
            yield from ((rows, (own + column).astype(np.int32)) for column in range(columns))
        else:
            own = shards_of(numbers, len(data), columns)
            yield from ((rows, (own + line * columns).astype(np.int32)) for line in range(lines))

    def describe(self) -> str:
        """Where rows go, in words."""
        if self.divided is None:
            part = "line" if self.side == LEFT else "column"
            return f"copied to one {part} of the shards as a table, for there is no equality or band to divide by"
        if self.side == self.divided:
            return "divided by a hash of its values, for there is no equality or band to divide by"
        return "copied to every shard"

    def _table(self, count: int) -> tuple[int, int]:
        """Lines and columns."""
        if self.divided is not None:
            return (count, 1) if self.divided == LEFT else (1, count)
        lines = math.isqrt(count)
        return lines, count // lines


Copies: TypeAlias = Cells | Lanes


def copies_of(node: Join) -> tuple[Copies, Copies]:
    """How the rows of both sides of a join are divided that has no equality; not for a full join, nor by arrival."""
    divided = _divided(node)
    kept = LEFT if divided is None else divided
    band = next(filter(_is_fit, looked_up(node).bands), None)
    if band is None:
        return Lanes(LEFT, divided), Lanes(RIGHT, divided)
    left, right = (_cells(node, band, side, copied=side != kept) for side in (LEFT, RIGHT))
    return left, right


def _divided(node: Join) -> int | None:
    """The side whose rows must be in one place each; None when pairs are all that counts."""
    if node.kind is JoinKind.INNER and not isinstance(node.window, AsOf):
        return None
    return RIGHT if node.kind is JoinKind.RIGHT else LEFT


def _width(band: Band) -> float:
    return WIDER * float(band.high - band.low) or 64.0


def _is_fit(band: Band) -> bool:
    """Whether cells can be told apart at the distance of the band."""
    width = abs(_width(band))
    return math.isfinite(width) and max(abs(band.low), abs(band.high)) < FAR * width


def _cells(node: Join, band: Band, side: int, *, copied: bool) -> Cells:
    reach = (float(band.low), float(band.high)) if band.around == side else (-float(band.high), -float(band.low))
    return Cells(over_input(node, side, band.of(side)), abs(_width(band)), reach if copied else None)


def _numbers(values: Array) -> Floats:
    """Numbers, or times in microseconds, as floats; NULL becomes NaN."""
    known = present(values)
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if pa.types.is_timestamp(values.type):
        numbers: Floats = to_units(values.fill_null(0)).astype(np.float64)
    else:
        numbers = np.asarray(values.cast(pa.float64(), safe=False).fill_null(0.0))
    return np.where(known, numbers, np.nan)
