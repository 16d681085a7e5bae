"""Exact sums of squares, and the squared deviation from the mean."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels import digits
from windrow.operators.state.columns.base import Lifted, StateColumn
from windrow.operators.state.columns.float_sums import NARROW_LEAST, NARROW_MOST, FloatSum, exact_digits, padded
from windrow.operators.state.columns.sums import IntegerSum


class Squares(StateColumn):
    """Digits of an exact sum of squares."""

    needs_numbers = True

    def settle(self, adds: Integers) -> None:
        digits.carry(adds, self.offset, self.width)

    def deviation(self, adds: Integers, sums: IntegerSum | FloatSum, count: Integers) -> npt.NDArray[np.float64]:
        """The sum of squared deviations from the mean, exact before one rounding; NaN where a value was not finite.

        With n values, their sum S and the sum of their squares Q in units of 2^b and 2^2b it is (n Q - S S) / n.
        """
        squares = exact_digits(adds, self.offset, self.width)
        triples = zip(squares, sums.exact(adds), count.tolist(), strict=True)
        result = np.array([
            _scaled(rows * square - total * total, max(rows, 1), 2 * sums.base) for square, total, rows in triples
        ])  # fmt: skip
        result[sums.specials(adds)] = np.nan
        return result


@dataclass(eq=False)
class IntegerSquares(Squares):
    """Digits of the exact sum of squares of integers."""

    width: int = 5

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        digits.add_integer_squares(adds, self.offset, slots, lifted.numbers, lifted.valid)


@dataclass(eq=False)
class FloatSquares(Squares):
    """Digits of the exact sum of squares of finite floats."""

    wide: ClassVar[int] = 136
    width: int = 15

    @property
    def base(self) -> int:
        return 2 * NARROW_LEAST if self.width == 15 else -2176

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return self.width == 15 and not digits.fits(lifted.numbers, lifted.valid, NARROW_LEAST, NARROW_MOST)

    def widened(self, adds: Integers, old: Integers) -> Integers:
        return padded(old, self.wide, (2 * NARROW_LEAST + 2176) // 32)

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        digits.add_float_squares(adds, self.offset, self.base, slots, lifted.numbers, lifted.valid)


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
