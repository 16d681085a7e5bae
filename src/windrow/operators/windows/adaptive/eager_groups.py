"""Which groups are eager, by the memory model with two thresholds, and the codes their cells go by.

Nothing is kept for a lazy group: only groups that are eager, or still have cells, are known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes.adaptive import divide_rows, know_groups, weigh_few_rows, weigh_rows
from windrow.operators.state.groups import Codes
from windrow.operators.windows.adaptive.kept_rows import KeptRows
from windrow.physical.costs import Memory, StateShape
from windrow.semantics.windows.kinds import Sliding

Volumes: TypeAlias = npt.NDArray[np.int32]
UPPER, LOWER = 1.0, 0.25
"""The burden of rows against cells: above the one a lazy group becomes eager, below the other an eager one lazy. Both
its parts, bytes and time, grow with the rows: the lower threshold is at about half the rows of the upper one."""
PATIENCE = 2
"""How often in a row an eager group must be found below the lower threshold."""
FEW = 64
"""So many groups are always known, of use or not."""
WEIGHED = 1024
"""From so many kept rows on, their weight is measured; below it is estimated."""
DENSE = 8
"""Rows are weighed in a table of all groups where there are at most so many of its entries a row."""


@dataclass(frozen=True)
class Division:
    """Rows divided: the cell code of each (of none: one above all), and which rows are of lazy groups."""

    inner: Codes
    lazy: Integers
    spare: int

    @property
    def eager(self) -> npt.NDArray[np.bool_]:
        return self.inner < self.spare


class Standings:
    """Cell code -> group (`outer`), and whether that is eager (`levels` above 0)."""

    def __init__(self, kept: KeptRows, window: Sliding) -> None:
        self.kept = kept
        self.window = window
        self.look_at = FEW
        self._measured: tuple[tuple[int, int, int], int, Memory] | None = None
        self.outer: Codes = np.empty(0, np.int32)
        self.levels: npt.NDArray[np.uint8] = np.empty(0, np.uint8)

    @property
    def count(self) -> int:
        return len(self.outer)

    def divide(self, codes: Codes, groups: int, panes: Integers | None = None) -> Division:
        """Rows of eager and of lazy groups. With `panes`, groups become eager first whose rows here ask for it."""
        known = self._known(groups)
        if panes is not None:
            self._promote(panes, codes, known)
        inner, lazy = np.empty(len(codes), np.int32), np.empty(len(codes) + 1, np.int64)
        found = divide_rows(codes, known, self.count, inner, lazy)
        return Division(inner, lazy[:found], self.count)

    def _known(self, groups: int) -> Codes:
        """The code of each group's cells; of a lazy group -2 less that, or -1. Made anew each time, to keep nothing."""
        known = np.empty(groups, np.int32)
        know_groups(self.outer, self.levels, known)
        return known

    @property
    def memory(self) -> Memory:
        """What a row and a cell take now: kept rows are weighed, cells follow from the state columns.

        Measured again when the rows are a quarter more or less.
        """
        size, plan = len(self.kept), self.kept.shape.plan
        weights, before, _ = self._measured or (None, 0, None)
        if self._measured is None or weights != plan.layout.weights or 4 * abs(size - before) > before:
            weighed = self.kept.nbytes / size if size >= WEIGHED else None
            shape = StateShape(*plan.layout.weights, len(plan.layout.arguments), len(plan.values))
            self._measured = plan.layout.weights, size, shape.memory(self.window, weighed)
        return self._measured[2]

    # Lazy to eager

    def _promote(self, panes: Integers, codes: Codes, known: Codes) -> None:
        """Make those groups eager whose rows, of which these are all, take more than the cells they would make."""
        memory = self.memory
        least = memory.least_rows(UPPER)
        if least < len(codes):
            groups, rows, cells = volumes(panes, codes, len(known), int(least) + 1)
            worth = groups[(memory.burden(rows, cells) > UPPER) & (known[groups] < 0)]
            if len(worth):
                self._raise(worth, known)

    def relieve(self, groups: int) -> None:
        """Make those groups eager whose sorted rows are a burden; these rows stay what they are."""
        self.kept.sorted_since = 0
        if len(self.kept.sorted):
            rows = self.kept.sorted.content()
            self._promote(rows["place"], rows["code"].astype(np.int32), self._known(groups))

    def _kept(self, chosen: npt.NDArray[np.bool_]) -> tuple[Integers, Integers]:
        """Sorted rows and the cells these would make, for each group known here that is chosen."""
        kept = self.kept.sorted.content()
        codes = kept["code"].astype(np.int32)
        groups = int(max(self.outer.max(initial=0), codes.max(initial=0))) + 1
        wanted, rows, cells = np.zeros(groups, np.bool_), np.zeros(groups, np.int64), np.zeros(groups, np.int64)
        wanted[self.outer[chosen]] = True
        places = np.flatnonzero(wanted[codes])
        if len(places):
            found = volumes(kept.part("place", places), codes[places], groups, 1)
            rows[found[0]], cells[found[0]] = found[1:]
        return rows[self.outer], cells[self.outer]

    def _raise(self, groups: Codes, known: Codes) -> None:
        """Make lazy groups eager. One that still has cells keeps their code."""
        before = known[groups]
        self.levels[-2 - before[before < -1]] = PATIENCE
        fresh = groups[before == -1]
        known[groups] = -2 - before
        known[fresh] = np.arange(self.count, self.count + len(fresh), dtype=np.int32)
        self.outer = np.concatenate([self.outer, fresh])
        self.levels = np.concatenate([self.levels, np.full(len(fresh), PATIENCE, np.uint8)])

    # Eager to lazy

    def judge(self, parts: Iterable[tuple[Codes, Integers]]) -> None:
        """Given (code, rows) of all cells that count, those of the last window and open ones: who becomes lazy."""
        rows, cells = np.zeros(self.count), np.zeros(self.count, np.int64)
        for codes, volume in parts:
            rows += np.bincount(codes, weights=volume, minlength=self.count)
            cells += np.bincount(codes, minlength=self.count)
        eager = self.levels > 0
        sparse = self.memory.burden(rows, cells) < LOWER
        if (doubtful := eager & sparse & (cells > 0)).any():
            kept_rows, kept_cells = self._kept(doubtful)  # which would be among its rows if it were lazy
            sparse &= self.memory.burden(rows + kept_rows, cells + kept_cells) < LOWER
        self.levels[eager & ~sparse] = PATIENCE
        self.levels[eager & sparse] -= 1
        self.levels[cells == 0] = 0

    # Codes

    @property
    def is_to_compact(self) -> bool:
        """Whether the groups known have doubled since it was looked who of them is of use."""
        return self.count > self.look_at

    def compacted(self, used: Iterable[Codes]) -> Codes:
        """Keep eager groups and those with cells, whose codes are `used`; what became of each code (-1: gone)."""
        kept = self.levels > 0
        for codes in used:
            kept[codes] = True
        self.outer, self.levels = self.outer[kept], self.levels[kept]
        self.look_at = max(FEW, 2 * self.count)
        return np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)

    def remap(self, mapping: Codes) -> None:
        self.outer = mapping[self.outer]

    @property
    def nbytes(self) -> int:
        return self.levels.nbytes + self.outer.nbytes


