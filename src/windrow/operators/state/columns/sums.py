"""Exact sums of whole numbers and floats and of their squares; the squared deviation from the mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.errors import SumOverflowError
from windrow.operators.kernels import digits
from windrow.operators.kernels.input import span
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn

Floats = npt.NDArray[np.float64]
_LOW = (1 << 32) - 1
_SAFE = 1 << 62
_NARROW_LEAST, _NARROW_MOST = -128, 31
"""Last-bit exponents that narrow digits hold: magnitudes of about 1e-23 to 1e25 with all 53 bits."""


class IntegerSum(StateColumn):
    """One column while |largest value| times all rows cannot overflow, then a high and a low half."""

    needs = ("numbers",)
    folds = True
    wide = 2
    width = 1
    largest = 0
    rows = 0
    base: ClassVar[int] = 0
    """The exponent of the unit of `exact`."""

    @property
    def adds_numbers(self) -> bool:
        return self.width == 1

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        if len(lifted.numbers):
            self.largest = max(self.largest, *(abs(int(extreme)) for extreme in span(lifted.numbers)))
            self.rows += rows
        return self._could_overflow

    def absorb(self, saved: dict[str, Any], rows: int) -> bool:
        self.largest = max(self.largest, saved["largest"])
        self.rows += rows
        return super().absorb(saved, rows) or self._could_overflow

    @property
    def _could_overflow(self) -> bool:
        return self.width == 1 and self.largest * self.rows >= _SAFE

    def widened(self, adds: Integers, old: Integers) -> Integers:
        return np.concatenate([old >> 32, old & _LOW], axis=1)

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        if self.width == 1:
            scatter.add_integers(adds, self.offset, slots, lifted.numbers, lifted.valid)
        else:
            scatter.add_halves(adds, self.offset, slots, lifted.numbers, lifted.valid)

    def settle(self, adds: Integers) -> None:
        if self.width == 2:
            adds[:, self.offset] += adds[:, self.offset + 1] >> 32
            adds[:, self.offset + 1] &= _LOW

    def read(self, adds: Integers) -> Integers:
        if self.width == 1:
            return adds[:, self.offset]
        high, low = adds[:, self.offset], adds[:, self.offset + 1]
        high = high + (low >> 32)
        if np.any((high >= 1 << 31) | (high < -(1 << 31))):
            worst = int(np.argmax(np.abs(high.astype(np.float64))))
            raise SumOverflowError(
                "of integers must fit into 64 bits",
                parameter="sum",
                value=(int(high[worst]) << 32) + int(low[worst] & _LOW),
                hint="sum(CAST(column AS DOUBLE)), or use a shorter window",
            )
        return (high << 32) | (low & _LOW)

    def mean(self, adds: Integers, count: Integers) -> Floats:
        if self.width == 1:
            return adds[:, self.offset] / np.maximum(count, 1)
        sums = zip(self.exact(adds), count, strict=True)
        return np.array([float(Fraction(total, max(int(n), 1))) for total, n in sums], np.float64)

    def specials(self, adds: Integers) -> npt.NDArray[np.bool_]:
        """Where no sum of finite numbers is kept."""
        return np.zeros(len(adds), np.bool_)

    def exact(self, adds: Integers) -> list[int]:
        if self.width == 1:
            return [int(v) for v in adds[:, self.offset]]
        return [(int(h) << 32) + int(w) for h, w in adds[:, self.offset : self.offset + 2]]

    def to_json(self) -> dict[str, Any]:
        return {"width": self.width, "largest": self.largest, "rows": self.rows}

    def from_json(self, saved: dict[str, Any]) -> None:
        self.width, self.largest, self.rows = saved["width"], saved["largest"], saved["rows"]


class FloatDigits(StateColumn):
    """Digits of 32 bits of exact floats; at first few, then those of the whole range of a double."""

    needs = ("numbers",)
    narrow: ClassVar[int]
    bases: ClassVar[tuple[int, int]]
    """The exponent of the last bit of narrow digits, and of wide ones."""

    @property
    def base(self) -> int:
        return self.bases[self.width != self.narrow]

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return self.width == self.narrow and not digits.fits(lifted.numbers, lifted.valid, _NARROW_LEAST, _NARROW_MOST)

    def widened(self, adds: Integers, old: Integers) -> Integers:
        wide, first = np.zeros((len(old), self.wide), np.int64), (self.bases[0] - self.bases[1]) // 32
        wide[:, first : first + self.narrow] = old
        return wide


class FloatSum(FloatDigits):
    """Digits of the exact sum, then, once wide, counts of NaN, +inf and -inf."""

    narrow = width = 7
    wide = 71
    bases = _NARROW_LEAST, -1088

    @property
    def digits(self) -> int:
        return 7 if self.width == 7 else self.wide - 3

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        special = self.offset + self.digits if self.width != 7 else -1
        digits.add_floats(adds, self.offset, self.base, special, slots, lifted.numbers, lifted.valid)

    def settle(self, adds: Integers) -> None:
        digits.carry(adds, self.offset, self.digits)

    def read(self, adds: Integers) -> Floats:
        scratch = adds[:, self.offset : self.offset + self.digits].copy()
        digits.carry(scratch, 0, self.digits)
        result = np.empty(len(adds))
        digits.round_sums(scratch, 0, self.digits, self.base, result)
        if self.width != 7:
            nans, ups, downs = self._specials(adds).T
            result[ups] = np.inf
            result[downs] = -np.inf
            result[nans | (ups & downs)] = np.nan
        return result

    def mean(self, adds: Integers, count: Integers) -> Floats:
        return self.read(adds) / np.maximum(count, 1)

    def _specials(self, adds: Integers) -> npt.NDArray[np.bool_]:
        """Whether there was a NaN, +inf or -inf: none is counted while digits are narrow."""
        return adds[:, self.offset + self.digits : self.offset + self.width] > 0

    def specials(self, adds: Integers) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = np.any(self._specials(adds), axis=1)
        return found

    def exact(self, adds: Integers) -> list[int]:
        return _exact_digits(adds, self.offset, self.digits)


class Squares(StateColumn):
    """Digits of an exact sum of squares."""

    needs = ("numbers",)

    def settle(self, adds: Integers) -> None:
        digits.carry(adds, self.offset, self.width)

    def deviation(self, adds: Integers, sums: IntegerSum | FloatSum, count: Integers) -> Floats:
        """The sum of squared deviations from the mean, exact before one rounding; NaN where a value was not finite.

        With n values, their sum S and the sum of their squares Q in units of 2^b and 2^2b it is (n Q - S S) / n.
        """
        squares = _exact_digits(adds, self.offset, self.width)
        triples = zip(squares, sums.exact(adds), count.tolist(), strict=True)
        result = np.array([
            _scaled(rows * square - total * total, max(rows, 1), 2 * sums.base) for square, total, rows in triples
        ])  # fmt: skip
        result[sums.specials(adds)] = np.nan
        return result


class IntegerSquares(Squares):
    """Digits of the exact sum of squares of integers."""

    width = 5

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        digits.add_integer_squares(adds, self.offset, slots, lifted.numbers, lifted.valid)


class FloatSquares(FloatDigits, Squares):
    """Digits of the exact sum of squares of finite floats."""

    narrow = width = 15
    wide = 136
    bases = 2 * _NARROW_LEAST, -2176

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        digits.add_float_squares(adds, self.offset, self.base, slots, lifted.numbers, lifted.valid)


def _exact_digits(adds: Integers, offset: int, width: int) -> list[int]:
    """The digits of each row as one integer."""
    rows = adds[:, offset : offset + width].copy()
    digits.carry(rows, 0, width)
    low = rows[:, : width - 1].astype("<u4")
    tops = (int(top) << (32 * (width - 1)) for top in rows[:, width - 1])
    return [int.from_bytes(row.tobytes(), "little") + top for row, top in zip(low, tops, strict=True)]


def _scaled(above: int, below: int, exponent: int) -> float:
    """above / below * 2^exponent, rounded once."""
    try:
        return math.ldexp(above / below, exponent)  # int / int is correctly rounded
    except OverflowError:
        pass
    try:
        return float(Fraction(above, below) * Fraction(2) ** exponent)
    except OverflowError:
        return math.inf
