"""AdaptWID: each group keeps its rows or its partials, whichever is less (thesis section 6.3, with panes).

A group begins *lazy*: its rows are kept, packed. When its rows cost more than the cells they would make, it becomes
*eager*: those rows and all that follow go into cells. When the cells of a whole window hold so few rows that rows
would cost much less, several times in a row, it becomes lazy again. What it has then stays as it is until its windows
closed (a *transitional* group): an answer adds up cells and rows. Cost is bytes times time: see `plan.costs.Memory`.

Only rows that have come are counted, so a source that lags behind another makes no difference to the rule: what the
thesis estimates from volumes and offsets (Eq. 6.7) is measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import numbers_of, spread, tabled
from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.operators.kernels.panes.adaptive import number_answers
from windrow.operators.kernels.panes.assign import pane_slots
from windrow.operators.kernels.panes.sliding import ACTIVE, TAIL
from windrow.operators.state.cells import Cells, CellTable
from windrow.operators.state.changes import Saved
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.values.large_windows import LargeWindow
from windrow.operators.state.values.multisets import Multiset
from windrow.operators.state.values.paned_values import PanedValues
from windrow.operators.windows.adaptive.eager_groups import Division, Standings
from windrow.operators.windows.adaptive.kept_rows import KeptRows
from windrow.operators.windows.base import Closed, Plan
from windrow.operators.windows.grouped_rows import GroupedRows, Pending
from windrow.operators.windows.panes import SPAN, PanedWid
from windrow.operators.windows.row_shape import RowShape
from windrow.semantics.windows.kinds import Sliding

BLOCK_ROWS = 1 << 20
"""Rows, each as often as it is in a window, that are answered from at once."""
BLOCK_WINDOWS = 1 << 12
REVIEW_ROWS, REVIEW_GROWTH = 1 << 13, 4
"""Kept rows are looked at together when there are more than this, and so many times as many as last time."""
PENDING = 1 << 13
"""Rows that come in small batches are sorted out when there are so many, or when a window that holds one closes."""


@dataclass(frozen=True)
class KeptBlock:
    """Windows from `first` on, and the kept rows in each: lows[w]..highs[w] among the sorted ones."""

    first: int
    lows: Integers
    highs: Integers

    @property
    def last(self) -> int:
        return self.first + len(self.lows) - 1

    @property
    def rows(self) -> int:
        """How many rows there are, each as often as it is in a window."""
        return int((self.highs - self.lows).sum())

    @property
    def places(self) -> Integers | slice:
        """Where the rows are, window by window."""
        if len(self.lows) == 1:
            return slice(int(self.lows[0]), int(self.highs[0]))
        return spread(self.lows, self.highs - self.lows)


@dataclass(frozen=True)
class BothValues:
    """The values of eager groups by pane, and those of kept rows."""

    store: PanedValues
    kept: KeptRows
    part: Values

    def keys_in_use(self) -> Integers:
        return np.concatenate([self.store.keys_in_use(), self.kept.used(self.kept.shape.values[self.part])])

    def renumber(self, mapping: Integers) -> None:
        self.store.renumber(mapping)
        self.kept.remap(self.kept.shape.values[self.part], mapping)


class AdaptWid(PanedWid):
    """Sliding and tumbling windows. Cells and timeline know eager groups only, by codes of their own (`standings`)."""

    def __init__(self, window: Sliding, plan: Plan) -> None:
        super().__init__(window, plan)
        self.cells = CellTable(self.layout, growth=2)
        self.kept = KeptRows(RowShape(plan))
        self.standings = Standings(self.kept, window)
        self.pending = Pending()
        self.groups = 0
        """How many groups there are."""
        self.closed_since = 0
        """Cells closed since eager groups were judged."""
        self.reviewed = 0
        """New rows that the last review left."""

    # Rows in

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self.groups = groups
        self.timeline.tidy()
        self.first_pane = min(self.first_pane, (rows.span[0] - self.window.origin) // self.pane)
        self.pending.put(rows)
        if self.pending.count > PENDING:
            self._sort_out()
        return ()

    def _sort_out(self) -> None:
        """Pending rows into cells and kept rows."""
        if self.pending.count == 0:
            return
        rows, before = self.pending.take(), len(self.kept.new)
        panes = self._panes(rows)
        found = self.standings.divide(rows.group_codes(), self.groups, panes)
        lazy = found.lazy
        if len(lazy) < len(rows):
            self._to_cells(rows, found)
        if len(lazy):
            few = len(lazy) < len(rows)
            panes = panes[lazy] if few and len(panes) > 1 else panes
            self.kept.new.append(self.kept.shape.pack(panes, rows.take(lazy) if few else rows))
        if before == 0:
            self.reviewed = len(self.kept.new)
        elif len(self.kept.new) > max(REVIEW_ROWS, REVIEW_GROWTH * self.reviewed):
            self._review()

    def _panes(self, rows: GroupedRows) -> Integers:
        """The pane of each row, or the one of all."""
        least, most = rows.span
        if most - least >= SPAN:
            return self.panes_of(rows.times)
        first = (least - self.window.origin) // self.pane
        if first == (most - self.window.origin) // self.pane:
            return np.array([first])
        panes = np.empty(len(rows), np.int64)
        pane_slots(rows.times, NO_CODES, self.window.origin + first * self.pane, self.pane, 1, panes)
        panes += first
        return panes

    def _to_cells(self, rows: GroupedRows, found: Division) -> None:
        """Rows of eager groups into cells; rows of others, where few, go along into a group that is dropped."""
        if 0 < len(found.lazy) < len(rows) // 2 and not self.plan.keeps_values:
            self._add_cells(rows.recoded(found.inner), found.spare + 1, spare=True)
            return
        inner = found.inner
        if len(found.lazy):
            rows, inner = rows.take(found.eager), inner[found.eager]
        self._add_cells(rows.recoded(inner), found.spare)
        if self.plan.keeps_values:
            self._add_values(rows)

    def _review(self) -> None:
        """New rows that are worth a cell become one."""
        rows = self.kept.new.content()
        panes, codes = rows["place"], rows["code"].astype(np.int32)
        found = self.standings.divide(codes, self.groups, panes)
        if len(found.lazy) < len(codes):
            eager = np.flatnonzero(found.eager)
            chosen = self.kept.shape.unpack(self.kept.take_new(eager, found.lazy), self.starts_of(panes[eager]))
            self._to_cells(chosen, Division(found.inner[eager], found.lazy[:0], found.spare))
        self.reviewed = len(self.kept.new)

    def amend(self, rows: GroupedRows, groups: int) -> None:
        found = self.standings.divide(rows.group_codes(), groups)
        eager = found.eager
        if not eager.all():
            lazy = rows.take(~eager)
            self.kept.insert(self.kept.shape.pack(self.panes_of(lazy.times), lazy))
        if eager.any():
            chosen = rows.take(eager)
            self._amend_rows(chosen.recoded(found.inner[eager]), found.spare)
            self._add_values(chosen, late=True)

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        self.groups = groups
        if bound > self.pending.least or self.plan.keeps_values:
            self._sort_out()
        yield from super().close(bound, groups)
        if self.kept.sorted_since > len(self.kept.sorted) // 2:
            self.standings.relieve(groups)
        self._compact()

    def _answers(self, closed: Cells, last: int, groups: int) -> Iterator[Cells]:
        self.kept.sort()
        self.reviewed = 0
        first = self.timeline.next_window
        cells = self._outer(super()._answers(closed, last, self.standings.count))
        yield from self._merged(first, last, cells, groups)
        self.kept.sorted.forget_below((self.reported + 1) * self.slide_panes - self.range_panes)
        self._judge(closed)

    def _judge(self, closed: Cells) -> None:
        """Find the eager groups that rows would serve better: a pass over all cells, made once most of them are new."""
        self.closed_since += len(closed)
        live = slice(int(self.timeline.position[TAIL]), self.timeline.count)
        if 4 * self.closed_since < 3 * (live.stop - live.start):
            return
        self.closed_since = 0
        if not self.is_tumbling:
            closed = self.timeline.in_panes(live.start)
        self.standings.judge([(cells.codes, cells.state.adds[:, 0]) for cells in (closed, self.cells.content())])

    def _outer(self, found: Iterator[Cells]) -> Iterator[Cells]:
        for answers in found:
            yield answers.recoded(self.standings.outer[answers.codes])

    def _merged(self, first: int, last: int, cells: Iterator[Cells], groups: int) -> Iterator[Cells]:
        """The answers from cells with those from rows among them, window by window."""
        waiting = next(cells, None)
        for block in self._blocks(first, last):
            found: list[Cells] = []
            while waiting is not None and waiting.places[0] <= block.last:
                before, cut = np.searchsorted(waiting.places, [block.first, block.last + 1]).tolist()
                if before:
                    yield waiting.take(slice(before))
                found.append(waiting.take(slice(before, cut)))
                waiting = waiting.take(slice(cut, None)) if cut < len(waiting) else next(cells, None)
            yield self._joined(found, block, groups)
        while waiting is not None:
            yield waiting
            waiting = next(cells, None)

    def _blocks(self, first: int, last: int) -> Iterator[KeptBlock]:
        """The windows that hold kept rows, as many at once as do not repeat too many rows."""
        rows, size = self.kept.sorted, len(self.kept.sorted)
        window = max(first, rows.at(0) // self.slide_panes + 1) if size else first
        while size:
            at = rows.search(window * self.slide_panes - self.range_panes)
            if at == size:
                return
            window = max(window, rows.at(at) // self.slide_panes + 1)
            if window > last:
                return
            ends = [(window + i) * self.slide_panes for i in range(min(BLOCK_WINDOWS, last - window + 1))]
            lows = np.array([rows.search(end - self.range_panes) for end in ends], np.int64)
            highs = np.array([rows.search(end) for end in ends], np.int64)
            taken = max(1, int(np.searchsorted(np.cumsum(highs - lows), BLOCK_ROWS, side="right")))
            if (highs[:taken] > lows[:taken]).any():  # not if all rows are between windows
                yield KeptBlock(window, lows[:taken], highs[:taken])
            window += taken

    def _joined(self, found: list[Cells], block: KeptBlock, groups: int) -> Cells:
        """The answers of a block's windows, from cells and from rows."""
        kept = self.kept.sorted.content()
        windows = np.concatenate([np.empty(0, np.int64), *(answers.places for answers in found)])
        cells = np.concatenate([np.empty(0, np.int32), *(answers.codes for answers in found)])
        offsets = np.searchsorted(windows, block.first + np.arange(len(block.lows) + 1))
        known, slots = np.full(groups, -1, np.int32), np.empty(block.rows, np.int32)
        room = len(cells) + block.rows
        places, out, taken = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(len(cells), np.int64)
        size = number_answers(block.lows, block.highs, kept["code"], offsets, cells, known, slots, taken, places, out)
        state = self.layout.empty(size)
        at = 0
        for answers in found:
            state.put(taken[at : at + len(answers)], answers.state)
            at += len(answers)
        self.layout.scatter(self.kept.shape.lift(kept, block.places), slots, state)
        self.layout.settle(state)
        return Cells(block.first + places[:size].astype(np.int64), out[:size], state)

    def _rows(self, window: int) -> GroupedRows:
        end = window * self.slide_panes
        kept = self.kept.sorted
        rows = kept.read(kept.search(end - self.range_panes), kept.search(end))
        return self.kept.shape.unpack(rows, self.starts_of(rows["place"]))

    def _multiset(self, window: int, part: Values) -> Multiset | LargeWindow:
        rows = self._rows(window)
        return super()._multiset(window, part).plus(Multiset.of(*rows.values(part, rows.times)[1:]))

    def _states(self, window: int, part: Custom) -> tuple[Codes, CustomState]:
        codes, state = super()._states(window, part)
        rows = self._rows(window)
        if len(rows) == 0:
            return codes, state
        lazy = rows.custom_cells(part, np.zeros(len(rows), np.int64))
        both = lazy.plus(CustomCells(np.zeros(len(codes), np.int64), codes, state))
        return both.codes, both.state

    # Single groups

    def extract(self, chosen: npt.NDArray[np.bool_], *, kept: bool = False) -> PanedWid:
        self._sort_out()
        part = super().extract(chosen, kept=kept)
        rows = self.kept.where(lambda rows: chosen[rows["code"]])
        if len(rows):
            part.add(self.kept.shape.unpack(rows, self.starts_of(rows["place"])), len(chosen))
            part.last_pane = max(part.last_pane, rows.span("place")[1])
        return part

    def _chosen_cells(self, chosen: npt.NDArray[np.bool_], *, kept: bool) -> Cells:
        outer = self.standings.outer
        found = super()._chosen_cells(chosen[outer], kept=kept)
        return found.recoded(outer[found.codes])

    def _forget_cells(self, first: Integers) -> None:
        self._sort_out()
        super()._forget_cells(first[self.standings.outer])
        self.kept.forget_groups(first)

    # Groups and state

    def _compact(self) -> None:
        """Forget the codes of groups without cells, once they may be most of all."""
        if self.standings.is_to_compact:
            timeline = self.timeline
            listed = timeline.active[: int(timeline.position[ACTIVE])]
            mapping = self.standings.compacted([self.cells.content().codes, timeline.codes[: timeline.count], listed])
            self._remap_cells(mapping, self.standings.count)

    def codes_in_use(self) -> Codes:
        used: list[npt.NDArray[Any]] = [self.standings.outer, self.kept.used("code"), *self.pending.codes_in_use()]
        used += [store.codes_in_use() for store in self.stores]
        return np.flatnonzero(np.bincount(np.concatenate(used))).astype(np.int32)

    def remap(self, mapping: Codes, groups: int) -> None:
        self.standings.remap(mapping)
        self.kept.remap("code", mapping)
        self.pending.remap(mapping)
        self.groups = groups
        for store in self.stores:
            store.remap(mapping)

    def kept_values(self, part: Values) -> BothValues:
        return BothValues(self.values[part], self.kept, part)

    def state(self) -> dict[str, Saved]:
        self._sort_out()
        standings = tabled(code=self.standings.outer, level=self.standings.levels)
        return {**super().state(), "rows": self.kept.saved(), "standings": standings}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        super().restore(tables)
        self.kept.fill(tables["rows"])
        self.standings.outer, self.standings.levels = (numbers_of(tables["standings"], n) for n in ("code", "level"))

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.kept.nbytes + self.standings.nbytes + self.pending.nbytes
