"""Paned-WID: each row goes into one pane, windows are put together from panes (thesis section 6.2).

Pane = gcd(RANGE, SLIDE). A batch is first aggregated into a dense scratch table of its own (pane, group) cells
where that is small, then merged into the open cells; a sparse batch goes to the open cells directly. When a
punctuation passes, the open cells below it move to the timeline and slide through the windows. The cost of a row
does not depend on RANGE/SLIDE; that of a window is its new cells, its expired cells and its answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import scalars, scalars_of
from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.kernels.panes.assign import pane_slots
from windrow.operators.late.judging import below
from windrow.operators.state.cells import Cells, CellTable
from windrow.operators.state.changes import Saved, nested, under
from windrow.operators.state.customs import CustomState, PanedStates
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.timeline import Timeline
from windrow.operators.state.values.large_windows import LargeWindow
from windrow.operators.state.values.multisets import KeptValues, Multiset, ValueCodes
from windrow.operators.state.values.paned_values import PanedValues
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.extents import last_closed
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.numbered import NumberedWindows
from windrow.physical.pane_cells import pane_of
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.late.bounds import Bounds

DENSE_CELLS_PER_ROW = 2
SMALL = 1 << 12
SPAN = 1 << 51


class PanedWid(NumberedWindows):
    """Sliding, tumbling and landmark windows by panes."""

    def __init__(self, window: Sliding | Landmark, plan: Plan, *, threads: int = 1, keep: int = 0) -> None:
        super().__init__(window, plan)
        self.forever = isinstance(window, Landmark)
        length = window.slide if isinstance(window, Landmark) else window.range
        self.pane = pane_of(window)
        self.range_panes, self.slide_panes = length // self.pane, window.slide // self.pane
        self.is_tumbling = not self.forever and self.range_panes == self.slide_panes and not keep
        self.cells = CellTable(self.layout)
        self.timeline = Timeline(self.layout, self.range_panes, self.slide_panes, forever=self.forever)
        self.values = {p: self._values_of(p, codes) for p, codes in plan.values.items()}
        self.customs = {p: PanedStates(p, self.range_panes, forever=self.forever) for p in plan.custom}
        self.stores: list[PanedValues | PanedStates] = [*self.values.values(), *self.customs.values()]
        self.keep = keep
        """How far below the bound panes stay for revisions."""
        self.first_pane, self.last_pane = END, START
        self.threads = threads
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None

    def _values_of(self, part: Values, codes: ValueCodes) -> PanedValues:
        sealing = self.plan.sealing and self.plan.sealing.called({"key": str(part.argument)})
        return PanedValues(self.range_panes, forever=self.forever, sealing=sealing, nature=codes.nature)

    def panes_of(self, times: Integers) -> Integers:
        return (times - self.window.origin) // self.pane

    def starts_of(self, panes: Integers) -> Integers:
        """The least time in each pane."""
        return self.window.origin + panes * self.pane

    def put(self, cells: Cells) -> None:
        """Cells in time, made elsewhere from rows: does what `add` does with the rows."""
        self.timeline.tidy()
        self.first_pane = min(self.first_pane, int(cells.places.min()))
        self.cells.combine(cells.places, cells.codes, cells.state)

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self._add_cells(rows, groups)
        if self.plan.keeps_values:
            self._add_values(rows)
        return ()

    def _add_cells(self, rows: GroupedRows, groups: int, *, spare: bool = False) -> None:
        """Rows into open cells; with `spare`, those of the last group are none of ours."""
        self.timeline.tidy()
        first, last = ((t - self.window.origin) // self.pane for t in rows.span)
        self.first_pane = min(self.first_pane, first)
        cells = (last - first + 1) * groups
        if self.is_dense(rows, cells):
            self._add_dense(rows, groups, first, cells, spare)
        else:
            rows = rows.take(rows.codes < groups - 1) if spare else rows
            slots = self.cells.slots(self.panes_of(rows.times), rows.codes)
            self.layout.scatter(rows.lifted, slots, self.cells.state)

    def is_dense(self, rows: GroupedRows, cells: int) -> bool:
        """Whether rows that can fall into so many cells are aggregated in a table of all of these."""
        least, most = rows.span
        is_small = cells <= max(SMALL, DENSE_CELLS_PER_ROW * len(rows)) and self.layout.fits_scratch(cells, len(rows))
        return is_small and most - least < SPAN

    def _add_values(self, rows: GroupedRows, *, late: bool = False) -> None:
        """Values of rows into open panes, or of late ones into those that are closed."""
        panes = self.panes_of(rows.times)
        for part, store in self.values.items():
            put = store.amend if late else store.add
            put(*rows.values(part, panes))
        for custom, states in self.customs.items():
            put_cells = states.amend if late else states.add
            put_cells(rows.custom_cells(custom, panes))

    def _add_dense(self, rows: GroupedRows, groups: int, first: int, cells: int, spare: bool) -> None:
        if self._pool is not None and len(rows) >= 4 * cells and len(rows) > 1 << 14:
            step = -(-len(rows) // self.threads)
            slices = [rows.take(slice(i, i + step)) for i in range(0, len(rows), step)]
            tables = list(self._pool.map(lambda part: self._scratch(part, groups, first, cells), slices))
        else:
            tables = [self._scratch(rows, groups, first, cells)]
        for table in tables:
            if spare:
                table.adds[groups - 1 :: groups, 0] = 0
            used = np.flatnonzero(table.adds[:, 0])
            panes, codes = used // groups + first, (used % groups).astype(np.int32)
            self.cells.combine(panes, codes, table if len(used) == cells else table.take(used))

    def _scratch(self, rows: GroupedRows, groups: int, first: int, cells: int) -> Table:
        table = self.layout.empty(cells)
        slots = np.empty(len(rows), np.int32)
        base = self.window.origin + first * self.pane
        pane_slots(rows.times, rows.codes, base, self.pane, groups, slots)
        self.layout.scatter(rows.lifted, slots, table)
        return table

    def amend(self, rows: GroupedRows, groups: int) -> None:
        self._amend_rows(rows, groups)
        self._add_values(rows, late=True)

    def _amend_rows(self, rows: GroupedRows, groups: int) -> None:
        late = CellTable(self.layout)
        self.layout.scatter(rows.lifted, late.slots(self.panes_of(rows.times), rows.codes), late.state)
        self.layout.settle(late.state)
        self.amend_cells(late.content(), groups)

    def amend_cells(self, cells: Cells, groups: int) -> None:
        """Late cells, settled and each once, that still count in some open window."""
        self.timeline.amend(cells, groups)

    def take_late_cells(self, cells: Cells, met: Integers, bounds: Bounds, groups: int) -> Iterator[Closed]:
        """What `take_late` does with rows, for those behind late cells."""
        if self.forever:
            yield from self.close_waiting(cells.codes, bounds, groups)
            self.put(replace(cells, places=self.panes_of(met)))
            return
        passed = below(self.starts_of(cells.places), bounds.closed)
        if passed.any():
            self.amend_cells(cells.take(passed).each_once(self.layout), groups)
        if not passed.all():
            self.put(cells.take(~passed))

    def witness(self, latest: int) -> None:
        self.last_pane = max(self.last_pane, (latest - self.window.origin) // self.pane)

    def last_window(self, bound: int) -> int:
        if self.last_pane == START:
            return START
        last = self.last_pane // self.slide_panes + 1
        if not self.forever:
            last = (self.last_pane + self.range_panes) // self.slide_panes
        if bound == END:
            return last
        closed = last_closed(self.window, bound)
        return min(closed, last) if self.forever else closed

    def extract(self, chosen: npt.NDArray[np.bool_], *, kept: bool = False) -> PanedWid:
        """With `kept`, also what is there for corrections only."""
        part = PanedWid(self.window, self.plan, keep=self.keep if kept else 0)
        cells = self._chosen_cells(chosen, kept=kept)
        if len(cells):
            part.put(cells)
            part.last_pane = self.last_pane if self.forever else int(cells.places.max())
        part.values = {value: store.extract(chosen) for value, store in self.values.items()}
        part.customs = {custom: store.extract(chosen) for custom, store in self.customs.items()}
        part.stores = [*part.values.values(), *part.customs.values()]
        return part

    def _chosen_cells(self, chosen: npt.NDArray[np.bool_], *, kept: bool) -> Cells:
        open_cells = self.cells.content()
        return Cells.joined([self.timeline.content(chosen, kept=kept), open_cells.take(chosen[open_cells.codes])])

    def forget_reported(self, reported: Integers) -> None:
        if self.forever:
            return
        needed = (reported + 1) * self.slide_panes - self.range_panes - self.keep // self.pane
        first = np.where(reported == START, START, needed)
        self._forget_cells(first)
        for store in self.stores:
            store.forget_open(first)

    def _forget_cells(self, first: Integers) -> None:
        cells = self.cells.content()
        self.cells.keep(cells.places >= first[cells.codes])

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        last = self.last_window(bound)
        if self.keep and bound != END:
            closed = last_closed(self.window, bound)
            self.timeline.keep_from = closed * self.slide_panes - self.range_panes - self.keep // self.pane - 1
        if last == START:
            if bound != END and not self.forever:
                self.timeline.skip_to(last_closed(self.window, bound) + 1)
            return
        below = last * self.slide_panes
        taken = self.cells.take_below(below)
        self.layout.settle(taken.state)
        for store in self.stores:
            store.close(below)
        for answers in self._answers(taken, last, groups):
            yield self._with_values(answers)
        self._forget_values(last)

    def _answers(self, closed: Cells, last: int, groups: int) -> Iterator[Cells]:
        """The answers up to the last window with these cells, which are closed now."""
        if self.is_tumbling:  # a pane is a window: nothing of it is needed again
            self.timeline.skip_to(last + 1)
            if len(closed):
                yield replace(closed, places=closed.places + 1)
            return
        self.timeline.append(closed)
        yield from self.timeline.report(last, groups)

    def _multiset(self, window: int, part: Values) -> Multiset | LargeWindow:
        return self.values[part].slide_to(window * self.slide_panes)

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        states = self.customs[part].slide_to(window * self.slide_panes)
        return states.codes, states.state

    def _forget_values(self, last: int) -> None:
        below = last * self.slide_panes - self.range_panes
        if self.timeline.keep_from is not None:
            below = self.timeline.keep_from
        for store in self.stores:
            store.forget(below)

    def seal_rows(self) -> None:
        for store in self.values.values():
            store.seal()

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.cells.convert(convert)
        self.timeline.regrow(convert)

    def codes_in_use(self) -> Codes:
        used = [self.cells.content().codes, self.timeline.codes_in_use()]
        used += [s.codes_in_use() for s in self.stores]
        return np.unique(np.concatenate(used))

    def remap(self, mapping: Codes, groups: int) -> None:
        self._remap_cells(mapping, groups)
        for store in self.stores:
            store.remap(mapping)

    def _remap_cells(self, mapping: Codes, groups: int) -> None:
        self.cells.remap(mapping)
        self.timeline.remap(mapping, groups)

    def kept_values(self, part: Values) -> KeptValues:
        return self.values[part]

    def state(self) -> dict[str, Saved]:
        tables = {**self.cells.saved(), **self.timeline.saved()}
        tables["span"] = scalars(first=self.first_pane, last=self.last_pane)
        if self.timeline.keep_from is not None:
            tables["kept"] = scalars(first=self.timeline.keep_from)
        return tables | nested({prefix: store.saved() for prefix, store in self._named_stores()})

    def _named_stores(self) -> Iterator[tuple[str, PanedValues | PanedStates]]:
        """By the beginnings of the names of their tables."""
        yield from ((f"values{i}.", store) for i, store in enumerate(self.values.values()))
        yield from ((f"custom{i}.", store) for i, store in enumerate(self.customs.values()))

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.cells.restore(tables)
        self.timeline.restore(tables)
        self.first_pane, self.last_pane = scalars_of(tables["span"])
        if "kept" in tables:
            (self.timeline.keep_from,) = scalars_of(tables["kept"])
        for prefix, store in self._named_stores():
            store.restore(under(prefix, tables))

    @property
    def reported(self) -> int:
        return START if self.timeline.next_window == START else self.timeline.next_window - 1

    @property
    def first_window(self) -> int:
        return END if self.first_pane == END else self.first_pane // self.slide_panes

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes + self.timeline.nbytes + sum(store.nbytes for store in self.stores)

    @property
    def open_windows(self) -> int:
        if self.last_pane == START:
            return 0
        if self.forever:
            return 1
        first = self.timeline.next_window
        if first == START:
            first = self.first_pane // self.slide_panes + 1
        return max(0, (self.last_pane + self.range_panes) // self.slide_panes - first + 1)
