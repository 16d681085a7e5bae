"""Numbers as integers that keep their order, and the exact ends of what a band admits.

A float becomes the integer that stands at its place in the order of all floats of its width, NaN above all: comparing
is then comparing integers, `x > y` is `x >= y + 1`, and the next float is the next integer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers, Numbers, value_type
from windrow.operators.expressions.values import decoded, microseconds
from windrow.operators.state.keys import as_float64, as_int64, float_keys, from_keys
from windrow.plan.conditions import BandCondition, Number

Floats: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = Callable[[Integers], Integers]
_FLIP = np.int32((1 << 31) - 1)


@dataclass(frozen=True)
class Scale:
    """The values of a band's column: whole numbers (and times), or floats, in 32 or 64 bits."""

    is_float: bool
    is_narrow: bool

    @staticmethod
    def of(kind: pa.DataType) -> Scale:
        kind = value_type(kind)
        if pa.types.is_floating(kind):
            return Scale(True, kind.bit_width <= 32)
        narrow = pa.types.is_integer(kind) and kind.bit_width <= 32 and not pa.types.is_uint32(kind)
        return Scale(False, narrow)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int32 if self.is_narrow else np.int64)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest place."""
        if not self.is_float:
            limits = np.iinfo(self.dtype)
            return int(limits.min), int(limits.max)
        low, high = self.places(pa.array([-np.inf, np.nan], pa.float32() if self.is_narrow else pa.float64()))
        return int(low), int(high)

    def places(self, column: Array) -> Numbers:
        """The place of each value in the order; NULL slots hold anything."""
        column = decoded(column)
        if self.is_float:
            return self.nearest(as_float64(column)).astype(self.dtype, copy=False)
        whole = microseconds(column) if pa.types.is_timestamp(column.type) else column
        return as_int64(whole).astype(self.dtype, copy=False)

    def nearest(self, numbers: Floats) -> Integers:
        """The place of the value next to each number, for floats rounded as IEEE 754 does."""
        if not self.is_float:
            low, high = self.ends
            clear = np.nan_to_num(numbers, nan=float(high), posinf=float(high), neginf=float(low))
            top = np.nextafter(float(high), 0.0) if not self.is_narrow else float(high)
            return np.clip(clear, float(low), top).astype(np.int64)
        if not self.is_narrow:
            return float_keys(numbers)
        with np.errstate(over="ignore"):
            narrow = numbers.astype(np.float32)
        bits = np.where(np.isnan(narrow), np.float32(np.nan), narrow + np.float32(0)).view(np.int32)
        return np.where(bits < 0, bits ^ _FLIP, bits).astype(np.int64)

    def numbers(self, places: Numbers) -> Floats:
        """The values as doubles, rounded as comparisons do."""
        if not self.is_float:
            return places.astype(np.float64)
        if not self.is_narrow:
            return from_keys(places.astype(np.int64), pa.float64())
        keys = places.astype(np.int32)
        floats: Floats = np.where(keys < 0, keys ^ _FLIP, keys).view(np.float32).astype(np.float64)
        return floats


@dataclass(frozen=True)
class Interval:
    """What a band admits of one side's stored column, for rows of the other side that probe it."""

    band: BandCondition
    probing: int
    probe: Scale
    stored: Scale

    @np.errstate(all="ignore")  # places next to NaN, and sums beyond all doubles, are looked at on the way
    def of(self, places: Numbers) -> tuple[Numbers, Numbers]:
        """The first and last place admitted for each probing value; first > last where there is none."""
        band, is_whole = self.band, not (self.probe.is_float or self.stored.is_float)
        if is_whole and isinstance(band.low, int) and isinstance(band.high, int):
            return self._whole(places.astype(np.int64), band.low, band.high)
        floor: Places = self._own
        ceiling: Places = self._own
        if self.probing == band.around:
            below = self._moved(self.probe, places, band.low)
            above = self._moved(self.probe, places, band.high)
            near, opens = (below, above), (band.low_open, band.high_open)
        else:
            below = above = self.probe.numbers(places)
            floor, ceiling = self._center(band.high), self._center(band.low)
            near, opens = (below - float(band.high), above - float(band.low)), (band.high_open, band.low_open)
        first = self._first(floor, float_keys(below) + opens[0], near[0])
        last = self._first(ceiling, float_keys(above) + 1 - opens[1], near[1])
        return self._closed(first, last)

    def _whole(self, values: Integers, low: int, high: int) -> tuple[Numbers, Numbers]:
        least, most = self.stored.ends
        if self.probing != self.band.around:
            low, high = -high, -low
        first, last = _sum(values, low), _sum(values, high)
        empty = (first > most) | (last < least) | (first > last)
        return _emptied(np.clip(first, least, most), np.clip(last, least, most), empty, self.stored)

    def _moved(self, scale: Scale, places: Numbers, offset: Number) -> Floats:
        """`value + offset` as the predicate computes it, to be compared as a double."""
        if not scale.is_float and isinstance(offset, int):
            return _sum(places.astype(np.int64), offset).astype(np.float64)
        return scale.numbers(places) + float(offset)

    def _own(self, places: Integers) -> Integers:
        return float_keys(self.stored.numbers(places))

    def _center(self, offset: Number) -> Places:
        return lambda places: float_keys(self._moved(self.stored, places, offset))

    def _first(self, rank: Places, least: Integers, near: Floats) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """The first place whose rank is at least so much, and whether there is none. `near` guesses it."""
        low, high = self.stored.ends
        found = np.clip(self.stored.nearest(near), low, high)
        none = rank(np.full(len(found), high)) < least
        open_ = np.flatnonzero(~none & ~_is_first(rank, found, least, low))
        for step in (1, -1):
            tried = np.clip(found[open_] + step, low, high) if high < 1 << 62 else _sum(found[open_], step)
            hit = _is_first(rank, tried, least[open_], low)
            found[open_[hit]] = tried[hit]
            open_ = open_[~hit]
        if len(open_):
            found[open_] = _searched(rank, least[open_], low, high)
        return found, none

    def _closed(
        self, first: tuple[Integers, npt.NDArray[np.bool_]], beyond: tuple[Integers, npt.NDArray[np.bool_]]
    ) -> tuple[Numbers, Numbers]:
        """From the first place admitted and the first beyond the last one."""
        low, high = self.stored.ends
        at_low = beyond[0] == low
        last = np.where(beyond[1], high, np.where(at_low, low, beyond[0]) - ~at_low)
        empty = first[1] | (at_low & ~beyond[1]) | (first[0] > last)
        return _emptied(first[0], last, empty, self.stored)


