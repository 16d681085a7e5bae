"""Two-level aggregation in process, whose windows close in slices (thesis section 8.3.3).

Low level: rows go into a table of fixed size; a cell that is driven out of it goes up as a partial. High level: groups
are divided by their codes into *stripes*, each with panes and windows of its own. So nothing is ever done to all groups
at once: to close windows, the low table is swept piece by piece, then the stripes close one after the other, and rows
can come in between. Which windows a row counts in does not depend on it: rows in time belong to later panes than those
that wait to be closed, and late rows wait behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, scalars, tabled
from windrow.aggregates.kinds.base import Integers
from windrow.errors import ConfigurationError
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved, lasting
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.kinds import LEAST
from windrow.operators.state.layout import Table
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.extents import last_closed
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.two_level.levels import ClosingSlices, LowTable, Stripe, pieces
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Landmark, Sliding

ALL_PANES = (1 << 63) - 1
TOGETHER = 1 << 14
"""Cells that go up to the stripes together: what is done once for each stripe is spread over them."""


class TwoLevel(PanedWid):
    """Sliding, tumbling and landmark windows of bounded aggregates. Of the timeline it inherits, only the place counts.

    `size` is the groups of a stripe; `places` those of the low table.
    """

    def __init__(self, window: Sliding | Landmark, plan: Plan, *, size: int, places: int) -> None:
        super().__init__(window, plan)
        self.size = size
        self.low = LowTable(self.layout, places)
        self.stripes: list[Stripe] = []
        self.log: list[Cells] = []
        """Cells driven out, on their way to their stripes."""
        self.logged = 0
        self.closings: list[ClosingSlices] = []
        """Those not done by all."""
        self.asked = 0
        """How many closings there were, ever."""
        self.swept = 0
        """For how many of them the low table holds no more cells."""
        self._sweep: tuple[int, int] | None = None
        """Of a sweep under way: for how many closings, and its next place."""

    # Cells in

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self._grow(groups)
        self.first_pane = min(self.first_pane, (rows.span[0] - self.window.origin) // self.pane)
        for piece in pieces(len(rows)):
            part = rows if len(rows) == piece.stop else rows.take(piece)
            self._up(self.low.admit(self.panes_of(part.times), part.codes, part.lifted))
        return ()

    def put(self, cells: Cells) -> None:
        self._grow(int(cells.codes.max()) + 1)
        self.first_pane = min(self.first_pane, int(cells.places.min()))
        self._up(cells)

    def amend_cells(self, cells: Cells, groups: int) -> None:
        self._grow(groups)
        for place, part in self.by_stripe(cells):
            self.stripes[place].amend(part, self.asked)

    def _grow(self, groups: int) -> None:
        """A stripe for every group. Groups that are new have nothing in the windows closed so far."""
        while len(self.stripes) * self.size < groups:
            wid = PanedWid(self.window, self.plan)
            if not self.forever and self.timeline.next_window != LEAST:
                wid.timeline.skip_to(self.timeline.next_window)
            self.stripes.append(Stripe(wid, len(self.stripes) * self.size, self.size, self.asked))

    def _up(self, cells: Cells) -> None:
        if len(cells):
            self.log.append(cells)
            self.logged += len(cells)
            if self.logged >= TOGETHER:
                self._deliver()

    def _deliver(self) -> None:
        """Cells that were handed up, to their stripes."""
        if self.log:
            for place, cells in self.by_stripe(Cells.joined(self.log)):
                self.stripes[place].post(cells)
            self._read(self.logged + self.size)
            self.log, self.logged = [], 0

    def _read(self, most: int) -> None:
        """Let the stripes with most posted cells take them in, about so many: all have many at about the same time."""
        for stripe in sorted(self.stripes, key=lambda one: -one.posted):
            if most <= 0 or stripe.posted < self.size // 2:
                break
            most -= stripe.posted
            stripe.read()

    def by_stripe(self, cells: Cells) -> Iterator[tuple[int, Cells]]:
        """The cells of each stripe that has any, in the order in which they are."""
        if len(self.stripes) == 1:
            yield 0, cells
            return
        owners = (cells.codes // self.size).astype(np.uint16 if len(self.stripes) < 1 << 16 else np.int32)
        cells = cells.take(np.argsort(owners, kind="stable"))
        ends = np.cumsum(np.bincount(owners, minlength=len(self.stripes))).tolist()
        for place, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
            if first < last:
                yield place, cells.take(slice(first, last))

    # Windows out

    def ask(self, bound: int) -> int:
        """From now on the windows that end at or below `bound` are over; `step` closes them. Returns its number."""
        last = self.last_window(bound)
        if last == START and bound != END and not self.forever:
            last = last_closed(self.window, bound)
        if last != START:
            self.timeline.skip_to(last + 1)
        self.closings.append(ClosingSlices(bound, self.last_pane))
        self.asked += 1
        return self.asked

    def step(self, number: int) -> Iterator[Closed]:
        """A slice of the work that closings up to this number need: some places of the low table, or a stripe."""
        if self.swept < number:
            self._sweep_on(self.size)
            return
        stripe = min(self.stripes, key=lambda one: one.done, default=None)
        if stripe is not None and stripe.done < number:
            first = self.asked - len(self.closings)
            yield from stripe.close(self.closings[stripe.done - first : number - first])
            self._forget_closings()

    def is_done(self, number: int) -> bool:
        return self.swept >= number and all(stripe.done >= number for stripe in self.stripes)

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        """All at once, with whatever waited."""
        self._grow(groups)
        number = self.ask(bound)
        while not self.is_done(number):
            yield from self.step(number)

    def _sweep_on(self, places: int) -> None:
        number, start = self._sweep or (self.asked, 0)
        end = min(start + places, len(self.low))
        self._up(self.low.sweep(start, end, self._below(number)))
        self._sweep = number, end
        if end == len(self.low):
            self.swept, self._sweep = number, None
            self._deliver()
            self._forget_closings()

    def _below(self, number: int) -> int:
        """The first pane that these closings leave open."""
        bound = self.closings[number - self.asked - 1].bound
        return ALL_PANES if bound == END else last_closed(self.window, bound) * self.slide_panes

    def _forget_closings(self) -> None:
        done = min([self.swept, *(stripe.done for stripe in self.stripes)])
        self.closings = self.closings[max(0, done - (self.asked - len(self.closings))) :]

    @property
    def waiting(self) -> int:
        """Cells of closed panes whose answers have not been given."""
        behind = [stripe for stripe in self.stripes if stripe.done < self.asked]
        if not behind:
            return 0
        pane = self._below(self.asked)
        on_the_way = sum(int(np.count_nonzero(cells.places < pane)) for cells in self.log)
        return self.low.below(pane) + on_the_way + sum(stripe.waiting(pane) for stripe in behind)

    # Groups

    def _settle(self) -> None:
        """Everything into the stripes."""
        self._up(self.low.sweep(0, len(self.low), ALL_PANES))
        self._deliver()
        self.swept, self._sweep = self.asked, None

    def content(self) -> tuple[Cells, Cells]:
        """Copies of open cells, and of those in closed panes that later windows need."""
        self._settle()
        both = zip(*((self._nothing(), self._nothing()), *(stripe.content() for stripe in self.stripes)), strict=True)
        opened, held = (Cells.joined(parts) for parts in both)
        return opened, held

    def _nothing(self) -> Cells:
        return Cells(np.empty(0, np.int64), NO_CODES, self.layout.empty(0))

    def fill(self, opened: Cells, held: Cells, done: Integers, next_windows: Integers) -> None:
        """Hold exactly these cells, in as many stripes as `done` and `next_windows` are long."""
        self.stripes = []
        self._grow(len(done) * self.size)
        closed = dict(self.by_stripe(held)) if len(held) else {}
        for place, stripe in enumerate(self.stripes):
            stripe.wid = PanedWid(self.window, self.plan)
            stripe.done = int(done[place])
            stripe.resume(closed.get(place, held.take(slice(0))), int(next_windows[place]))
        self._up(opened)
        self._deliver()

    def _chosen_cells(self, chosen: npt.NDArray[np.bool_], *, kept: bool) -> Cells:
        opened, held = self.content()
        return Cells.joined([held.take(chosen[held.codes]), opened.take(chosen[opened.codes])])

    def forget_reported(self, reported: Integers) -> None:
        self._settle()
        for stripe in self.stripes:
            stripe.forget_reported(reported)

    def codes_in_use(self) -> Codes:
        used = np.zeros(max(1, len(self.stripes)) * self.size, np.bool_)
        used[self.low.codes_in_use()] = True
        for cells in self.log:
            used[cells.codes] = True
        for stripe in self.stripes:
            stripe.mark(used[stripe.base : stripe.base + self.size])
        return np.flatnonzero(used).astype(np.int32)

    def remap(self, mapping: Codes, groups: int) -> None:
        """Only when nothing waits."""
        opened, held = self.content()
        opened, held = (cells.recoded(mapping[cells.codes]) for cells in (opened, held))
        stripes = -(-groups // self.size)
        last = max((stripe.wid.timeline.next_window for stripe in self.stripes), default=int(LEAST))
        self.fill(opened, held, np.full(stripes, self.asked), np.full(stripes, last))

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        super().regrow(convert)
        self.low.regrow(convert)
        self.log = [replace(cells, state=convert(cells.state)) for cells in self.log]
        for stripe in self.stripes:
            stripe.regrow(convert)

    # State

    def state(self) -> dict[str, Saved]:
        """Cells by group, wherever they are, and how far stripes are. All go up first, which changes no answer."""
        opened, held = self.content()
        closings = np.array(self.closings, np.int64).reshape(-1, 2)
        stripes = np.array(
            [(stripe.done, stripe.wid.timeline.next_window) for stripe in self.stripes], np.int64
        ).reshape(-1, 2)
        return {
            "cells": lasting(lambda: opened.ordered().table()),
            "held": lasting(lambda: held.ordered().table()),
            "late": self._late_table(),
            "stripes": tabled(done=stripes[:, 0].copy(), next=stripes[:, 1].copy()),
            "closings": tabled(bound=closings[:, 0].copy(), last=closings[:, 1].copy()),
            "facts": scalars(
                first=self.first_pane,
                last=self.last_pane,
                next=self.timeline.next_window,
                asked=self.asked,
                size=self.size,
                collisions=self.low.collisions,
            ),
        }

    def _late_table(self) -> pa.Table:
        """Late cells with how many closings they wait for, in the order in which they came to their stripe."""
        waiting = [(turn, cells) for stripe in self.stripes for turn, cells in stripe.late]
        cells = Cells.joined([self._nothing(), *(cells for _, cells in waiting)])
        turns = np.repeat(*np.array([(0, 0), *((turn, len(cells)) for turn, cells in waiting)], np.int64).T)
        return cells.table().append_column("turn", arrow(turns))

    def restore(self, tables: dict[str, pa.Table]) -> None:
        facts = tables["facts"].to_pylist()[0]
        if facts["size"] != self.size:
            raise ConfigurationError(
                "must be as large as in the run that wrote the checkpoint",
                parameter="flush_rows",
                value=self.size,
                allowed=(facts["size"],),
            )
        self.first_pane, self.last_pane, self.asked = facts["first"], facts["last"], facts["asked"]
        self.swept, self.low.collisions = self.asked, facts["collisions"]
        self.timeline.skip_to(facts["next"])
        self.closings = [ClosingSlices(row["bound"], row["last"]) for row in tables["closings"].to_pylist()]
        opened, held, late = (Cells.of_table(tables[name], self.layout) for name in ("cells", "held", "late"))
        self.fill(opened, held, *(tables["stripes"][name].to_numpy() for name in ("done", "next")))
        turns = tables["late"]["turn"].to_numpy()
        for turn in np.unique(turns).tolist():
            for place, cells in self.by_stripe(late.take(turns == turn)):
                self.stripes[place].late.append((turn, cells))

    @property
    def nbytes(self) -> int:
        return self.low.nbytes + sum(cells.nbytes for cells in self.log) + sum(stripe.nbytes for stripe in self.stripes)
