"""Open cells: state per (pane or window, group), found by hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, numbers_of
from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes import cells as kernels
from windrow.operators.state.changes import HeldCells, Marks, Saved, Tracked
from windrow.operators.state.groups import Codes, codes_of
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.state_columns import state_columns, state_of


@dataclass
class Cells:
    """Some cells, or answers of windows: place (a pane, a window or a time), group code and state of each."""

    places: Integers
    codes: Codes
    state: Table

    def __len__(self) -> int:
        return len(self.places)

    def take(self, rows: npt.NDArray[Any] | slice) -> Cells:
        return Cells(self.places[rows], self.codes[rows], self.state.take(rows))

    def recoded(self, codes: Codes) -> Cells:
        """The same cells of other groups."""
        return Cells(self.places, codes, self.state)

    def ordered(self) -> Cells:
        """By place, then by group."""
        return self.take(np.lexsort((self.codes, self.places)))

    def each_once(self, layout: Layout) -> Cells:
        """The same state with one cell for each place and group."""
        table = CellTable(layout)
        table.combine(self.places, self.codes, self.state)
        layout.settle(table.state)
        return table.content()

    @staticmethod
    def joined(parts: Sequence[Cells]) -> Cells:
        """Cells one after the other; there must be some."""
        if len(parts) == 1:
            return parts[0]
        places, codes = np.concatenate([p.places for p in parts]), np.concatenate([p.codes for p in parts])
        return Cells(places, codes, Table.joined(p.state for p in parts))

    @property
    def nbytes(self) -> int:
        return self.places.nbytes + self.codes.nbytes + self.state.nbytes

    # Tables

    def table(self) -> pa.Table:
        return pa.table({"place": arrow(self.places), "code": arrow(self.codes), **state_columns(self.state)})

    @staticmethod
    def of_table(table: pa.Table, layout: Layout) -> Cells:
        return Cells(numbers_of(table, "place"), codes_of(table), state_of(table, layout.widths))

    def tracked(self, marks: Marks) -> Tracked:
        """With marks of what changed of them."""
        return Tracked(marks, self.places, self.codes, lambda chosen: self._own(chosen).held())

    def _own(self, chosen: npt.NDArray[Any] | slice) -> Cells:
        """The chosen ones, in memory of their own."""
        cells = self.take(chosen)
        if not isinstance(chosen, slice):
            return cells
        return Cells(cells.places.copy(), cells.codes.copy(), cells.state.copy())

    def held(self) -> HeldCells:
        """These, which nobody changes any more."""
        return HeldCells(self.places, self.codes, lambda chosen: self.take(chosen).table())


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
        self._refill(self.content(), self.growth * len(self.panes))

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

    def take_below(self, pane: int) -> Cells:
        """Remove and return the cells below `pane`, sorted by (pane, code)."""
        panes, codes = self.panes[: self.count], self.codes[: self.count]
        leaving = np.flatnonzero(panes < pane)
        if len(leaving):
            leaving = leaving[in_order(panes[leaving], codes[leaving])]
        taken = Cells(panes[leaving], codes[leaving], self.state.take(leaving))
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
        self._refill(self.content().take(rows))
        self.marks.keep(rows)

    def fill(self, cells: Cells) -> None:
        """Hold exactly these (different) cells."""
        self._refill(cells)
        self.marks.renew()

    def remap(self, mapping: Codes) -> None:
        """Group codes have changed: `mapping[old] = new`."""
        cells = self.content()
        self.fill(cells.recoded(mapping[cells.codes]))

    def convert(self, convert: Callable[[Table], Table]) -> None:
        """The columns of the state have changed."""
        self.state = convert(self.state)
        self.marks.renew()

    def _refill(self, cells: Cells, least: int = 64) -> None:
        """Hold these cells, with room for twice as many, or for the least."""
        self.count = len(cells)
        self._reserve(max(least, 1 << (2 * self.count - 1).bit_length()))
        self.panes[: self.count], self.codes[: self.count] = cells.places, cells.codes
        self.state.put(slice(self.count), cells.state)
        kernels.rebuild(self.index, self.panes, self.codes, self.count)

    def content(self) -> Cells:
        return Cells(self.panes[: self.count], self.codes[: self.count], self.state.take(slice(self.count)))

    def saved(self) -> dict[str, Saved]:
        return {"cells": self.content().tracked(self.marks)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.fill(Cells.of_table(tables["cells"], self.layout))

    @property
    def nbytes(self) -> int:
        return self.state.nbytes + self.panes.nbytes + self.codes.nbytes + self.index.nbytes


def in_order(panes: Integers, codes: Codes) -> Integers:
    """The order by (pane, code); cheap when it is almost the order already."""
    first, groups = int(panes.min()), int(codes.max()) + 1
    if (int(panes.max()) - first + 1) * groups < 1 << 62:
        return np.argsort((panes - first) * groups + codes, kind="stable")
    return np.lexsort((codes, panes))
