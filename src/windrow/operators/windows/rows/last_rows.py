"""Windows of rows by panes: a pane is gcd(RANGE, SLIDE) rows of a partition, a window slides over each group's own.

Each row goes into one cell, of its group and of the pane its number in its partition falls into. With the last row
of a slide the window of that partition ends, and the groups that have cells in it answer. The cost of a row does not
depend on RANGE/SLIDE. Values of holistic aggregates are kept as rows; a window slides over those of each group. Where
each row is a cell, of a group that is a partition, cells are rows (`kept_rows`): their place in the ring is their pane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import gcd

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, numbers_of, tabled
from windrow.aggregates.kinds.base import Array, Custom, Integers, Numbers, Values
from windrow.operators.kernels.rows import last_rows as kernels
from windrow.operators.kernels.rows import row_values
from windrow.operators.kernels.searching import find_runs
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import Codes
from windrow.operators.state.kinds import ADDS
from windrow.operators.state.layout import Table
from windrow.operators.state.timeline import ANSWERS
from windrow.operators.store.row_block import RowBlock
from windrow.operators.windows.base import Closed, Plan, Windower
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.rows.kept_rows import KEPT, VALID, KeptArguments, ListedRows
from windrow.operators.windows.rows.rings import PLACE, Pool, Rings
from windrow.operators.windows.rows.sliding_runs import SlidingRuns, pieces
from windrow.semantics.windows import kinds as windows

KEY = "key"
"""The matrix of the keys of values."""
NO_COLUMNS: Integers = np.empty((0, 0), np.int64)


class RowWindows(Windower):
    """The last `range` rows, every `slide` rows, of each partition. Rows come in the order in which they count.

    Window k ends with the row that makes k * slide of them.
    """

    def __init__(self, window: windows.RowsWindow, plan: Plan, *, by_group: bool = False) -> None:
        """`by_group`: groups are partitions."""
        self.window = window
        self.plan = plan
        self.layout = plan.layout
        self.pane = gcd(window.range, window.slide)
        self.panes = window.range // self.pane, window.slide // self.pane
        """Panes of RANGE and of SLIDE."""
        self.known_partitions = 0
        self.progress: Integers = np.zeros((64, 6), np.int64)
        """What is known of each partition; the columns are named in `kernels.rows`."""
        follow = by_group and self.pane == 1 and window.slide <= window.range  # then every row of a group is a cell
        self.kept = KeptArguments(plan) if follow else None
        self.rings = Rings(self._blank if self.kept is None else self.kept.blank, sum(self.panes))
        self.running = self.layout.empty(64)
        """Of each group what its cells add up to, and the greatest of those that are not in front."""
        self.cells = 0
        self.values = {part: Rings(_values_only, 1 << 62) for part in plan.values if self.kept is None}
        self.customs = {part: CustomCells.nothing(part) for part in plan.custom}

    def _blank(self, cells: int) -> Pool:
        state = self.layout.empty(cells)
        return {PLACE: np.zeros((cells, 1), np.int64), **{k.name: matrix for k, matrix in state.matrices.items()}}

    def reserve(self, partitions: int, groups: int) -> None:
        if groups > len(self.running):
            self.running = self.layout.grown(self.running, max(groups, 2 * len(self.running)))
        for ring in (self.rings, *self.values.values()):
            ring.reserve_groups(groups)
        if partitions > len(self.progress):
            more = np.zeros((max(partitions, 2 * len(self.progress)) - len(self.progress), 6), np.int64)
            self.progress = np.concatenate([self.progress, more])
        fresh = self.progress[self.known_partitions : partitions]
        fresh[:, [kernels.PANE_LEFT, kernels.WINDOW_LEFT]] = self.pane, self.window.slide
        fresh[:, [kernels.NEXT_WINDOW, kernels.HEAD]] = 1, -1
        self.known_partitions = max(self.known_partitions, partitions)

    def count_rows(self, rows_in: GroupedRows) -> Iterator[Closed]:
        """Rows in the order in which they count; gives the windows they end."""
        slots, codes, panes, ends = self._number(rows_in)
        self.rings.reserve(codes[1:])
        if self.plan.keeps_values:
            self._keep_values(rows_in, slots, panes)
        rows, listed = self._kept_of(rows_in, codes, ends)
        for answers in self._slide(ends, codes, panes, self._fresh_state(rows_in, slots, len(codes)), rows):
            yield self._with_values(answers, listed)
        if self.plan.keeps_values:
            self._forget_values(codes[1:])

    def _fresh_state(self, rows_in: GroupedRows, slots: Codes, cells: int) -> Table:
        """The state of new cells; what adds up is left out where the columns of rows say it."""
        state = self.layout.empty(cells)
        self.layout.scatter_greatest(rows_in.lifted, slots, state)
        if self.kept is None or self.kept.adding is None:
            self.layout.scatter_adds(rows_in.lifted, slots, state.adds)
            self.layout.settle(state)
        return state

    def _kept_of(self, rows_in: GroupedRows, codes: Codes, ends: Integers) -> tuple[Pool, ListedRows | None]:
        """What is kept of rows that are cells, and the values of the groups whose windows end."""
        if self.kept is None:
            return {}, None
        self.kept.note_nulls(rows_in, self.rings)
        fresh = self.kept.of(rows_in)
        if not self.plan.values:
            return fresh, None
        ending = np.unique(ends[:, kernels.PARTITION]).astype(np.int32)
        panes = self.progress[: len(self.rings.groups), kernels.PANE]
        return fresh, ListedRows(self.kept, self.rings, ending, (codes[1:], fresh), panes)

    def _number(self, rows_in: GroupedRows) -> tuple[Codes, Codes, Integers, Integers]:
        """Each row's cell, each cell's group and pane, and which windows end after which cells."""
        size = len(rows_in)
        most = min(size, size // self.window.slide + self.known_partitions)
        slots, codes, panes = np.empty(size, np.int32), np.zeros(size + 1, np.int32), np.zeros(size + 1, np.int64)
        ends = np.empty((most, 3), np.int64)
        cells, ended = kernels.number_rows(
            rows_in.partitions, rows_in.codes, self.cells, self.pane, self.window.range, self.window.slide,
            self.progress, self.rings.groups, slots, codes, panes, ends,
        )  # fmt: skip
        self.cells += cells
        return slots, codes[:cells], panes[:cells], ends[:ended]

    def _slide(self, ends: Integers, codes: Codes, panes: Integers, state: Table, rows: Pool) -> Iterator[Cells]:
        """The answers of windows that end, as many at a time as fit; the cells after the last of them too."""
        done, pushed, places = 0, 1, np.empty(len(codes), np.int64)
        groups = len(self.rings.groups)
        visits = np.empty((min(max(self.layout.rows_in(ANSWERS), groups), len(ends) * groups), 8), np.int64)
        while True:
            before = pushed
            more, pushed, count, written = kernels.plan_visits(
                ends[done:], pushed, len(codes), codes, panes, *self.panes, self.progress,
                self.rings.groups, self.rings.panes, places, visits,
            )  # fmt: skip
            answers = Cells(np.empty(written, np.int64), np.empty(written, np.int32), self.layout.blank(written))
            kernels.name_answers(visits[:count], ends[done:], answers.places, answers.codes)
            self._run(visits[:count], (before, pushed, codes, places), state, rows, answers.state)
            done += more
            if written:
                yield answers
            if done == len(ends):
                return

    def _run(
        self, visits: Integers, cells: tuple[int, int, Codes, Integers], fresh: Table, rows: Pool, out: Table
    ) -> None:
        groups, pool, running = self.rings.groups, self.rings.pool, self.running
        for kind, states in fresh.matrices.items():
            if kind is not ADDS:
                held = pool[kind.name], running.matrices[kind]
                kernels.slide_row_greatest(visits, *cells, states, groups, *held, kind.together, out.matrices[kind])
            elif self.kept is None:
                kernels.slide_row_adds(visits, *cells, states, groups, pool[kind.name], running.adds, out.adds)
            elif (columns := self.kept.adding) is not None:
                fresh_rows, kept = rows.get(KEPT, NO_COLUMNS), pool.get(KEPT, NO_COLUMNS)
                kernels.slide_numbers(visits, *cells, fresh_rows, groups, kept, columns, running.adds, out.adds)
            else:
                leaving = self.kept.adds(*self._turn_over(visits, cells, rows))
                kernels.slide_adds(visits, *cells[:3], states, leaving, running.adds, out.adds)

    def _turn_over(self, visits: Integers, cells: tuple[int, int, Codes, Integers], rows: Pool) -> tuple[Pool, int]:
        """Put rows into the rings; what was kept of those that leave, in the order in which they do, and how many."""
        pushed, upto, _, places = cells
        count = int(visits[:, kernels.GONE].sum())
        left = {name: np.empty((count, fresh.shape[1]), fresh.dtype) for name, fresh in rows.items()}
        for name, fresh in rows.items():
            held = self.rings.pool[name]
            kernels.slide_rows(visits, pushed, upto, places, fresh, self.rings.groups, held, left[name])
        return left, count

    # Holistic aggregates

    def _keep_values(self, rows_in: GroupedRows, slots: Codes, panes: Integers) -> None:
        kept = rows_in if slots.all() else rows_in.take(np.flatnonzero(slots))
        places = panes[slots[slots > 0]]
        for part, ring in self.values.items():
            of_values, codes, keys = kept.values(part, places)
            kernels.count_fresh(codes, ring.groups)
            ring.reserve(codes)
            row_values.push_values(codes, of_values, keys, ring.groups, ring.panes, ring.pool[KEY])
        for custom, known in self.customs.items():
            self.customs[custom] = known.plus(kept.custom_cells(custom, places))

    def _with_values(self, answers: Cells, listed: ListedRows | None) -> Closed:
        if not self.plan.keeps_values:
            return Closed(answers)
        lowered = [self._lowered(answers.take(piece), listed) for piece in pieces(self.plan, answers)]
        return Closed(answers, {place: pa.concat_arrays([piece[place] for piece in lowered]) for place in lowered[0]})

    def _lowered(self, answers: Cells, listed: ListedRows | None) -> dict[int, Array]:
        values = partial(self._runs, answers, listed), partial(self._states, answers)
        return self.plan.lower_runs(np.arange(len(answers), dtype=np.int32), *values)

    def _runs(self, answers: Cells, listed: ListedRows | None, part: Values) -> SlidingRuns:
        """The values of each answer, among all that the rings of these groups hold."""
        if listed is not None:
            end = answers.places * self.panes[1]
            extents = listed.extents(answers.codes, end - self.panes[0], end, part)
            return SlidingRuns(self.plan.values[part], listed.values[part][0], *extents)
        ring, codes = self.values[part], np.unique(answers.codes)
        starts = np.zeros(len(codes) + 1, np.int64)
        np.cumsum(ring.groups[codes, kernels.SIZE], out=starts[1:])
        keys = np.empty(int(starts[-1]), np.int64)
        row_values.list_values(codes, starts, ring.groups, ring.pool[KEY], 0, keys)
        firsts, lasts = np.empty(len(answers), np.int64), np.empty(len(answers), np.int64)
        row_values.find_extents(answers.places, answers.codes, *self.panes, ring.groups, ring.panes, firsts, lasts)
        start = starts[np.searchsorted(codes, answers.codes)]
        return SlidingRuns(self.plan.values[part], keys, start + firsts, start + lasts)

    def _states(self, answers: Cells, part: Custom) -> tuple[Codes, CustomState]:
        """The state of each answer that has any, under its number."""
        cells = self.customs[part]
        order = np.lexsort((cells.places, cells.codes))
        high = answers.places * self.panes[1]
        firsts, lasts = np.empty(len(answers), np.int64), np.empty(len(answers), np.int64)
        sought = answers.codes, high - self.panes[0], high, firsts, lasts
        find_runs(cells.codes[order], cells.places[order], *sought)
        return cells.state.take(order).over(firsts, lasts)

    def _forget_values(self, codes: Codes) -> None:
        for ring in self.values.values():
            row_values.forget_values(codes, *self.panes, self.progress, self.rings.groups, ring.groups, ring.panes)
        for custom, cells in self.customs.items():
            owners = self.rings.groups[cells.codes, kernels.OWNER]
            first = self.progress[owners, kernels.NEXT_WINDOW] * self.panes[1] - self.panes[0]
            self.customs[custom] = cells.keep(cells.places >= first)

    def kept_values(self, part: Values) -> RingColumn:
        if self.kept is None:
            return RingColumn(self.values[part], KEY, 0)
        return RingColumn(self.rings, KEPT, self.kept.keys.get(part, 0))

    # State

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.running = convert(self.running)
        if self.kept is None:
            self.rings.pool |= {kind.name: matrix for kind, matrix in convert(self.rings.state).matrices.items()}

    def codes_in_use(self) -> Codes:
        """The groups that have cells: values of others are in no window to come."""
        return np.flatnonzero(self.rings.groups[:, kernels.SIZE]).astype(np.int32)

    def remap(self, mapping: Codes, groups: int) -> None:
        used = np.flatnonzero(mapping >= 0)
        new, old, self.running = mapping[used], self.running.take(used), self.layout.empty(max(64, groups))
        self.running.put(new, old)
        heads = self.progress[: self.known_partitions, kernels.HEAD]
        heads[heads >= 0] = mapping[heads[heads >= 0]]
        for ring in (self.rings, *self.values.values()):
            ring.remap(mapping, groups)
        for custom, cells in self.customs.items():
            self.customs[custom] = cells.keep(mapping[cells.codes] >= 0).remap(mapping)

    @property
    def counted(self) -> Integers:
        """How many rows of each partition there were."""
        known = self.progress[: self.known_partitions]
        counted: Integers = known[:, kernels.NEXT_WINDOW] * self.window.slide - known[:, kernels.WINDOW_LEFT]
        return counted

    @counted.setter
    def counted(self, counted: Integers) -> None:
        self.reserve(len(counted), 0)
        known = self.progress[: self.known_partitions]
        known[:, kernels.NEXT_WINDOW] = counted // self.window.slide + 1
        known[:, kernels.WINDOW_LEFT] = known[:, kernels.NEXT_WINDOW] * self.window.slide - counted
        known[:, kernels.PANE] = counted // self.pane
        known[:, kernels.PANE_LEFT] = (known[:, kernels.PANE] + 1) * self.pane - counted

    @property
    def counted_rows(self) -> int:
        return int(self.counted.sum())

    def state(self) -> dict[str, Saved]:
        """Cells with whether they are in front of their ring, the partition of each group, the rows of each partition.

        They are in order of groups, not of panes.
        """
        tables: dict[str, Saved] = {
            "rings": self.rings.content().table().append_column("front", arrow(self.rings.in_front())),
            "owners": tabled(partition=self.rings.groups[:, kernels.OWNER]),
            "partitions": tabled(rows=self.counted),
        }
        for i, ring in enumerate(self.values.values()):
            kept = ring.content()
            tables[f"values{i}"] = tabled(place=kept[PLACE], code=kept["code"], key=kept[KEY].reshape(-1))
        return tables | {f"custom{i}": cells.table() for i, cells in enumerate(self.customs.values())}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        """What the cells add up to, and the greatest of those not in front, is found anew."""
        cells = self._cells_of(tables["rings"])
        codes = cells["code"].astype(np.int32)
        owners, front = numbers_of(tables["owners"], "partition"), numbers_of(tables["rings"], "front")
        self.counted = numbers_of(tables["partitions"], "rows")
        self.reserve(0, len(owners))
        self.rings.fill(cells)
        groups, back = self.rings.groups, front == 0
        groups[: len(owners), kernels.OWNER] = owners
        np.add.at(groups[:, kernels.FRONT], codes, front)
        for kind in self.running.matrices:
            counted = slice(None) if kind is ADDS else back
            derived = kind is ADDS and self.kept is not None
            matrix = self._adds_of(cells) if derived else cells[kind.name]
            kind.combine(codes[counted], matrix[counted], self.running.matrices[kind])
        self._relink()
        for i, ring in enumerate(self.values.values()):
            ring.fill(RowBlock.of_table(tables[f"values{i}"]))
        self.customs = {part: CustomCells.of_table(tables[f"custom{i}"], part) for i, part in enumerate(self.customs)}

    def _cells_of(self, table: pa.Table) -> RowBlock:
        """The cells of a saved table; it says whether there was a NULL among rows."""
        if self.kept is not None and any(name.startswith(VALID) for name in table.column_names):
            self.kept.expect_nulls(self.rings)
        return self.rings.content().like(table)

    def _adds_of(self, cells: RowBlock) -> Numbers:
        """What cells that are rows add up to."""
        assert self.kept is not None
        return self.kept.adds({name: cells[name] for name in (KEPT, VALID) if name in cells}, len(cells))

    def _relink(self) -> None:
        """Chain the groups that have cells to their partitions."""
        groups = self.rings.groups
        listed = np.flatnonzero(groups[:, kernels.SIZE])
        listed = listed[np.argsort(groups[listed, kernels.OWNER], kind="stable")]
        owners = groups[listed, kernels.OWNER]
        first, last = np.ones(len(listed), np.bool_), np.ones(len(listed), np.bool_)
        first[1:] = last[:-1] = owners[1:] != owners[:-1]
        groups[listed, kernels.NEXT] = np.where(last, -1, np.roll(listed, -1))
        self.progress[owners[first], kernels.HEAD] = listed[first]
        np.add.at(self.progress[:, kernels.ACTIVE], owners, 1)

    @property
    def nbytes(self) -> int:
        kept = sum(ring.nbytes for ring in self.values.values())
        kept += sum(cells.state.nbytes for cells in self.customs.values())
        return self.rings.nbytes + self.running.nbytes + self.progress.nbytes + kept

    @property
    def open_windows(self) -> int:
        """Windows that hold a row and have not ended."""
        known = self.progress[: self.known_partitions]
        counted = self.counted
        last = (counted - 1 + self.window.range) // self.window.slide
        return int(np.maximum(last - known[:, kernels.NEXT_WINDOW] + 1, 0)[counted > 0].sum())


@dataclass(frozen=True)
class RingColumn:
    """The keys of one part in rings: what `KeptValues` wants."""

    rings: Rings
    name: str
    column: int

    def keys_in_use(self) -> Integers:
        return self.rings.column(self.name, self.column)

    def renumber(self, mapping: Integers) -> None:
        self.rings.renumber(self.name, self.column, mapping)


def _values_only(cells: int) -> Pool:
    return {PLACE: np.zeros((cells, 1), np.int64), KEY: np.zeros((cells, 1), np.int64)}
