"""What state columns of every kind have: a place in the tables, rows into them, widening.

A column may start narrow and widen when the data asks for it: validity counts appear with the first NULL, an
integer sum splits into halves when it could overflow, float digits grow to the whole range of doubles. `widened`
turns stored state of the old layout into the new one, so nothing is lost and nothing is paid in advance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.aggregates.kinds.columns import Sketch
from windrow.operators.state.kinds import ADDS, StateKind


@dataclass
class Lifted:
    """An argument's values for the rows of a batch: int64 storage or float bits, order keys, validity, registers."""

    numbers: Integers
    keys: Integers
    valid: npt.NDArray[np.uint8]
    times: Integers
    marks: dict[Sketch, npt.NDArray[np.int32]] = field(default_factory=dict)
    """For each sketch the register a row goes into, and in the low byte its number."""

    def take(self, rows: Any, times: Integers | None = None) -> Lifted:
        """The values of some rows; `times` are theirs where they are known already."""

        def cut(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return array[rows] if len(array) else array

        marks = {sketch: numbers[rows] for sketch, numbers in self.marks.items()}
        return Lifted(
            cut(self.numbers), cut(self.keys), cut(self.valid), cut(self.times) if times is None else times, marks
        )


class StateColumn(ABC):
    """`offset` is the first of `width` columns in the matrix of its kind. Compared by identity."""

    kind: ClassVar[StateKind] = ADDS
    needs: ClassVar[tuple[str, ...]] = ()
    """The forms of the values it reads: "numbers", "keys", or their "times"."""
    folds: ClassVar[bool] = False
    """Whether what it keeps of rows that are not NULL is known from their count, sum, least and greatest."""
    offset = 0
    width = 0
    wide: ClassVar[int] = 0
    """The width after widening."""

    @property
    def adds_numbers(self) -> bool:
        """Whether what a row adds is its number and nothing else, in one column."""
        return False

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return False

    def absorb(self, saved: dict[str, Any], rows: int) -> bool:
        """Take over what another column of this kind has seen in `rows` rows. Returns whether this one must widen."""
        return bool(saved["width"] > self.width)

    def widened(self, adds: Integers, old: Integers) -> Integers:
        """The wide columns for narrow stored state: `adds` is the whole table, `old` this column's part of it."""
        raise NotImplementedError

    @abstractmethod
    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Numbers) -> None:
        """Put rows into their cells."""

    def settle(self, adds: Integers) -> None:  # noqa: B027 - most columns are settled as they are
        """Bring stored state into a form in which many can be added without overflow."""

    def to_json(self) -> dict[str, Any]:
        return {"width": self.width}

    def from_json(self, saved: dict[str, Any]) -> None:
        self.width = saved["width"]
