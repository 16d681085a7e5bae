"""Open cells: state per (pane or window, group), found by hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes import cells as kernels
from windrow.operators.state.changes import Marks
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Layout, Table


@dataclass(frozen=True)
class Cells:
    """Some cells: pane, group code and state of each."""

    panes: Integers
    codes: Codes
    state: Table

    def __len__(self) -> int:
        return len(self.panes)

    def take(self, rows: npt.NDArray[Any]) -> Cells:
        return Cells(self.panes[rows], self.codes[rows], self.state.take(rows))

    def each_once(self, layout: Layout) -> Cells:
        """The same state with one cell for each pane and group."""
        table = CellTable(layout)
        table.combine(self.panes, self.codes, self.state)
        layout.settle(table.state)
        return Cells(*table.content())

    @staticmethod
    def joined(parts: Sequence[Cells]) -> Cells:
        """Cells one after the other; there must be some."""
        if len(parts) == 1:
            return parts[0]
        panes, codes = np.concatenate([p.panes for p in parts]), np.concatenate([p.codes for p in parts])
        return Cells(panes, codes, Table.joined(p.state for p in parts))


class CellTable:
    """A growing table of cells. Slots are dense and in order of first use."""

    def __init__(self, layout: Layout, *, growth: int = 4) -> None:
        self.layout = layout
        self.growth = growth
        """How many times larger it becomes when it is full: a power of two."""
        self.count = 0
        self.marks = Marks()
        self._reserve(64)

    def _reserve(self, capacity: int) -> None:
        self.panes = np.zeros(capacity, np.int64)
        self.codes = np.zeros(capacity, np.int32)
        self.state = self.layout.empty(capacity)
        self.index = np.full(2 * capacity, -1, np.int32)

    def _grow(self) -> None:
        old = self.panes, self.codes, self.state
        count = self.count
        self._reserve(self.growth * len(self.panes))
        self.panes[:count], self.codes[:count] = old[0][:count], old[1][:count]
        self.state = self.layout.grown(old[2].take(slice(count)), len(self.panes))
        kernels.rebuild(self.index, self.panes, self.codes, count)

    def slots(self, panes: Integers, codes: Codes) -> Codes:
        """The slot of each row's cell, to be changed, made where it is new. No `codes`: all are of group 0."""
        out = np.empty(len(panes), np.int32)
        reached, before = 0, self.count
        while True:
            reached, self.count = kernels.upsert(
                panes, codes, reached, self.index, self.panes, self.codes, self.count, out
            )
            if reached == len(panes):
                self.marks.add(before, self.count)
                self.marks.touch(out)
                return out
            self._grow()

    def combine(self, panes: Integers, codes: Codes, state: Table) -> None:
        """Combine cells from elsewhere into these."""
        slots = self.slots(panes, codes)  # first: the state may grow
        self.state.combine(slots, state)

    def take_below(self, pane: int) -> tuple[Integers, Codes, Table]:
        """Remove and return the cells below `pane`, sorted by (pane, code)."""
        panes, codes = self.panes[: self.count], self.codes[: self.count]
        leaving = np.flatnonzero(panes < pane)
        if len(leaving):
            leaving = leaving[in_order(panes[leaving], codes[leaving])]
        taken = panes[leaving], codes[leaving], self.state.take(leaving)
        if len(leaving) == self.count:
            self._clear()
        elif len(leaving):
            self._keep(np.flatnonzero(panes >= pane))
        return taken

    def _clear(self) -> None:
        """Empty, in the room it has."""
        self.index.fill(-1)
        self.state.reset(slice(self.count))
        self.count = 0
        self.marks.keep(slice(0))

    def keep(self, chosen: npt.NDArray[np.bool_]) -> None:
        """Only these of its cells."""
        if not chosen.all():
            self._keep(np.flatnonzero(chosen))

    def _keep(self, rows: npt.NDArray[np.int64]) -> None:
        self._refill(self.panes[rows], self.codes[rows], self.state.take(rows))
        self.marks.keep(rows)

    def fill(self, panes: Integers, codes: Codes, state: Table) -> None:
        """Hold exactly these (different) cells."""
        self._refill(panes, codes, state)
        self.marks.renew()

    def convert(self, convert: Callable[[Table], Table]) -> None:
        """The columns of the state have changed."""
        self.state = convert(self.state)
        self.marks.renew()

    def _refill(self, panes: Integers, codes: Codes, state: Table) -> None:
        self.count = len(panes)
        capacity = 64
        while capacity < 2 * self.count:
            capacity *= 2
        self._reserve(capacity)
        self.panes[: self.count], self.codes[: self.count] = panes, codes
        self.state = self.layout.grown(state, capacity)
        kernels.rebuild(self.index, self.panes, self.codes, self.count)

    def content(self) -> tuple[Integers, Codes, Table]:
        return self.panes[: self.count], self.codes[: self.count], self.state.take(slice(self.count))

    @property
    def nbytes(self) -> int:
        return self.state.nbytes + self.panes.nbytes + self.codes.nbytes + self.index.nbytes


def in_order(panes: Integers, codes: Codes) -> Integers:
    """The order by (pane, code); cheap when it is almost the order already."""
    first, groups = int(panes.min()), int(codes.max()) + 1
    if (int(panes.max()) - first + 1) * groups < 1 << 62:
        return np.argsort((panes - first) * groups + codes, kind="stable")
    return np.lexsort((codes, panes))
