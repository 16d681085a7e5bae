"""The columns that parts declare, for an argument of a type: counts, the greatest, the latest, registers, sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.aggregates.kinds.columns import Columns, Hashes, Registers, Sketch
from windrow.aggregates.one_value import Greatest, Latest
from windrow.aggregates.sums import Counted, Squared, Summed
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn
from windrow.operators.state.columns.sums import FloatSquares, FloatSum, IntegerSquares, IntegerSum
from windrow.operators.state.keys import NO_VALIDITY, from_keys
from windrow.operators.state.kinds import BYTES, MAXS, PAIRS


class ValidColumn(StateColumn):
    """Rows that are not NULL; no column at all (the row count) until the first NULL."""

    folds = True
    wide = 1

    def wants_to_widen(self, lifted: Lifted, rows: int) -> bool:
        return self.width == 0 and len(lifted.valid) > 0

    def widened(self, adds: Integers, old: Integers) -> Integers:
        return adds[:, :1].copy()

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], adds: Integers) -> None:
        if self.width:
            valid = lifted.valid if len(lifted.valid) else np.ones(len(slots), np.uint8)
            scatter.add_integers(adds, self.offset, slots, valid, NO_VALIDITY)

    def read(self, adds: Integers) -> Integers:
        return adds[:, self.offset if self.width else 0]


class GreatestColumn(StateColumn):
    """The greatest key; the least as the greatest complement."""

    kind = MAXS
    folds = True
    needs: ClassVar[tuple[str, ...]] = ("keys",)
    width = 1

    def __init__(self, greatest: bool, type_: pa.DataType) -> None:
        self.greatest = greatest
        self.type = type_

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Integers) -> None:
        keys = lifted.keys if self.greatest else ~lifted.keys
        scatter.keep_greatest(state, self.offset, slots, keys, lifted.valid)

    def read(self, state: Integers) -> Numbers:
        keys = state[:, self.offset + self.width - 1]
        return from_keys(keys if self.greatest else ~keys, self.type)


class LatestColumn(GreatestColumn):
    """The greatest key at the latest time; the earliest by complements of time and key."""

    kind = PAIRS
    folds = False
    needs = ("keys", "times")
    width = 2

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Integers) -> None:
        times, keys = (lifted.times, lifted.keys) if self.greatest else (~lifted.times, ~lifted.keys)
        scatter.keep_latest(state, self.offset, slots, times, keys, lifted.valid)


class RegisterColumns(StateColumn):
    """Registers of any sketch, filled from the hashes of values: bytes, each the greatest of what was put into it."""

    kind = BYTES

    def __init__(self, sketch: Sketch, width: int) -> None:
        self.sketch = sketch
        self.width = width

    def marks(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        registers, numbers = self.sketch.lift(hashes)
        return registers.astype(np.int32) << 8 | numbers.astype(np.int32)

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Registers) -> None:
        scatter.keep_marks(state, self.offset, slots, lifted.marks[self.sketch], lifted.valid)

    def read(self, registers: Registers) -> Integers:
        """How many registers hold 0, 1, 2, ..., up to the most that a sketch puts into one."""
        counts = np.zeros((len(registers), self.sketch.most + 1), np.int64)
        first = self.offset // 8
        scatter.count_numbers(registers.view(np.uint64), first, first + self.width // 8, counts)
        return counts


_MADE: dict[type[Columns], Callable[[Any, pa.DataType], StateColumn]] = {
    Counted: lambda *_: ValidColumn(),
    Summed: lambda _, kind: FloatSum() if pa.types.is_floating(kind) else IntegerSum(),
    Squared: lambda _, kind: FloatSquares() if pa.types.is_floating(kind) else IntegerSquares(),
    Greatest: lambda declared, kind: GreatestColumn(declared.greatest, kind),
    Latest: lambda declared, kind: LatestColumn(declared.latest, kind),
}


def column_for(declared: Columns, kind: pa.DataType) -> StateColumn:
    """What keeps the declared columns of an argument of this type."""
    if isinstance(declared, Sketch):
        return RegisterColumns(declared, declared.width(kind))
    return _MADE[type(declared)](declared, kind)