def _emptied(first: Integers, last: Integers, empty: npt.NDArray[np.bool_], scale: Scale) -> tuple[Numbers, Numbers]:
    first, last = np.where(empty, 1, first), np.where(empty, 0, last)
    return first.astype(scale.dtype, copy=False), last.astype(scale.dtype, copy=False)


def _sum(values: Integers, offset: int) -> Integers:
    """The sum, or the last of 64 bits where it lies beyond."""
    top = (1 << 63) - 1
    offset = min(max(offset, -top), top)
    return np.minimum(values, top - offset) + offset if offset >= 0 else np.maximum(values, -top - 1 - offset) + offset


def _is_first(rank: Places, places: Integers, least: Integers, low: int) -> npt.NDArray[np.bool_]:
    before = np.maximum(places, low + 1) - 1
    found: npt.NDArray[np.bool_] = (rank(places) >= least) & ((places == low) | (rank(before) < least))
    return found


def _searched(rank: Places, least: Integers, low: int, high: int) -> Integers:
    """By halving, for the few whose guess was off: between whole numbers so great that doubles skip some."""
    lows, highs = np.full(len(least), low), np.full(len(least), high)
    while (lows < highs).any():
        middle = (lows >> 1) + (highs >> 1) + (lows & highs & 1)
        enough = rank(middle) >= least
        highs = np.where(enough, middle, highs)
        lows = np.where(enough, lows, np.minimum(middle, high - 1) + 1)
    return lows
