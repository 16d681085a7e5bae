"""Exact sums of floats, in digits of 32 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels import digits
from windrow.operators.state.columns.base import Lifted, StateColumn


def exact_digits(adds: Integers, offset: int, width: int) -> list[int]:
    """The digits of each row as one integer."""
    rows = adds[:, offset : offset + width].copy()
    digits.carry(rows, 0, width)
    low = rows[:, : width - 1].astype("<u4")
    tops = (int(top) << (32 * (width - 1)) for top in rows[:, width - 1])
    return [int.from_bytes(row.tobytes(), "little") + top for row, top in zip(low, tops, strict=True)]


def padded(narrow: Integers, width: int, first: int) -> Integers:
    """The narrow digits from place `first` on among `width` digits."""
    wide = np.zeros((len(narrow), width), np.int64)
    wide[:, first : first + narrow.shape[1]] = narrow
    return wide


NARROW_LEAST, NARROW_MOST = -128, 31
"""Last-bit exponents that the narrow digits hold: magnitudes of about 1e-23 to 1e25 with all 53 bits."""


@dataclass(eq=False)
class FloatSum(StateColumn):
    """Digits of the exact sum, then, once wide, counts of NaN, +inf and -inf."""

    needs_numbers: ClassVar[bool] = True
    wide: ClassVar[int] = 71
    width: int = 7

    @property
    def base(self) -> int:
        return NARROW_LEAST if self.width == 7 else -1088

    @property
    def digits(self) -> int:
        return 7 if self.width == 7 else self.wide - 3

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return self.width == 7 and not digits.fits(lifted.numbers, lifted.valid, NARROW_LEAST, NARROW_MOST)

    def widened(self, adds: Integers, old: Integers) -> Integers:
        return padded(old, self.wide, (NARROW_LEAST + 1088) // 32)

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        special = self.offset + self.digits if self.width != 7 else -1
        digits.add_floats(adds, self.offset, self.base, special, slots, lifted.numbers, lifted.valid)

    def settle(self, adds: Integers) -> None:
        digits.carry(adds, self.offset, self.digits)

    def total(self, adds: Integers) -> npt.NDArray[np.float64]:
        scratch = adds[:, self.offset : self.offset + self.digits].copy()
        digits.carry(scratch, 0, self.digits)
        result = np.empty(len(adds))
        digits.round_sums(scratch, 0, self.digits, self.base, result)
        return self._with_specials(adds, result)

    def specials(self, adds: Integers) -> npt.NDArray[np.bool_]:
        if self.width == 7:
            return np.zeros(len(adds), np.bool_)
        first = self.offset + self.digits
        found: npt.NDArray[np.bool_] = np.any(adds[:, first : first + 3], axis=1)
        return found

    def _with_specials(self, adds: Integers, result: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if self.width == 7:
            return result
        nans, ups, downs = (adds[:, self.offset + self.digits + k] > 0 for k in range(3))
        result[ups] = np.inf
        result[downs] = -np.inf
        result[nans | (ups & downs)] = np.nan
        return result

    def mean(self, adds: Integers, count: Integers) -> npt.NDArray[np.float64]:
        return self.total(adds) / np.maximum(count, 1)

    def exact(self, adds: Integers) -> list[int]:
        return exact_digits(adds, self.offset, self.digits)
