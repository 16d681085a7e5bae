"""Rings: for each group its latest cells in order, in stretches of one pool that grow with what a group needs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows import last_rows as kernels
from windrow.operators.kernels.rows.last_rows import BEGIN, CELL, FRONT, NEXT, ROOM, SIZE, START, UNLISTED
from windrow.operators.state.cells import Cells
from windrow.operators.state.groups import Codes
from windrow.operators.state.kinds import ADDS
from windrow.operators.state.layout import Table

COLUMNS = 9


class Rings:
    """Cells (pane and state) of groups, oldest first."""

    def __init__(self, empty: Callable[[int], Table], most: int) -> None:
        self.empty = empty
        """Neutral state for so many cells."""
        self.most = most
        """No group needs more cells than this at once."""
        self.groups = _no_groups(64)
        """What is known of each group; the columns are named in `kernels.rows`."""
        self.used = 0
        self.panes: Integers = np.zeros(256, np.int64)
        self.state = empty(256)

    def reserve_groups(self, count: int) -> None:
        if count > len(self.groups):
            self.groups = np.concatenate([self.groups, _no_groups(max(count, 2 * len(self.groups)) - len(self.groups))])

    def reserve(self, codes: Codes) -> None:
        """Room for the fresh cells that were noted of these groups."""
        wanted = int(kernels.room_wanted(codes, self.most, self.groups))
        if self.used + wanted > len(self.panes):
            self._pack(wanted)
        moves = np.empty((len(codes), 5), np.int64)
        count, self.used = kernels.give_room(codes, self.used, self.groups, moves)
        self._move(moves[:count], self.panes, self.state)

    def _pack(self, wanted: int) -> None:
        """A new pool with at least so much to spare, without what is no longer used."""
        size = 2 * (int(self.groups[:, ROOM].sum()) + wanted)
        panes, state = np.zeros(size, np.int64), self.empty(size)
        moves = np.empty((len(self.groups), 5), np.int64)
        count, self.used = kernels.pack(self.groups, moves)
        self._move(moves[:count], panes, state)
        self.panes, self.state = panes, state

    def _move(self, moves: Integers, panes: Integers, state: Table) -> None:
        """Cells to other places, of this pool or of another."""
        if len(moves):
            kernels.move_cells(moves, self.panes[:, None], panes[:, None])
            for kind, matrix in self.state.matrices.items():
                kernels.move_cells(moves, matrix, state.matrices[kind])

    def _places(self) -> tuple[Codes, Integers, Integers]:
        """Of each cell its group, its place in the ring and its place in the pool, in order of groups."""
        sizes = self.groups[:, SIZE]
        codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        number = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        start, begin, mask = self.groups[codes, START], self.groups[codes, BEGIN], self.groups[codes, ROOM] - 1
        return codes, number, start + ((begin + number) & mask)

    def content(self) -> Cells:
        """All cells, in order of groups."""
        codes, _, at = self._places()
        return Cells(self.panes[at], codes, self.state.take(at))

    def in_front(self) -> Integers:
        """Which cells, in the order of `content`, are in the front of their ring."""
        codes, number, _ = self._places()
        front: Integers = (number < self.groups[codes, FRONT]).astype(np.int64)
        return front

    def fill(self, cells: Cells) -> None:
        """Hold exactly these cells, which come in order of groups; nothing is in front."""
        codes = cells.codes
        self.reserve_groups(int(codes.max(initial=-1)) + 1)
        kernels.count_fresh(codes, self.groups)
        self.most, most = max(len(codes), 1), self.most
        self.reserve(codes)
        self.most = most
        np.add.at(self.groups[:, SIZE], codes, 1)
        _, _, at = self._places()
        self.panes[at] = cells.places
        self.state.put(at, cells.state)

    def remap(self, mapping: Codes, groups: int) -> None:
        """Group codes have changed: `mapping[old] = new`, -1 for groups no longer in use, whose cells go."""
        used = np.flatnonzero(mapping >= 0)
        kept = _no_groups(max(64, groups))
        kept[mapping[used]] = self.groups[used]
        linked = kept[:, NEXT] >= 0
        kept[linked, NEXT] = mapping[kept[linked, NEXT]]
        self.groups = kept

    def keys_in_use(self) -> Integers:
        """The first column of all cells, for rings that hold values by their keys."""
        keys: Integers = self.content().state.adds[:, 0]
        return keys

    def renumber(self, mapping: Integers) -> None:
        _, _, at = self._places()
        self.state.adds[at, 0] = mapping[self.state.adds[at, 0]]

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + self.panes.nbytes + self.state.nbytes


def _no_groups(count: int) -> Integers:
    groups = np.zeros((count, COLUMNS), np.int64)
    groups[:, NEXT], groups[:, CELL] = UNLISTED, -1
    return groups


def values_only(cells: int) -> Table:
    """State that is one key a cell."""
    return Table({ADDS: np.zeros((cells, 1), np.int64)})
