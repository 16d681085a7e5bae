"""EMIT EMPTY: the windows without rows between two reported ones of the same group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from windrow.aggregates.base import Integers
from windrow.operators.answers import Lowering
from windrow.operators.windows.base import Closed
from windrow.semantics.progress import START

CHUNK = 1 << 18


class Empties:
    """Knows the last window reported of every group."""

    def __init__(self, lowering: Lowering) -> None:
        self.lowering = lowering
        self.last: Integers = np.empty(0, np.int64)

    def before(self, closed: Closed, groups: int) -> Iterator[Closed]:
        """The empty windows between these, and between these and the last ones."""
        windows, codes = closed.answers.windows, closed.answers.codes
        if groups > len(self.last):
            self.last = np.concatenate([self.last, np.full(2 * groups - len(self.last), START, np.int64)])
        order = np.lexsort((windows, codes))
        before = np.empty(len(order), np.int64)
        sorted_codes, sorted_windows = codes[order], windows[order]
        heads = np.ones(len(order), np.bool_)
        heads[1:] = sorted_codes[1:] != sorted_codes[:-1]
        before[1:] = sorted_windows[:-1]
        before[heads] = self.last[sorted_codes[heads]]
        self.last[sorted_codes] = sorted_windows
        gaps = np.where(before == START, 0, sorted_windows - before - 1)
        for i in np.flatnonzero(gaps).tolist():
            for first in range(int(before[i]) + 1, int(sorted_windows[i]), CHUNK):
                empty = np.arange(first, min(first + CHUNK, int(sorted_windows[i])))
                yield self.lowering.nothing(empty, np.full(len(empty), sorted_codes[i], np.int32))
