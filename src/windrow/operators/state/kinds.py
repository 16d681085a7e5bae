"""Kinds of state: how the rows of one matrix of a table are combined, and what is neutral.

What adds up can be subtracted again; all other kinds keep the greatest, and windows slide over these by two stacks.
Everything that holds state goes through the matrices of a table kind by kind; a further kind is one line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from windrow.aggregates.kinds.base import Numbers
from windrow.operators.kernels.panes import cells

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
    together: tuple[int, ...] = (0,)
    """As many entries as columns are compared as one: kernels are compiled for that number."""

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
    return StateKind(name, dtype, int(np.iinfo(dtype).min), cells.combine_maxs)


ADDS = StateKind("add", np.int64, 0, cells.combine_adds)
MAXS = _greatest("max", np.int64)
PAIRS = StateKind("pair", np.int64, int(LEAST), cells.combine_pairs, together=(0, 0))
BYTES = _greatest("byte", np.uint8)
KINDS = ADDS, MAXS, PAIRS, BYTES
"""In the order in which they stand in tables."""
