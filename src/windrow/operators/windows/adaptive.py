"""AdaptWID: each group keeps its rows or its partials, whichever is less (thesis section 6.3, with panes).

A group begins *lazy*: its rows are kept, packed. When the rows it has in open panes take more bytes than the cells
they would make, it becomes *eager*: those rows and all that follow go into cells. When the cells of a whole window
hold so few rows that rows would be well below them, several times in a row, it becomes lazy again. What it has
then stays as it is until its windows closed (a *transitional* group): an answer adds up cells and rows.

Only rows that have come are counted, so a source that lags behind another makes no difference to the rule: what the
thesis estimates from volumes and offsets (Eq. 6.7) is measured here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.base import Custom, Integers, Values
from windrow.operators.state.cells import Cells, CellTable, in_order
from windrow.operators.state.customs import CustomState, GroupStates
from windrow.operators.state.groups import Codes
from windrow.operators.state.multisets import Multiset, PanedValues
from windrow.operators.state.saving import load_kept, save_kept
from windrow.operators.state.timeline import Answers
from windrow.operators.windows.base import Closed, Plan, Rows
from windrow.operators.windows.keptrows import PANE, KeptRows, RowShape
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.standings import Standings
from windrow.semantics.windows import Sliding

BLOCK_ROWS = 1 << 20
"""Rows, each as often as it is in a window, that are answered from at once."""
BLOCK_WINDOWS = 1 << 12
REVIEW_ROWS = 1 << 10


@dataclass(frozen=True)
class Block:
    """Kept rows by window: for each window the rows, by their places among the closed ones."""

    windows: Integers
    places: Integers
    first: int
    last: int


@dataclass(frozen=True)
class BothValues:
    """The values of eager groups by pane, and those of kept rows."""

    store: PanedValues
    kept: KeptRows
    part: Values

    def keys_in_use(self) -> Integers:
        return np.concatenate([self.store.keys_in_use(), self.kept.column(self.part)])

    def renumber(self, mapping: Integers) -> None:
        self.store.renumber(mapping)
        self.kept.renumber(self.part, mapping)


class AdaptWid(PanedWid):
    """Sliding and tumbling windows. Cells and timeline know eager groups only, by codes of their own (`standings`)."""

    def __init__(self, window: Sliding, plan: Plan) -> None:
        super().__init__(window, plan)
        self.cells = CellTable(self.layout, growth=2)
        self.kept = KeptRows(RowShape(plan))
        self.standings = Standings(self.layout, self.kept, overlap=-(-self.range_panes // self.slide_panes))
        self.below: int | None = None
        """Panes below are closed."""
        self.closed_since = 0
        """Cells closed since eager groups were judged."""
        self.reviewed = 0
        """Rows of open panes that the last review left."""

    # Rows in

    def add(self, rows: Rows, groups: int) -> None:
        self.standings.reserve(groups)
        self.first_pane = min(self.first_pane, (rows.span[0] - self.window.origin) // self.pane)
        codes = rows.group_codes()
        eager = self.standings.is_eager(codes)
        if not eager.all():
            lazy = np.flatnonzero(~eager)
            panes = self.panes_of(rows.times[lazy])
            eager[lazy] = self.standings.promote(panes, codes[lazy])
        self._divide(rows, eager)
        if self.kept.open_count > max(REVIEW_ROWS, 2 * self.reviewed):
            self._review()

    def _divide(self, rows: Rows, eager: npt.NDArray[np.bool_]) -> None:
        """Rows of eager groups into cells, the others are kept."""
        if eager.all():
            self._to_cells(rows)
            return
        if eager.any():
            self._to_cells(rows.take(np.flatnonzero(eager)))
        few = rows.take(np.flatnonzero(~eager))
        self.kept.add(self.panes_of(few.times), few)

    def _to_cells(self, rows: Rows) -> None:
        inner = self.standings.inner(rows.group_codes())
        self._add_cells(replace(rows, codes=inner), self.standings.count)
        if self.plan.keeps_values:
            self._add_values(rows)

    def _review(self) -> None:
        """Kept rows of open panes that are worth a cell become one."""
        if self.kept.open:
            panes, codes = self.kept.open_cells()
            worth = self.standings.is_eager(codes) | self.standings.promote(panes, codes)
            if worth.any():
                chunk = self.kept.take_open(worth)
                self._to_cells(self.kept.shape.unpack(chunk, self.starts_of(panes[worth])))
        self.reviewed = self.kept.open_count

    def amend(self, rows: Rows, groups: int) -> None:
        self.standings.reserve(groups)
        eager = self.standings.is_eager(rows.group_codes())
        panes = self.panes_of(rows.times)
        if not eager.all():
            self.kept.amend(panes[~eager], rows.take(~eager))
        if eager.any():
            chosen = rows.take(eager)
            inner = replace(chosen, codes=self.standings.inner(chosen.group_codes()))
            self._amend_cells(panes[eager], inner, self.standings.count)
            self._amend_values(panes[eager], chosen)

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        self.standings.reserve(groups)
        self._review()
        yield from super().close(bound, groups)
        if self.below is not None:
            self.kept.forget(self.timeline.next_window * self.slide_panes - self.range_panes)
            self.standings.relieve()
        self._compact()

    def _answers(self, closed: Cells, last: int, groups: int) -> Iterator[Answers]:
        self.below = last * self.slide_panes
        self.kept.close(self.below)
        first = self.timeline.next_window
        cells = self._outer(super()._answers(closed, last, self.standings.count))
        yield from self._merged(first, last, cells)
        self._judge(closed)

    def _judge(self, closed: Cells) -> None:
        """Find the eager groups that rows would serve better; a pass over all cells is made up for by as many new ones.
        """
        self.closed_since += len(closed)
        if 2 * self.closed_since < self.timeline.count:
            return
        self.closed_since = 0
        if not self.is_tumbling:
            start = int(np.searchsorted(self.timeline.panes[: self.timeline.count], self.timeline.window_start))
            last = slice(start, self.timeline.count)
            closed = Cells(self.timeline.panes[last], self.timeline.codes[last], self.timeline.cells.take(last))
        _, codes, state = self.cells.content()
        self.standings.judge([(closed.codes, closed.state.adds[:, 0]), (codes, state.adds[:, 0])])

    def _outer(self, found: Iterator[Answers]) -> Iterator[Answers]:
        """Answers under the codes of all groups."""
        for answers in found:
            yield Answers(answers.windows, self.standings.outer[answers.codes], answers.state)

    def _merged(self, first: int, last: int, cells: Iterator[Answers]) -> Iterator[Answers]:
        """The answers from cells with those from rows among them, window by window."""
        waiting: Answers | None = next(cells, None)
        for block in self._blocks(first, last):
            found: list[Answers] = []
            while waiting is not None and waiting.windows[0] <= block.last:
                cut = int(np.searchsorted(waiting.windows, block.last, side="right"))
                found.append(waiting.take(slice(cut)))
                waiting = waiting.take(slice(cut, None)) if cut < len(waiting) else next(cells, None)
            yield self._joined(found, block)
        while waiting is not None:
            yield waiting
            waiting = next(cells, None)

    def _blocks(self, first: int, last: int) -> Iterator[Block]:
        """The windows that hold kept rows, as many at once as do not repeat too many rows."""
        panes = self.kept.closed[PANE].read()
        window = max(first, int(panes[0]) // self.slide_panes + 1) if len(panes) else first
        while len(panes):
            at = int(np.searchsorted(panes, window * self.slide_panes - self.range_panes))
            if at == len(panes):
                return
            window = max(window, int(panes[at]) // self.slide_panes + 1)
            if window > last:
                return
            ends = (window + np.arange(min(BLOCK_WINDOWS, last - window + 1))) * self.slide_panes
            low, high = np.searchsorted(panes, ends - self.range_panes), np.searchsorted(panes, ends)
            taken = max(1, int(np.searchsorted(np.cumsum(high - low), BLOCK_ROWS, side="right")))
            low, sizes = low[:taken], (high - low)[:taken]
            if sizes.any():
                starts = np.cumsum(sizes) - sizes
                places = np.arange(int(sizes.sum())) - np.repeat(starts - low, sizes)
                yield Block(np.repeat(window + np.arange(taken), sizes), places, window, window + taken - 1)
            window += taken

    def _joined(self, found: list[Answers], block: Block) -> Answers:
        """The answers of a block's windows, and any before it, from cells and from rows."""
        chunk = tuple(column.take(block.places) for column in self.kept.closed)
        rows = self.kept.shape.unpack(chunk, self.starts_of(chunk[PANE].read()))
        table = CellTable(self.layout)
        for answers in found:
            table.combine(answers.windows, answers.codes, answers.state)
        slots = table.slots(block.windows, rows.codes)
        self.layout.scatter(rows.lifted, slots, table.state)
        windows, codes, state = table.content()
        self.layout.settle(state)
        order = in_order(windows, codes)
        return Answers(windows[order], codes[order], state.take(order))

    def _multiset(self, window: int, part: Values) -> Multiset:
        rows, places = self._rows_of(window)
        return super()._multiset(window, part).plus(Multiset.of(*rows.values(part, places)[1:]))

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        codes, state = super()._states(window, part)
        rows, places = self._rows_of(window)
        if len(rows):
            lazy = rows.custom_cells(part, np.zeros(len(rows), np.int64))
            both = GroupStates(lazy.codes, lazy.state).plus(GroupStates(codes, state) if len(codes) else None)
            return both.codes, both.state
        return codes, state

    def _rows_of(self, window: int) -> tuple[Rows, Integers]:
        """The kept rows of a window, and their panes."""
        end = window * self.slide_panes
        low, high = np.searchsorted(self.kept.closed[PANE].read(), [end - self.range_panes, end])
        chunk = tuple(column.take(slice(int(low), int(high))) for column in self.kept.closed)
        panes = chunk[PANE].read()
        return self.kept.shape.unpack(chunk, self.starts_of(panes)), panes

    # Groups and state

    def _compact(self) -> None:
        """Forget the inner codes of groups without cells, once they are most of all."""
        used = np.unique(np.concatenate([self.cells.content()[1], self.timeline.codes_in_use()]))
        mapping = self.standings.compacted(used)
        if mapping is not None:
            self._remap_cells(mapping, self.standings.count)

    def codes_in_use(self) -> Codes:
        inner = np.concatenate([self.cells.content()[1], self.timeline.codes_in_use()])
        used = [self.standings.outer[np.unique(inner)], self.kept.column("code").astype(np.int32)]
        used += [s.codes_in_use() for s in self.stores]
        return np.unique(np.concatenate([*used, self.standings.eager()]))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.standings.remap(mapping, groups)
        self.kept.remap(mapping)
        for store in self.stores:
            store.remap(mapping)

    def kept_values(self, part: Values) -> BothValues:
        return BothValues(self.values[part], self.kept, part)

    def state(self) -> dict[str, pa.Table]:
        return {**super().state(), **save_kept(self)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        super().restore(tables)
        load_kept(self, tables)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.kept.nbytes + self.standings.nbytes
