"""Integers in as few bytes as their span needs: the least of them, and what each is above it.

A column of one value takes no bytes a row, panes and group codes take one or two where they lie close together. Floats
that are decimals with few digits, as prices and readings are, are the integers they would be without the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows.kept import pick_decimals, pick_integers

_NOTHING: npt.NDArray[Any] = np.empty(0, np.uint8)
_POWERS = 10.0 ** np.arange(10)
"""Of ten; all of them are exact."""
SAMPLE = 64
"""So many floats say how many digits all of them could have."""


@dataclass(frozen=True)
class Packed:
    """`size` integers: `base` + `unit` * `offsets`; no offsets when all are equal."""

    base: int
    offsets: npt.NDArray[Any]
    size: int
    digits: int | None = None
    """Of floats that are decimals: so many digits come after the point. What is read are then their bits."""
    unit: int = 1
    """What all that lies above the base is a multiple of, as times often are of seconds."""

    @staticmethod
    def of(values: npt.NDArray[Any]) -> Packed:
        if len(values) == 0:
            return Packed(0, _NOTHING, 0)
        least, most = int(values.min()), int(values.max())
        if least == most:
            return Packed.constant(least, len(values))
        kind = np.min_scalar_type(most - least)  # differences beyond 63 bits wrap around, and back when read
        if kind.itemsize == 8 and most - least < 1 << 63:
            above = values.astype(np.int64, copy=False) - np.int64(least)
            unit = _unit_of(above)
            narrow = np.min_scalar_type((most - least) // unit)
            if narrow.itemsize < 8:
                return Packed(least, (above // unit).astype(narrow), len(values), unit=unit)
        if least > 0 and np.min_scalar_type(most) == kind:  # columns of one base are joined as they are
            return Packed(0, values.astype(kind), len(values))
        return Packed(least, (values.astype(np.int64, copy=False) - np.int64(least)).astype(kind), len(values))

    @staticmethod
    def constant(value: int, size: int) -> Packed:
        return Packed(value, _NOTHING, size)

    @staticmethod
    def of_floats(bits: Integers) -> Packed:
        """The bits of doubles: as decimals where every one comes back to the bit and that is less, else as they are."""
        found = _as_decimals(bits)
        if found is None:
            return Packed.of(bits)
        packed = Packed.of(found[0])
        if packed.offsets.itemsize == bits.itemsize:
            return Packed.of(bits)
        return replace(packed, digits=found[1])

    def read(self) -> Integers:
        if len(self.offsets) == 0:
            integers = np.full(self.size, self.base, np.int64)
        else:
            integers = self.offsets.astype(np.int64)
            if self.unit != 1:
                integers *= self.unit
            integers += np.int64(self.base)
        return integers if self.digits is None else _bits_of(integers, self.digits)

    def take(self, rows: npt.NDArray[Any] | slice) -> Packed:
        if len(self.offsets) == 0:
            size = len(range(self.size)[rows]) if isinstance(rows, slice) else _chosen(rows)
            return replace(self, size=size)
        offsets = self.offsets[rows]
        return replace(self, offsets=offsets, size=len(offsets))

    def pick(self, rows: npt.NDArray[Any]) -> Integers:
        """What `read` gives of the values at places, none of them negative."""
        if len(self.offsets) == 0 or self.unit != 1 or (self.digits is None and self.offsets.itemsize == 8):
            return self.take(rows).read()
        if self.digits is None:
            out = np.empty(len(rows), np.int64)
            pick_integers(self.offsets, self.base, rows, out)
            return out
        numbers = np.empty(len(rows))
        pick_decimals(self.offsets, self.base, _POWERS[self.digits], rows, numbers)
        return numbers.view(np.int64)

    def search(self, value: int) -> int:
        """How many are below a value, where they are sorted."""
        above = -((self.base - value) // self.unit)  # rounded up
        if above <= 0:
            return 0
        if len(self.offsets) == 0 or above >> 8 * self.offsets.itemsize:
            return self.size
        return int(self.offsets.searchsorted(self.offsets.dtype.type(above)))

    @property
    def most(self) -> int:
        """The greatest of the integers; there must be one."""
        return self.base + (self.unit * int(self.offsets.max()) if len(self.offsets) else 0)

    def _above(self, base: int, unit: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
        """How many units each is above a base that is some units below its own, or none."""
        units = (self.base - base) // unit
        if len(self.offsets) == 0:
            return np.full(self.size, units, kind)
        return self.offsets if units == 0 else self.offsets + kind.type(units)

    @property
    def nbytes(self) -> int:
        return self.offsets.nbytes


def _unit_of(above: Integers) -> int:
    """The greatest number of which all of these are multiples, as far as some of them can tell; 1 if none is."""
    unit = int(np.gcd.reduce(above[:: max(1, len(above) // SAMPLE)]))
    return unit if unit > 1 and not (above % unit).any() else 1


def _chosen(rows: npt.NDArray[Any]) -> int:
    return int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else len(rows)


def _bits_of(integers: Integers, digits: int) -> Integers:
    """The bits of the doubles next to integers with a point before their last digits."""
    bits: Integers = (integers / _POWERS[digits]).view(np.int64)
    return bits


def _as_decimals(bits: Integers) -> tuple[Integers, int] | None:
    """Integers, and the least number of digits, from which `_bits_of` gives exactly these bits; None if none does."""
    values, unlike, digits = bits.view(np.float64), bits[:: max(1, len(bits) // SAMPLE)], -1
    with np.errstate(all="ignore"):  # what is too large, or no number, does not come back
        while len(unlike):
            digits = _fewest_digits(unlike[:SAMPLE], digits + 1)
            if digits == len(_POWERS):
                return None
            integers: Integers = np.rint(values * _POWERS[digits]).astype(np.int64)
            unlike = bits[_bits_of(integers, digits) != bits]
            if len(unlike) == 0:
                return integers, digits
    return None


def _fewest_digits(bits: Integers, least: int) -> int:
    """How many digits these few floats need, from the least on; one more than there are powers where none will do."""
    powers = _POWERS[least:, None]
    tried = (np.rint(bits.view(np.float64) * powers).astype(np.int64) / powers).view(np.int64)
    return least + next(iter(np.flatnonzero((tried == bits).all(axis=1)).tolist()), len(powers))


def joined(columns: Sequence[Packed]) -> Packed:
    """One column after the other."""
    filled = [column for column in columns if column.size]
    if len(filled) == 1:
        return filled[0]
    if not filled:
        return Packed.constant(0, 0)
    digits = filled[0].digits
    if any(column.digits != digits for column in filled):
        return Packed.of_floats(np.concatenate([column.read() for column in filled]))
    base, most = min([column.base for column in filled]), max([column.most for column in filled])
    if base == most:
        return Packed(base, _NOTHING, sum(column.size for column in filled), digits)
    units = {column.unit for column in filled if len(column.offsets)} or {1}
    unit = min(units)
    kind = np.min_scalar_type((most - base) // unit)
    is_alike = len(units) == 1 and not any((column.base - base) % unit for column in filled)
    # Where it is wider than any of them, maybe the least is not there any more.
    if not is_alike or kind.itemsize > max(column.offsets.itemsize for column in filled):
        whole = np.concatenate([column.read() for column in filled])
        return Packed.of(whole) if digits is None else Packed.of_floats(whole)
    offsets = np.concatenate([column._above(base, unit, kind) for column in filled])
    return Packed(base, offsets, len(offsets), digits, unit)
