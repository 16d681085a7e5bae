"""Exact sums of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.errors import SumOverflowError
from windrow.operators.kernels.input import span
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn

_LOW = (1 << 32) - 1
_SAFE = 1 << 62


@dataclass(eq=False)
class IntegerSum(StateColumn):
    """One column while |largest value| times all rows cannot overflow, then a high and a low half."""

    needs_numbers: ClassVar[bool] = True
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

    base: ClassVar[int] = 0
    """The exponent of the unit of `exact`."""

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
