"""State columns: how one argument is lifted into int64 columns, and read back.

A column may start narrow and widen when the data asks for it: validity counts appear with the first NULL, an
integer sum splits into halves when it could overflow, float digits grow to the whole range of doubles. `widened`
turns stored state of the old layout into the new one, so nothing is lost and nothing is paid in advance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.errors import SumOverflowError
from windrow.operators.kernels import digits
from windrow.operators.kernels.input import span
from windrow.operators.kernels.panes import scatter

_LOW = (1 << 32) - 1
_SAFE = 1 << 62


@dataclass
class Lifted:
    """An argument's values for the rows of a batch: int64 storage or float bits, order keys, validity."""

    numbers: Integers
    keys: Integers
    valid: npt.NDArray[np.uint8]
    is_float: bool
    times: Integers


class AddColumn(ABC):
    """Columns that add. `offset` is the first of `width` columns in the table. Compared by identity."""

    offset = 0
    width = 0
    wide: ClassVar[int] = 0
    """The width after widening."""

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return False

    def absorb(self, saved: dict[str, Any], rows: int) -> bool:
        """Take over what another column of this kind has seen in `rows` rows; says whether this one must widen."""
        return bool(saved["width"] > self.width)

    def widened(self, adds: Integers, old: Integers) -> Integers:
        """The wide columns for narrow stored state: `adds` is the whole table, `old` this column's part of it."""
        raise NotImplementedError

    @abstractmethod
    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None: ...

    def settle(self, adds: Integers) -> None:  # noqa: B027 - most columns are settled as they are
        """Bring stored state into a form in which many can be added without overflow."""

    def to_json(self) -> dict[str, Any]:
        return {"width": self.width}

    def from_json(self, saved: dict[str, Any]) -> None:
        self.width = saved["width"]


class ValidColumn(AddColumn):
    """Rows that are not NULL; no column at all (the row count) until the first NULL."""

    wide = 1

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return self.width == 0 and len(lifted.valid) > 0

    def widened(self, adds: Integers, old: Integers) -> Integers:
        return adds[:, :1].copy()

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        if self.width:
            if len(lifted.valid):
                scatter.add_valid(adds, self.offset, slots, lifted.valid)
            else:
                scatter.add_integers(adds, self.offset, slots, np.ones(len(slots), np.int64), lifted.valid)

    def read(self, adds: Integers) -> Integers:
        return adds[:, self.offset if self.width else 0]


@dataclass(eq=False)
class IntegerSum(AddColumn):
    """One column while |largest value| times all rows cannot overflow, then a high and a low half."""

    wide: ClassVar[int] = 2
    width: int = 1
    largest: int = 0
    rows: int = 0

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

    def total(self, adds: Integers) -> Integers:
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

    def mean(self, adds: Integers, count: Integers) -> npt.NDArray[np.float64]:
        if self.width == 1:
            return adds[:, self.offset] / np.maximum(count, 1)
        exact = [(int(h) << 32) + int(w) for h, w in adds[:, self.offset : self.offset + 2]]
        return np.array([float(Fraction(s, max(int(n), 1))) for s, n in zip(exact, count, strict=True)], np.float64)

    def exact(self, adds: Integers) -> list[int]:
        if self.width == 1:
            return [int(v) for v in adds[:, self.offset]]
        return [(int(h) << 32) + int(w) for h, w in adds[:, self.offset : self.offset + 2]]

    def to_json(self) -> dict[str, Any]:
        return {"width": self.width, "largest": self.largest, "rows": self.rows}

    def from_json(self, saved: dict[str, Any]) -> None:
        self.width, self.largest, self.rows = saved["width"], saved["largest"], saved["rows"]


def _exact_digits(adds: Integers, offset: int, width: int) -> list[int]:
    """The digits of each row as one integer."""
    rows = adds[:, offset : offset + width].copy()
    digits.carry(rows, 0, width)
    low = rows[:, : width - 1].astype("<u4")
    tops = (int(top) << (32 * (width - 1)) for top in rows[:, width - 1])
    return [int.from_bytes(row.tobytes(), "little") + top for row, top in zip(low, tops, strict=True)]


