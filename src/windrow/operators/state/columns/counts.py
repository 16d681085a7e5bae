"""The count of values that are not NULL."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn


class ValidColumn(StateColumn):
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
