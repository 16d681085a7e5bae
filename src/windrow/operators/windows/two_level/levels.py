"""The low level's table and the high level's stripes of a two-level aggregation (thesis section 8.3.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes import cells as kernels
from windrow.operators.state.cells import Cells
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.state.kinds import LEAST
from windrow.operators.state.layout import Layout, Table
from windrow.operators.windows.base import Closed
from windrow.operators.windows.panes import PanedWid
from windrow.semantics.progress.policies import START
from windrow.semantics.scalars.expressions import Expression

SPILL = 1 << 15
"""Rows taken at once: each of them may drive out a cell, whose slot is free only when its rows are added up."""


class LowTable:
    """Cells of fixed number, however many groups there are. `places` is a power of two.

    A cell has one place, by its hash. When another cell needs that place, the one that is there is driven out, as a
    partial for the level above.
    """

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
        cells = Cells(self.panes[slots], self.codes[slots], self.state.take_out(slots))
        self.layout.settle(cells.state)
        self.free[self.left : self.left + gone] = slots
        self.left += gone
        return cells

    def __len__(self) -> int:
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


class ClosingSlices(NamedTuple):
    """All windows that end at or below `bound` are over; `last_pane` is that of the last row known then."""

    bound: int
    last_pane: int


class Stripe:
    """A part of the high level: the windows of the groups with codes from `base` on, as many as a slice of work has.

    Cells in time may come before a closing that was asked for earlier is done: they are of later panes. Late cells
    wait for it, because they must not count in the windows that it closes.
    """

    def __init__(self, wid: PanedWid, base: int, size: int, done: int) -> None:
        self.wid = wid
        self.base = base
        self.size = size
        self.done = done
        """Closings so far."""
        self.letters: list[Cells] = []
        self.posted = 0
        self.late: list[tuple[int, Cells]] = []
        """Late cells with how many closings there were when they came."""

    def post(self, cells: Cells) -> None:
        """Cells in time, to be taken in by `read`."""
        self.letters.append(cells)
        self.posted += len(cells)

    def read(self) -> None:
        if self.letters:
            cells = Cells.joined(self.letters)
            self.wid.put(cells.recoded(cells.codes - np.int32(self.base)))
            self.letters, self.posted = [], 0

    def amend(self, cells: Cells, asked: int) -> None:
        """Late cells that count in some window left open by the closings asked for so far."""
        self.late.append((asked, cells))
        self._amend()

    def _amend(self) -> None:
        while self.late and self.late[0][0] <= self.done:
            _, cells = self.late.pop(0)
            self.wid.amend_cells(cells.recoded(cells.codes - np.int32(self.base)), self.size)

    def close(self, closings: list[ClosingSlices]) -> Iterator[Closed]:
        """The next closings; all cells of the panes that they close must have been posted."""
        self.read()
        for closing in closings:
            self.wid.last_pane = closing.last_pane
            for closed in self.wid.close(closing.bound, self.size):
                answers = closed.answers.recoded(closed.answers.codes + np.int32(self.base))
                yield replace(closed, answers=answers)
            self.done += 1
            self._amend()

    def waiting(self, pane: int) -> int:
        """How many cells below this pane wait to be closed."""
        posted = sum(int(np.count_nonzero(cells.places < pane)) for cells in self.letters)
        return posted + int(np.count_nonzero(self.wid.cells.content().places < pane))

    def content(self) -> tuple[Cells, Cells]:
        """Open cells, and those in closed panes that later windows need, under the codes of all groups."""
        self.read()
        held = self.wid.timeline.content(np.ones(self.size, np.bool_))
        both = self.wid.cells.content(), held
        opened, closed = (cells.recoded(cells.codes + np.int32(self.base)) for cells in both)
        return opened, closed

    def resume(self, held: Cells, next_window: int) -> None:
        """Begin where another stood that had these cells in closed panes, all windows before `next_window` reported."""
        if next_window == LEAST:
            return
        wid = self.wid
        if len(held):
            wid.put(held.recoded(held.codes - np.int32(self.base)))
            cells = wid.cells.take_below((next_window - 1) * wid.slide_panes)
            for _ in wid._answers(cells, next_window - 1, self.size):
                pass  # they were given
        if not wid.forever:
            wid.timeline.skip_to(next_window)

    def mark(self, used: npt.NDArray[np.bool_]) -> None:
        """Mark the groups that it knows, counted from its first one."""
        used[self.wid.cells.content().codes] = True
        used[self.wid.timeline.codes_in_use()] = True
        for cells in [*self.letters, *(cells for _, cells in self.late)]:
            used[cells.codes - self.base] = True

    def forget_reported(self, reported: Integers) -> None:
        self.read()
        own = reported[self.base : self.base + self.size]
        self.wid.forget_reported(np.concatenate([own, np.full(self.size - len(own), START)]))

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.wid.regrow(convert)
        self.letters = [replace(cells, state=convert(cells.state)) for cells in self.letters]
        self.late = [(asked, replace(cells, state=convert(cells.state))) for asked, cells in self.late]

    @property
    def nbytes(self) -> int:
        waiting = [*self.letters, *(cells for _, cells in self.late)]
        return self.wid.nbytes + sum(cells.nbytes for cells in waiting)
