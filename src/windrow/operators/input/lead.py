"""Which rows of a stream are too far ahead. The rule is `semantics.lead`, on whole arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch
from windrow.operators.kernels import input as kernels
from windrow.semantics.progress.policies import LIMIT, START


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


def divided(batch: Batch, early: npt.NDArray[np.bool_], against: Integers) -> tuple[Batch, Batch]:
    """The rows that are not early, and those that are, with what they are ahead of."""
    rest = replace(batch, selected=(~early).view(np.uint8)).compact()
    return rest, replace(batch, selected=early.view(np.uint8), bounds=against).compact()
