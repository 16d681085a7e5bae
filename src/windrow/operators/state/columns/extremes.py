"""The greatest or least value."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn
from windrow.operators.state.keys import from_keys
from windrow.operators.state.kinds import MAXS


class GreatestColumn(StateColumn):
    """The greatest key; the least as the greatest complement."""

    kind = MAXS
    needs_keys = True
    width = 1

    def __init__(self, greatest: bool, type_: pa.DataType) -> None:
        self.greatest = greatest
        self.type = type_

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Integers) -> None:
        keys = lifted.keys if self.greatest else ~lifted.keys
        scatter.keep_greatest(state, self.offset, slots, keys, lifted.valid)

    def read(self, maxs: Integers) -> Numbers:
        keys = maxs[:, self.offset]
        return from_keys(keys if self.greatest else ~keys, self.type)
