"""Which groups are eager, by the memory model with two thresholds, and the codes their cells go by.

Nothing is kept for a lazy group: only groups that are eager, or still have cells, are known here, by hash.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Integers
from windrow.operators.kernels.adaptive import count_cells, find_codes, index_codes
from windrow.operators.state.cells import in_order
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout
from windrow.operators.windows.keptrows import CODE, KeptRows
from windrow.plan.costs import Memory

UPPER, LOWER = 1.0, 0.5
"""Rows against cells, in bytes: above the one a lazy group becomes eager, below the other an eager one lazy."""
PATIENCE = 2
"""How often in a row an eager group must be found below the lower threshold."""
MOST_ROWS = 32
"""A lazy group with more rows than this in a window that overlaps others becomes eager, whatever its bytes: each of
its rows would be read again for every window. An eager one with more than half of it stays."""
SPARSE = 64
"""Tables with an entry for each group are made where there are at most so many groups a row."""


class Standings:
    """Inner code -> group (`outer`) and whether it is eager (`levels` above 0); and back, by hash."""

    def __init__(self, layout: Layout, kept: KeptRows, *, overlap: int) -> None:
        self.layout = layout
        self.kept = kept
        self.overlap = overlap
        self.switches = 0
        """How often a group changed sides."""
        self.replace(np.empty(0, np.int32), np.empty(0, np.uint8))

    def replace(self, outer: Codes, levels: npt.NDArray[np.uint8]) -> None:
        """Hold exactly these groups, in this order."""
        self.outer, self.levels = outer, levels
        size = 64
        while size < 2 * len(outer):
            size *= 2
        self.index = np.full(size, -1, np.int32)
        index_codes(self.index, outer)

    @property
    def count(self) -> int:
        return len(self.outer)

    def inner(self, codes: Codes) -> tuple[Codes, npt.NDArray[np.bool_]]:
        """The inner code of each group (`count`: it has none), and whether it is eager."""
        found = np.empty(len(codes), np.int32)
        absent = find_codes(codes, self.index, self.outer, self.count, found)
        if absent == len(codes):
            return found, np.zeros(len(codes), np.bool_)
        eager = np.append(self.levels > 0, False)
        return found, eager[found]

    @property
    def memory(self) -> Memory:
        """What a row and a cell take now: kept rows are weighed, cells follow from the state columns."""
        size = len(self.kept)
        weighed = self.kept.nbytes / size if size >= 1024 else None
        return Memory.of(self.layout.widths, len(self.kept.shape.places), weighed, tumbling=self.overlap == 1)

    # Lazy to eager

    def promote(self, panes: Integers, codes: Codes, groups: int) -> bool:
        """Make those groups eager whose rows here take more than their cells would; says whether there are any."""
        used, rows, cells = volumes(panes, codes, groups)
        memory = self.memory
        some = np.flatnonzero(memory.row * rows > UPPER * (memory.cell + memory.group))
        worth = some[memory.surplus(rows[some], cells[some]) > UPPER]
        return self._raise((worth if used is None else used[worth]).astype(np.int32))

    def relieve(self) -> None:
        """Make those groups eager whose kept rows are too many to be read again for every window."""
        if self.overlap > 1 and self.kept.closed[CODE].size > MOST_ROWS:
            rows = np.bincount(self.kept.closed[CODE].read())
            self._raise(np.flatnonzero(rows > MOST_ROWS).astype(np.int32))

    def _raise(self, groups: Codes) -> bool:
        places, eager = self.inner(groups)
        known = places[places < self.count]
        self.switches += int(np.count_nonzero(~eager))
        self.levels[known] = PATIENCE
        if len(known) < len(groups):
            fresh = groups[places == self.count]
            self._append(fresh)
        return len(groups) > 0

    def _append(self, groups: Codes) -> None:
        outer = np.concatenate([self.outer, groups])
        levels = np.concatenate([self.levels, np.full(len(groups), PATIENCE, np.uint8)])
        self.replace(outer, levels)

    # Eager to lazy

    def judge(self, parts: Iterable[tuple[Codes, Integers]]) -> None:
        """Given (code, rows) of all cells that count, those of the last window and open ones: who becomes lazy."""
        rows, cells = np.zeros(self.count), np.zeros(self.count, np.int64)
        for codes, volume in parts:
            rows += np.bincount(codes, weights=volume, minlength=self.count)
            cells += np.bincount(codes, minlength=self.count)
        sparse = self.memory.surplus(rows, cells) < LOWER
        if self.overlap > 1:
            sparse &= 2 * rows <= MOST_ROWS
        eager = self.levels > 0
        self.levels[eager & ~sparse] = PATIENCE
        self.levels[eager & sparse] -= 1
        self.levels[cells == 0] = 0
        self.switches += int(np.count_nonzero(eager) - np.count_nonzero(self.levels))

    # Codes

    def compacted(self, used: Codes) -> Codes | None:
        """Keep groups with cells and eager ones; what became of each inner code (-1: gone). None: too few would go."""
        kept = self.levels > 0
        kept[used] = True
        if 2 * np.count_nonzero(kept) > max(64, self.count):
            return None
        self.replace(self.outer[kept], self.levels[kept])
        return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)

    def remap(self, mapping: Codes) -> None:
        """Codes of groups have changed: `mapping[old] = new`."""
        self.replace(mapping[self.outer], self.levels)

    @property
    def nbytes(self) -> int:
        return self.levels.nbytes + self.outer.nbytes + self.index.nbytes


def volumes(panes: Integers, codes: Codes, groups: int) -> tuple[Integers | None, Integers, Integers]:
    """For each group its rows and the cells (different panes) that these would make; only for some groups where said.
    """
    used = None
    if groups > SPARSE * len(codes):
        used, local = np.unique(codes, return_inverse=True)
        codes, groups = local.astype(np.int32), len(used)
    first, last = int(panes.min()), int(panes.max())
    rows, cells = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    if (last - first + 1) * groups <= SPARSE * len(codes):
        count_cells(panes, first, codes, groups, np.zeros((last - first + 1) * groups, np.uint8), rows, cells)
        return used, rows, cells
    order = in_order(panes, codes)
    panes, sorted_codes = panes[order], codes[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (panes[1:] != panes[:-1]) | (sorted_codes[1:] != sorted_codes[:-1])
    return used, np.bincount(codes, minlength=groups), np.bincount(sorted_codes[fresh], minlength=groups)
