"""Registers of any sketch: rows of bytes, each the greatest of what was put into it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.aggregates.parts.columns import Hashes, Registers, Sketch
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn
from windrow.operators.state.kinds import BYTES


class RegisterColumns(StateColumn):
    """What a sketch declares, filled from the hashes of values."""

    kind = BYTES

    def __init__(self, sketch: Sketch, width: int) -> None:
        self.sketch = sketch
        self.width = width

    def marks(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        registers, numbers = self.sketch.lift(hashes)
        return registers.astype(np.int32) << 8 | numbers.astype(np.int32)

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Registers) -> None:
        scatter.keep_marks(state, self.offset, slots, lifted.marks[self.sketch], lifted.valid)

    def read(self, registers: Registers) -> Registers:
        return registers[:, self.offset : self.offset + self.width]