def _padded(narrow: Integers, width: int, first: int) -> Integers:
    """The narrow digits from place `first` on among `width` digits."""
    wide = np.zeros((len(narrow), width), np.int64)
    wide[:, first : first + narrow.shape[1]] = narrow
    return wide


NARROW_LEAST, NARROW_MOST = -128, 31
"""Last-bit exponents that the narrow digits hold: magnitudes of about 1e-23 to 1e25 with all 53 bits."""


@dataclass(eq=False)
class FloatSum(AddColumn):
    """Digits of the exact sum, then, once wide, counts of NaN, +inf and -inf."""

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
        return _padded(old, self.wide, (NARROW_LEAST + 1088) // 32)

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
        return _exact_digits(adds, self.offset, self.digits)


@dataclass(eq=False)
class IntegerSquares(AddColumn):
    """Digits of the exact sum of squares of integers."""

    width: int = 5

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        digits.add_integer_squares(adds, self.offset, slots, lifted.numbers, lifted.valid)

    def settle(self, adds: Integers) -> None:
        digits.carry(adds, self.offset, self.width)

    def exact(self, adds: Integers) -> list[int]:
        return _exact_digits(adds, self.offset, self.width)


@dataclass(eq=False)
class FloatSquares(AddColumn):
    """Digits of the exact sum of squares of finite floats."""

    wide: ClassVar[int] = 136
    width: int = 15

    @property
    def base(self) -> int:
        return 2 * NARROW_LEAST if self.width == 15 else -2176

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return self.width == 15 and not digits.fits(lifted.numbers, lifted.valid, NARROW_LEAST, NARROW_MOST)

    def widened(self, adds: Integers, old: Integers) -> Integers:
        return _padded(old, self.wide, (2 * NARROW_LEAST + 2176) // 32)

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        digits.add_float_squares(adds, self.offset, self.base, slots, lifted.numbers, lifted.valid)

    def settle(self, adds: Integers) -> None:
        digits.carry(adds, self.offset, self.width)

    def exact(self, adds: Integers) -> list[int]:
        return _exact_digits(adds, self.offset, self.width)


@dataclass
class GreatestColumn:
    """The greatest key; the least as the greatest complement."""

    greatest: bool
    offset: int = 0

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], maxs: Integers) -> None:
        keys = lifted.keys if self.greatest else ~lifted.keys
        scatter.keep_greatest(maxs, self.offset, slots, keys, lifted.valid)

    def keys(self, maxs: Integers) -> Integers:
        return maxs[:, self.offset] if self.greatest else ~maxs[:, self.offset]


@dataclass
class LatestColumn:
    """The key at the latest time; the earliest by complements of time and key."""

    latest: bool
    offset: int = 0

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], pairs: Integers) -> None:
        times, keys = (lifted.times, lifted.keys) if self.latest else (~lifted.times, ~lifted.keys)
        scatter.keep_latest(pairs, self.offset, slots, times, keys, lifted.valid)

    def keys(self, pairs: Integers) -> Integers:
        return pairs[:, self.offset + 1] if self.latest else ~pairs[:, self.offset + 1]


def square_deviation(
    sums: IntegerSum | FloatSum, squares: IntegerSquares | FloatSquares, adds: Integers, count: Integers
) -> npt.NDArray[np.float64]:
    """The sum of squared deviations from the mean, exact before one rounding; NaN where a value was not finite.

    With n values, their sum S and the sum of their squares Q in units of 2^b and 2^2b it is (n Q - S S) / n.
    """
    unit = 2 * sums.base if isinstance(sums, FloatSum) else 0
    triples = zip(squares.exact(adds), sums.exact(adds), count.tolist(), strict=True)
    result = np.array([_scaled(rows * square - total * total, max(rows, 1), unit) for square, total, rows in triples])
    if isinstance(sums, FloatSum):
        result[sums.specials(adds)] = np.nan
    return result


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
