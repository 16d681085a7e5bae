"""Kinds of state: how the rows of one matrix of a table are combined, what is neutral, how windows slide over them.

Everything that holds state goes through the matrices of a table kind by kind; a further kind is one line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.aggregates.kinds.base import Numbers
from windrow.operators.kernels.panes import cells, sliding
from windrow.operators.kernels.rows import last_rows

LEAST = np.int64(-(1 << 63))


@dataclass(frozen=True, eq=False)
class StateKind:
    """One matrix of a table, one row a cell. Compared by identity."""

    name: str
    """What its columns are called in saved tables and on the wire."""
    dtype: type[np.integer[Any]]
    neutral: int
    combine: Callable[..., None]
    """Combine rows into the cells with these slots: `(slots, rows, cells)`."""
    slide_rows: Callable[..., None]
    """Slide over the rings of last rows."""
    flip: Callable[..., None] | None = None
    slide: Callable[..., int] | None = None
    """Two stacks, for what cannot be subtracted."""
    together: int = 1
    """How many columns are compared as one."""

    @property
    def is_narrow(self) -> bool:
        """Its rows are blocks of small numbers, saved as one column."""
        return np.dtype(self.dtype).itemsize < 8

    def empty(self, rows: int, width: int) -> Numbers:
        if self.neutral == 0:  # pages that nobody touches take no memory
            return np.zeros((rows, width), self.dtype)
        return np.full((rows, width), self.neutral, self.dtype)


def _greatest(name: str, dtype: type[np.integer[Any]]) -> StateKind:
    """Each column keeps the greatest; of 64 bits with a sign, or fewer without.

    The kernels reset to the least int64, which is 0 in an unsigned column: the least there too.
    """
    neutral = int(np.iinfo(dtype).min)
    return StateKind(
        name, dtype, neutral, cells.combine_maxs, last_rows.slide_row_maxs, sliding.flip_maxs, sliding.slide_maxs
    )


ADDS = StateKind("add", np.int64, 0, cells.combine_adds, last_rows.slide_row_adds)
MAXS = _greatest("max", np.int64)
PAIRS = StateKind(
    "pair", np.int64, int(LEAST), cells.combine_pairs, last_rows.slide_row_pairs,
    sliding.flip_pairs, sliding.slide_pairs, together=2,
)  # fmt: skip
BYTES = _greatest("byte", np.uint8)
KINDS = ADDS, MAXS, PAIRS, BYTES
"""In the order in which they stand in tables."""
