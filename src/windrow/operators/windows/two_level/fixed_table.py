"""The low level's table: as many cells as it has places, however many groups there are (thesis section 8.3.3).

A cell has one place, by its hash. When another cell needs that place, the one that is there is driven out, as a
partial for the level above.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes import cells as kernels
from windrow.operators.state.cells import Cells
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table
from windrow.semantics.scalars.expressions import Expression

SPILL = 1 << 15
"""Rows taken at once: each of them may drive out a cell, whose slot is free only when its rows are added up."""


class LowTable:
    """Cells of fixed number. `places` is a power of two."""

    def __init__(self, layout: Layout, places: int) -> None:
        self.layout = layout
        self.index = np.full(places, -1, np.int32)
        room = places + SPILL
        self.panes, self.codes = np.zeros(room, np.int64), np.zeros(room, np.int32)
        self.state = layout.empty(room)
        self.free = np.arange(room, dtype=np.int32)
        self.left = room
        self.collisions = 0
        """Cells driven out by others so far."""
        self._gone = np.empty(max(places, SPILL), np.int32)

    def admit(self, panes: Integers, codes: Codes, lifted: dict[Expression, Lifted]) -> Cells:
        """Rows, at most `SPILL`, into their cells; returns the cells driven out."""
        slots = np.empty(len(panes), np.int32)
        self.left, gone = kernels.admit(
            panes, codes, self.index, self.panes, self.codes, self.free, self.left, slots, self._gone
        )
        self.layout.scatter(lifted, slots, self.state)
        self.collisions += gone
        return self._taken(gone)

    def sweep(self, start: int, end: int, below: int) -> Cells:
        """Take out the cells of panes below `below` that have their places from `start` to `end`."""
        return self._taken(kernels.sweep(start, end, below, self.index, self.panes, self._gone))

    def _taken(self, gone: int) -> Cells:
        slots = self._gone[:gone]
        cells = Cells(self.panes[slots], self.codes[slots], self.state.take(slots))
        self.state.reset(slots)
        self.layout.settle(cells.state)
        self.free[self.left : self.left + gone] = slots
        self.left += gone
        return cells

    def __len__(self) -> int:
        """Places."""
        return len(self.index)

    def below(self, pane: int) -> int:
        """How many cells of lower panes it holds."""
        return int(np.count_nonzero(self.panes[self.index[self.index >= 0]] < pane))

    def codes_in_use(self) -> Codes:
        return self.codes[self.index[self.index >= 0]]

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.state = convert(self.state)

    @property
    def nbytes(self) -> int:
        return self.state.nbytes + sum(a.nbytes for a in (self.index, self.panes, self.codes, self.free, self._gone))


def pieces(rows: int) -> Iterator[slice]:
    """Rows in as many pieces as the table takes."""
    return (slice(start, min(start + SPILL, rows)) for start in range(0, rows, SPILL))
