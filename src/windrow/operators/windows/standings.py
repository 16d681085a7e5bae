"""Which groups are eager, by the memory model with two thresholds, and the codes their cells go by."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Integers
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


class Standings:
    """For each group whether it is eager (`levels` above 0) and the code its cells have (`places`, -1: none)."""

    def __init__(self, layout: Layout, kept: KeptRows, *, overlap: int) -> None:
        self.layout = layout
        self.kept = kept
        self.overlap = overlap
        self.levels: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self.places: Codes = np.empty(0, np.int32)
        self.outer: Codes = np.empty(0, np.int32)
        """The group of each code of cells."""
        self.switches = 0
        """How often a group changed sides."""

    def reserve(self, groups: int) -> None:
        more = groups - len(self.levels)
        if more > 0:
            more = max(more, groups // 8)
            self.levels = np.concatenate([self.levels, np.zeros(more, np.uint8)])
            self.places = np.concatenate([self.places, np.full(more, -1, np.int32)])

    @property
    def count(self) -> int:
        return max(1, len(self.outer))

    def is_eager(self, codes: Codes) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = self.levels[codes] > 0
        return found

    def eager(self) -> Codes:
        return np.flatnonzero(self.levels).astype(np.int32)

    def inner(self, codes: Codes) -> Codes:
        """The codes that cells of these groups go by, new ones where they have none."""
        found = self.places[codes]
        if (found < 0).any():
            fresh = np.unique(codes[found < 0])
            self.places[fresh] = np.arange(len(self.outer), len(self.outer) + len(fresh), dtype=np.int32)
            self.outer = np.concatenate([self.outer, fresh])
            found = self.places[codes]
        return found

    @property
    def memory(self) -> Memory:
        """What a row and a cell take now: kept rows are weighed, cells follow from the state columns."""
        size = len(self.kept)
        weighed = self.kept.nbytes / size if size >= 1024 else None
        return Memory.of(self.layout.widths, len(self.kept.shape.places), weighed, tumbling=self.overlap == 1)

    # Lazy to eager

    def promote(self, panes: Integers, codes: Codes) -> npt.NDArray[np.bool_]:
        """Make those groups eager whose rows here take more than their cells would; says for each row whether."""
        used, rows, cells = volumes(panes, codes, len(self.levels))
        worth = used[self.memory.surplus(rows, cells) > UPPER]
        self._raise(worth)
        return self.is_eager(codes)

    def relieve(self) -> None:
        """Make those groups eager whose kept rows are too many to be read again for every window."""
        if self.overlap > 1 and self.kept.closed[CODE].size > MOST_ROWS:
            rows = np.bincount(self.kept.closed[CODE].read())
            self._raise(np.flatnonzero(rows > MOST_ROWS))

    def _raise(self, groups: npt.NDArray[np.integer]) -> None:
        self.switches += int(np.count_nonzero(self.levels[groups] == 0))
        self.levels[groups] = PATIENCE

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
        before = np.count_nonzero(self.levels)
        outer = self.outer
        levels = self.levels[outer]
        levels[(levels > 0) & ~sparse] = PATIENCE
        levels[sparse & (levels > 0)] -= 1
        levels[cells[: len(outer)] == 0] = 0
        self.levels[outer] = levels
        self.switches += int(before - np.count_nonzero(self.levels))

    # Codes

    def compacted(self, used: Codes) -> Codes | None:
        """Keep the codes of groups with cells and of eager ones; what became of each code (-1: gone), None: nothing."""
        if len(self.outer) < 64:
            return None
        kept = np.zeros(len(self.outer), np.bool_)
        kept[used] = True
        kept |= self.levels[self.outer] > 0
        if 2 * np.count_nonzero(kept) > len(kept):
            return None
        mapping = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
        self.places[self.outer] = mapping
        self.outer = self.outer[kept]
        return mapping

    def remap(self, mapping: Codes, groups: int) -> None:
        """Group codes have changed: `mapping[old] = new`; those with cells are all in use, others may be gone."""
        known = mapping[: len(self.levels)]
        used = np.flatnonzero(known >= 0)
        levels, places = self.levels[used], self.places[used]
        self.levels, self.places = np.zeros(groups, np.uint8), np.full(groups, -1, np.int32)
        self.levels[known[used]], self.places[known[used]] = levels, places
        self.outer = mapping[self.outer]

    @property
    def nbytes(self) -> int:
        return self.levels.nbytes + self.places.nbytes + self.outer.nbytes


def volumes(panes: Integers, codes: Codes, groups: int) -> tuple[Integers, Integers, Integers]:
    """The groups there are, and for each its rows and the cells (different panes) that these would make."""
    used: Integers = np.arange(groups)
    if groups > 4 * len(codes) + 1024:
        used, local = np.unique(codes, return_inverse=True)
        codes, groups = local.astype(np.int32), len(used)
    rows = np.bincount(codes, minlength=groups)
    first = int(panes.min())
    span = int(panes.max()) - first + 1
    if span == 1:
        return used, rows, np.minimum(rows, 1)
    if span * groups <= 8 * len(codes) + (1 << 16):
        present = np.zeros(span * groups, np.bool_)
        present[(panes - first) * groups + codes] = True
        return used, rows, np.count_nonzero(present.reshape(span, groups), axis=0)
    order = in_order(panes, codes)
    panes, sorted_codes = panes[order], codes[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (panes[1:] != panes[:-1]) | (sorted_codes[1:] != sorted_codes[:-1])
    return used, rows, np.bincount(sorted_codes[fresh], minlength=groups)
