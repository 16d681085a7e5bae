"""The shards that rows of a join without an equality go to, batch by batch: what `physical/division` decided, done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Integers, is_scalar
from windrow.operators.divided.routing import Shards, shards_of
from windrow.operators.expressions.tree import evaluate
from windrow.operators.input.times import to_units
from windrow.operators.state.keys import present
from windrow.physical.division.join_routing import FAR, BandCells, Lanes
from windrow.semantics.joins import LEFT

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = Iterator[tuple[Integers, Shards]]
"""Rows by number with the shard of each: first all rows with their homes, then copies."""

ROUNDING = 2.0**-50
"""More than what a double may be off by after an addition, as a part of its value."""


def places(copies: BandCells | Lanes, data: pa.RecordBatch, count: int) -> Places:
    """The shards of rows, of so many as there are."""
    return _in_bands(copies, data, count) if isinstance(copies, BandCells) else _in_lanes(copies, data, count)


def _in_bands(copies: BandCells, data: pa.RecordBatch, count: int) -> Places:
    values = _numbers(evaluate(copies.value, data))
    if copies.reach is None:
        yield np.arange(len(data)), _shards(_cells(copies, values), count)
        return
    with np.errstate(over="ignore"):  # what is beyond all numbers is in the last cell
        slop = (np.where(np.isfinite(values), np.abs(values), 0.0) + max(map(abs, copies.reach))) * ROUNDING
        first, last = values + copies.reach[0] - slop, values + copies.reach[1] + slop
    yield from _spanned(_cells(copies, first), _cells(copies, last), count)


def _spanned(first: Integers, last: Integers, count: int) -> Places:
    """One cell after another of each row, without shards that it goes to already."""
    rows = np.arange(len(first))
    known = [_shards(first, count)]
    yield rows, known[0]
    for step in range(1, int((last - first).max(initial=0)) + 1):
        shards = _shards(first + step, count)
        fresh = (first + step <= last) & np.all([shards != other for other in known], axis=0)
        known.append(np.where(first + step <= last, shards, known[0]))
        if fresh.any():
            yield rows[fresh], shards[fresh]


def _cells(copies: BandCells, values: Floats) -> Integers:
    with np.errstate(over="ignore"):
        cells = np.clip(np.floor(values / copies.width), -FAR, FAR)
    return np.where(np.isnan(cells), FAR + 1, cells).astype(np.int64)


def _shards(cells: Integers, count: int) -> Shards:
    return shards_of([arrow(cells)], len(cells), count)


def _in_lanes(copies: Lanes, data: pa.RecordBatch, count: int) -> Places:
    rows, (lines, columns) = np.arange(len(data)), copies.table(count)
    numbers = [column for column in data.columns if is_scalar(column.type)]
    if copies.side == LEFT:
        own = shards_of(numbers, len(data), lines) * columns
        yield from ((rows, (own + column).astype(np.int32)) for column in range(columns))
    else:
        own = shards_of(numbers, len(data), columns)
        yield from ((rows, (own + line * columns).astype(np.int32)) for line in range(lines))


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
