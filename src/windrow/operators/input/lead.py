"""Which rows of a stream are too far ahead. The rule is `semantics.lead`, on whole arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, LateRows
from windrow.operators.kernels import input as kernels
from windrow.operators.late.judging import Missed, late_batch
from windrow.semantics.progress.policies import LIMIT, START

_FURTHEST = 1 << 62
"""Times above this are given as if they were this: how far they are ahead must fit into 64 bits."""


@dataclass
class LeadLimit:
    """How far rows may be ahead, in units of their time: of the rows before them, or of the clock."""

    lead: int
    wall_clock: bool = False
    clock: Callable[[], float] = time.time
    """The time of day in seconds."""

    def judge(self, times: Integers, high: int) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Which rows are early, and what each row is measured against, when `high` is the largest time before them."""
        early = np.zeros(len(times), np.bool_)
        against = np.empty(len(times), np.int64)
        if self.wall_clock:
            against[:] = int(self.clock() * 1_000_000)
            early |= (times > against + self.lead) | (times >= LIMIT)
        else:
            kernels.early_rows(times, high, self.lead, LIMIT, early, against)
        against[against == START] = LIMIT - 1
        return early, against

    def places(self, times: Integers, high: int) -> Integers:
        """Where rows lie in their stream: those that are early, where the others before them are."""
        early, _ = self.judge(times, high)
        if not early.any():
            return times
        reached = np.maximum.accumulate(np.where(early, max(high, -LIMIT), times))
        return np.where(early, reached, times)


def as_late_rows(batch: Batch, schema: pa.Schema, data: pa.RecordBatch | None = None) -> LateRows:
    """Early rows, or other columns of them, as late rows are given: `late_by` is below zero, they missed no window.

    So they leave at the first operator that remembers rows, which counts them.
    """
    assert batch.bounds is not None
    by = batch.bounds - np.minimum(batch.times, _FURTHEST)
    missed = Missed(by, np.zeros(len(batch), np.int64), None, None)
    return LateRows(late_batch(batch.data if data is None else data, missed, batch.source, schema))
