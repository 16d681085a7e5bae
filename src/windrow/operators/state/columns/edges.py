"""The value at the latest or earliest time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.operators.kernels.panes import scatter
from windrow.operators.state.columns.base import Lifted, StateColumn
from windrow.operators.state.keys import from_keys
from windrow.operators.state.kinds import PAIRS


class LatestColumn(StateColumn):
    """The key at the latest time; the earliest by complements of time and key."""

    kind = PAIRS
    needs_keys = True
    needs_times = True
    width = 2

    def __init__(self, latest: bool, type_: pa.DataType) -> None:
        self.latest = latest
        self.type = type_

    def scatter(self, lifted: Lifted, slots: npt.NDArray[np.int32], state: Integers) -> None:
        times, keys = (lifted.times, lifted.keys) if self.latest else (~lifted.times, ~lifted.keys)
        scatter.keep_latest(state, self.offset, slots, times, keys, lifted.valid)

    def read(self, pairs: Integers) -> Numbers:
        keys = pairs[:, self.offset + 1]
        return from_keys(keys if self.latest else ~keys, self.type)