def volumes(panes: Integers, codes: Codes, groups: int, least: int) -> tuple[Codes, Volumes, Volumes]:
    """Groups with at least so many rows, and of each its rows and the cells (different panes) that they would make.

    One pane stands for all rows.
    """
    if len(panes) == 1:
        sizes = np.bincount(codes)
        used = np.flatnonzero(sizes >= least).astype(np.int32)
        return used, sizes[used].astype(np.int32), np.ones(len(used), np.int32)
    first, last, size = int(panes.min()), int(panes.max()), len(codes)
    slots, chosen = (last - first + 1) * groups, np.empty(size, np.int32)
    if slots <= max(FEW, DENSE * size):
        rows, cells = np.zeros(groups, np.int32), np.zeros(groups, np.int32)
        found = weigh_rows(panes, first, codes, groups, least, np.zeros(slots, np.uint8), rows, cells, chosen)
        return chosen[:found], rows[chosen[:found]], cells[chosen[:found]]
    indexes = np.full((2, 1 << (2 * size).bit_length()), -1, np.int32)
    used, rows, cells = np.empty(size, np.int32), np.zeros(size, np.int32), np.zeros(size, np.int32)
    found = weigh_few_rows(panes, codes, least, indexes[0], indexes[1], used, rows, cells, chosen)
    places = chosen[:found]
    return used[places], rows[places], cells[places]
