"""Windows without rows, for EMIT EMPTY: those between two reported ones of the same group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.aggregates.base import Integers
from windrow.operators.state.groups import Codes
from windrow.operators.state.timeline import Answers
from windrow.semantics.progress import START

CHUNK = 1 << 18


class LastReported:
    """The number of the last window that each group was reported in."""

    def __init__(self) -> None:
        self.windows: Integers = np.empty(0, np.int64)

    def gaps(self, answers: Answers, groups: int) -> Iterator[tuple[Integers, Codes]]:
        """Numbers and group of the windows passed over since each group's last; then these are the last."""
        windows, codes = answers.windows, answers.codes
        if groups > len(self.windows):
            self.windows = np.concatenate([self.windows, np.full(2 * groups - len(self.windows), START, np.int64)])
        order = np.lexsort((windows, codes))
        before = np.empty(len(order), np.int64)
        sorted_codes, sorted_windows = codes[order], windows[order]
        heads = np.ones(len(order), np.bool_)
        heads[1:] = sorted_codes[1:] != sorted_codes[:-1]
        before[1:] = sorted_windows[:-1]
        before[heads] = self.windows[sorted_codes[heads]]
        self.windows[sorted_codes] = sorted_windows
        passed = np.where(before == START, 0, sorted_windows - before - 1)
        for i in np.flatnonzero(passed).tolist():
            for first in range(int(before[i]) + 1, int(sorted_windows[i]), CHUNK):
                empty = np.arange(first, min(first + CHUNK, int(sorted_windows[i])))
                yield empty, np.full(len(empty), sorted_codes[i], np.int32)

    @property
    def earliest(self) -> int | None:
        """The earliest of them; None when no group was reported."""
        known = self.windows[self.windows != START]
        return int(known.min()) if len(known) else None
