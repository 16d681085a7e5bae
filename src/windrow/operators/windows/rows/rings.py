"""Rings: for each group its latest cells in order, in stretches of one pool that grow with what a group needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows import last_rows as kernels
from windrow.operators.kernels.rows.last_rows import (
    BEGIN,
    CELL,
    FRESH,
    FRONT,
    NEXT,
    ROOM,
    SIZE,
    START,
    UNLISTED,
)
from windrow.operators.state.groups import Codes
from windrow.operators.state.kinds import KINDS
from windrow.operators.state.layout import Table
from windrow.operators.store.row_block import RowBlock

COLUMNS = 9
LEAST = 256
"""Cells that a pool has room for at first."""
Pool: TypeAlias = dict[str, npt.NDArray[Any]]
"""Matrices by name, with a line a cell. Where cells do not follow pane by pane, `PLACE` is the pane of each."""
PLACE = "place"
_IMPLIED: Integers = np.empty(0, np.int64)


class Rings:
    """Cells of groups, oldest first."""

    def __init__(self, blank: Callable[[int], Pool], most: int) -> None:
        self.blank = blank
        """A pool for so many cells, with neutral state."""
        self.most = most
        """No group needs more cells than this at once."""
        self.groups = _no_groups(64)
        """What is known of each group; the columns are named in `kernels.rows`."""
        self.used = 0
        self.pool = blank(LEAST)
        self.room = LEAST
        self._grew = False
        """Whether a ring grew when room was reserved the last time."""

    @property
    def panes(self) -> Integers:
        """The pane of each cell of the pool; empty where the place in the ring says it."""
        return self.pool[PLACE].reshape(-1) if PLACE in self.pool else _IMPLIED

    @property
    def state(self) -> Table:
        """The state of each cell of the pool, where all of it is kept."""
        return Table({kind: self.pool[kind.name] for kind in KINDS if kind.name in self.pool})

    def reserve_groups(self, count: int) -> None:
        if count > len(self.groups):
            self.groups = np.concatenate([self.groups, _no_groups(max(count, 2 * len(self.groups)) - len(self.groups))])

    def reserve(self, codes: Codes) -> None:
        """Room for the fresh cells that were noted of these groups."""
        wanted = int(kernels.room_wanted(codes, self.most, self.groups))
        if self.used + wanted > self.room:
            self._pack()
        elif self._grew and not wanted:
            self._trim()
        self._grew = wanted > 0
        moves = np.empty((len(codes), 5), np.int64)
        count, self.used = kernels.give_room(codes, self.used, self.groups, moves)
        self._move(moves[:count], self.pool)

    def _trim(self) -> None:
        """No more room than rings have, and an eighth, once none of them grows any more."""
        rooms = self.groups[:, ROOM]
        if (rooms[rooms > 0] >= self.most).all() and self.room > max(5 * int(rooms.sum()) // 4, LEAST):
            self._pack()

    def _pack(self) -> None:
        """A new pool with the room that rings want, without what is no longer used.

        A third is to spare while rings grow, so that it is not soon too small again, an eighth once they do not.
        """
        rooms = np.maximum(self.groups[:, ROOM], -self.groups[:, FRESH])
        needed = int(rooms.sum())
        growing = int(np.minimum(self.most - rooms[rooms > 0], needed).sum())
        self.room = max(needed + max(min(needed // 3, growing), needed // 8), LEAST)
        pool = self.blank(self.room)
        moves = np.empty((len(self.groups), 5), np.int64)
        count, self.used = kernels.pack(self.groups, moves)
        self._move(moves[:count], pool)
        self.pool = pool

    def _move(self, moves: Integers, pool: Pool) -> None:
        """Cells to other places, of this pool or of another."""
        if len(moves):
            for name, matrix in self.pool.items():
                kernels.move_cells(moves, matrix, pool[name])

    def _places(self) -> tuple[Codes, Integers, Integers]:
        """Of each cell its group, its place in the ring and its place in the pool, in order of groups."""
        sizes = self.groups[:, SIZE]
        codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        number = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        start, begin, room = (self.groups[codes, column] for column in (START, BEGIN, ROOM))
        return codes, number, start + (begin + number) % np.maximum(room, 1)

    def content(self) -> RowBlock:
        """All cells with their codes, in order of groups."""
        codes, _, at = self._places()
        kept = {name: matrix[at] for name, matrix in self.pool.items()}
        places = {PLACE: kept.pop(PLACE).reshape(-1)} if PLACE in kept else {}
        return RowBlock({**places, "code": codes, **kept})

    def in_front(self) -> Integers:
        """Which cells, in the order of `content`, are in the front of their ring."""
        codes, number, _ = self._places()
        front: Integers = (number < self.groups[codes, FRONT]).astype(np.int64)
        return front

    def fill(self, cells: RowBlock) -> None:
        """Hold exactly these cells, which come in order of groups; nothing is in front."""
        codes = cells["code"].astype(np.int32)
        self.reserve_groups(int(codes.max(initial=-1)) + 1)
        kernels.count_fresh(codes, self.groups)
        self.most, most = int(np.bincount(codes, minlength=1).max()), self.most  # no more than there is, for now
        self.reserve(codes)
        self.most = most
        np.add.at(self.groups[:, SIZE], codes, 1)
        _, _, at = self._places()
        for name, matrix in self.pool.items():
            matrix[at] = cells[name].reshape(-1, matrix.shape[1])

    def remap(self, mapping: Codes, groups: int) -> None:
        """Group codes have changed: `mapping[old] = new`, -1 for groups no longer in use, whose cells go."""
        used = np.flatnonzero(mapping >= 0)
        kept = _no_groups(max(64, groups))
        kept[mapping[used]] = self.groups[used]
        linked = kept[:, NEXT] >= 0
        kept[linked, NEXT] = mapping[kept[linked, NEXT]]
        self.groups = kept

    def column(self, name: str, column: int) -> Integers:
        """A column of all cells."""
        _, _, at = self._places()
        found: Integers = self.pool[name][at, column]
        return found

    def renumber(self, name: str, column: int, mapping: Integers) -> None:
        """What is in a column has changed: `mapping[old] = new`."""
        _, _, at = self._places()
        matrix = self.pool[name]
        matrix[at, column] = mapping[matrix[at, column]]

    @property
    def nbytes(self) -> int:
        return self.groups.nbytes + sum(matrix.nbytes for matrix in self.pool.values())


def _no_groups(count: int) -> Integers:
    groups = np.zeros((count, COLUMNS), np.int64)
    groups[:, NEXT], groups[:, CELL] = UNLISTED, -1
    return groups
