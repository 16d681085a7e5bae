"""Closed panes on their way through the windows: cells sorted by (pane, code) and the window that slides over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import ref

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import numbers_of, scalars, scalars_of, tabled
from windrow.aggregates.kinds.base import Integers, Numbers
from windrow.operators.kernels.panes import sliding
from windrow.operators.kernels.panes.sliding import ACTIVE, HEAD, NEXT, TAIL
from windrow.operators.kernels.searching import find_cells
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import HeldCells, Marks, Saved, Stamped, Tracked
from windrow.operators.state.groups import Codes, codes_of
from windrow.operators.state.kinds import ADDS, LEAST, StateKind
from windrow.operators.state.layout import Layout, Table

ANSWERS = 1 << 18
"""Answers written by one kernel call, at least one window of all groups."""


class Stacks:
    """Two stacks over the cells of a timeline for state that keeps the greatest; see `kernels.panes.sliding`."""

    def __init__(self, kind: StateKind) -> None:
        self._together = kind.together
        self.front = 0
        self.suffix: Numbers = np.empty((0, 0), kind.dtype)
        self.following: Integers = np.empty(0, np.int64)
        self.heads: Integers = np.empty(0, np.int64)

    def reserve_cells(self, capacity: int, width: int, kept: int = 0) -> None:
        suffix, following = self.suffix[:kept], self.following[:kept]
        self.suffix, self.following = np.zeros((capacity, width), suffix.dtype), np.zeros(capacity, np.int64)
        if kept:
            self.suffix[:kept], self.following[:kept] = suffix, following

    def reserve_groups(self, capacity: int) -> None:
        self.heads = np.concatenate([self.heads, np.full(capacity - len(self.heads), -1, np.int64)])

    def rebuild(self, tail: int, head: int, codes: Codes, state: Numbers, back: Numbers) -> None:
        """Make the whole window the front."""
        sliding.flip(tail, head, codes, state, self.suffix, self.following, back, self.heads, self._together)
        self.front = head

    def slide(
        self, steps: Integers, codes: Codes, state: Numbers, back: Numbers, head: int, out_codes: Codes, out: Numbers
    ) -> None:
        arrays = state, self.suffix, self.following, back, self.heads, self._together
        self.front = int(sliding.slide_greatest(steps, codes, *arrays, head, self.front, out_codes, out))

    def shift(self, gone: int, count: int) -> None:
        """The first `gone` of `count` cells were dropped."""
        self.suffix[: count - gone] = self.suffix[gone:count].copy()
        self.following[: count - gone] = np.maximum(self.following[gone:count] - gone, -1)
        self.heads[self.heads >= 0] -= gone
        self.front = max(0, self.front - gone)

    def remap(self, used: npt.NDArray[np.int64], new: Codes, capacity: int) -> None:
        heads = self.heads[used]
        self.heads = np.full(capacity, -1, np.int64)
        self.heads[new] = heads

    @property
    def nbytes(self) -> int:
        return self.suffix.nbytes + self.following.nbytes + self.heads.nbytes


class Timeline:
    """The window-level query over panes."""

    def __init__(self, layout: Layout, range_panes: int, slide_panes: int, *, forever: bool = False) -> None:
        self.layout = layout
        self.range_panes = range_panes
        self.slide_panes = slide_panes
        self.forever = forever
        self.position = np.zeros(4, np.int64)
        self.position[NEXT] = LEAST
        self.keep_from: int | None = None
        """Panes from here on are kept after they left the window, for revisions."""
        self.stale = False
        self.count = 0
        self.marks, self.group_marks = Marks(), Marks()
        """What changed of the cells, and of what the window holds of each group."""
        self.listing = object()
        """Another one whenever other groups are active."""
        self.stacks = {kind: Stacks(kind) for kind in layout.kinds if kind is not ADDS}
        self._lent: ref[HeldCells] | None = None
        """Cells in these arrays that another thread is writing, as long as it does."""
        self._reserve_cells(64)
        self.running = layout.empty(0)
        self.active: Codes = np.empty(0, np.int32)
        self.listed: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self.reserve_groups(64)

    def _reserve_cells(self, capacity: int, kept: int = 0) -> None:
        self.panes = np.zeros(capacity, np.int64)
        self.codes = np.zeros(capacity, np.int32)
        self.cells = self.layout.empty(capacity)
        for kind, stacks in self.stacks.items():
            stacks.reserve_cells(capacity, self.layout.widths[kind], kept)

    def reserve_groups(self, groups: int) -> None:
        if groups <= len(self.running):
            return
        capacity = max(groups, 2 * len(self.running))
        more = capacity - len(self.running)
        self.group_marks.add(len(self.running), capacity)
        self.running = self.layout.grown(self.running, capacity)
        self.active = np.concatenate([self.active, np.zeros(more, np.int32)])
        self.listed = np.concatenate([self.listed, np.zeros(more, np.uint8)])
        for stacks in self.stacks.values():
            stacks.reserve_groups(capacity)

    @property
    def next_window(self) -> int:
        return int(self.position[NEXT])

    def skip_to(self, window: int) -> None:
        """Windows before this one are over, whatever comes."""
        self.position[NEXT] = max(self.next_window, window)

    @property
    def window_start(self) -> int:
        """First pane of the window last reported; cells from here on are in the running state."""
        if self.forever or self.next_window == LEAST:
            return int(LEAST)
        return (self.next_window - 1) * self.slide_panes - self.range_panes

    def content(self, chosen: npt.NDArray[np.bool_], *, kept: bool = False) -> Cells:
        """The cells of chosen groups that a later window needs; what a landmark window holds is one cell.

        With `kept`, those too that stay for corrections.
        """
        first = 0 if kept else int(self.position[HEAD if self.forever else TAIL])
        rows = first + np.flatnonzero(chosen[self.codes[first : self.count]])
        cells = Cells(self.panes[rows], self.codes[rows], self.cells.take(rows))
        if not self.forever or self.next_window == LEAST:
            return cells
        active = self.active[: int(self.position[ACTIVE])]
        held = np.sort(active[chosen[active]])
        last = np.full(len(held), (self.next_window - 1) * self.slide_panes - 1)
        return Cells.joined([Cells(last, held, self.running.take(held)), cells])

    def append(self, cells: Cells) -> None:
        """Closed cells, sorted, all of panes not closed before."""
        if self.count + len(cells) > len(self.panes):
            self._make_room(self.count + len(cells))
        self._put(cells)
        self.marks.add(self.count - len(cells), self.count)

    def _put(self, cells: Cells) -> None:
        end = self.count + len(cells)
        self.panes[self.count : end], self.codes[self.count : end] = cells.places, cells.codes
        self.cells.put(slice(self.count, end), cells.state)
        self.count = end

    def in_panes(self, first: int = 0) -> Cells:
        """The cells of closed panes that are still here, or those from a place on."""
        rows = slice(first, self.count)
        return Cells(self.panes[rows], self.codes[rows], self.cells.take(rows))

    def _make_room(self, cells: int) -> None:
        old = self.in_panes()
        self._reserve_cells(2 * cells, self.count)
        self.count = 0
        self._put(old)

    def report(self, last_window: int, groups: int) -> Iterator[Cells]:
        """The answers of all windows up to `last_window` that hold rows, in order."""
        self.reserve_groups(groups)
        if self.next_window == LEAST:
            if self.count == 0:
                if not self.forever:
                    self.skip_to(last_window + 1)
                return
            self.position[NEXT] = int(self.panes[0]) // self.slide_panes + 1
        self._refresh()
        done = False
        while not done:
            answers, done = self._report(last_window, groups)
            if len(answers):
                yield answers

    def tidy(self) -> None:
        """Work that can wait until rows come, so that no result waits for it: forget, and flip what is due."""
        self.forget()
        tail, head = int(self.position[TAIL]), int(self.position[HEAD])
        if tail < head and not self.forever:
            for kind, stacks in self.stacks.items():
                if stacks.front <= tail:
                    stacks.rebuild(tail, head, self.codes, self.cells.matrices[kind], self.running.matrices[kind])

    def _report(self, last_window: int, groups: int) -> tuple[Cells, bool]:
        """As many windows as fit into one output."""
        windows = max(1, last_window - self.next_window + 1)
        room = len(self.active) + min(self.layout.rows_in(ANSWERS), groups * windows)
        steps = np.empty((min(windows, ANSWERS), 8), np.int64)
        out_windows, out_codes = np.empty(room, np.int64), np.empty(room, np.int32)
        head, held = int(self.position[HEAD]), bool(self.forever and self.position[ACTIVE])
        planned = sliding.plan_steps(
            self.panes, self.count, self.position, held,
            self.range_panes, self.slide_panes, last_window, self.forever, steps,
        )  # fmt: skip
        taken, written = sliding.plan_answers(
            steps[:planned], self.codes, self.cells.adds[:, 0], self.running.adds[:, 0].copy(),
            self.active, self.listed, self.position, out_windows, out_codes,
        )  # fmt: skip
        self.listing = object()
        self.group_marks.touch(self.codes[head : int(self.position[HEAD])])
        steps, codes, out = steps[:taken], out_codes[:written], self.layout.blank(written)
        self._slide(steps, head, codes, out)
        return Cells(out_windows[:written], codes, out), self.next_window > last_window

    def _slide(self, steps: Integers, head: int, codes: Codes, out: Table) -> None:
        """All kinds of state along a schedule."""
        cells, running = self.cells.matrices, self.running.matrices
        sliding.slide_adds(steps, self.codes, self.cells.adds, self.running.adds, codes, out.adds)
        for kind, stacks in self.stacks.items():
            stacks.slide(steps, self.codes, cells[kind], running[kind], head, codes, out.matrices[kind])

    def _refresh(self) -> None:
        """After late cells the stacks are built anew."""
        if self.stale and not self.forever:
            window = int(self.position[TAIL]), int(self.position[HEAD]), self.codes
            for kind, stacks in self.stacks.items():
                stacks.rebuild(*window, self.cells.matrices[kind], self.running.matrices[kind])
        self.stale = False

    def forget(self, *, at_once: bool = False) -> None:
        """Let go of cells that no window needs, when they are many or `at_once`."""
        gone = int(self.position[HEAD] if self.forever else self.position[TAIL])
        if self.keep_from is not None:
            gone = min(gone, int(np.searchsorted(self.panes[: self.count], self.keep_from)))
        if gone == 0 or (not at_once and gone < self.count and gone < max(1024, self.count // 2)):
            return
        if self._is_lent:
            self._own(gone)
        else:
            arrays: list[Numbers] = [self.panes, self.codes, *self.cells.matrices.values()]
            for array in arrays:
                array[: self.count - gone] = array[gone : self.count].copy()
        self.marks.keep(slice(gone, self.count))
        for stacks in self.stacks.values():
            stacks.shift(gone, self.count)
        self.count -= gone
        self.position[[TAIL, HEAD]] = np.maximum(self.position[[TAIL, HEAD]] - gone, 0)

    # Cells that are being saved

    def _lend(self, rows: npt.NDArray[Any] | slice) -> HeldCells:
        """Cells to be written by another thread: a stretch of them without copying, until they change."""
        held = self.in_panes().take(rows).held()
        if isinstance(rows, slice):
            self._lent = ref(held)
        return held

    @property
    def _is_lent(self) -> bool:
        """Whether somebody reads these very arrays: then cells are added behind the others, and none is changed."""
        return self._lent is not None and self._lent() is not None

    def _own(self, first: int = 0) -> None:
        """Hold the cells from a place on in other arrays."""
        panes, codes, cells = self.panes, self.codes, self.cells
        self.panes, self.codes, self.cells = np.zeros_like(panes), np.zeros_like(codes), self.layout.empty(len(panes))
        rows, kept = slice(first, self.count), slice(self.count - first)
        self.panes[kept], self.codes[kept] = panes[rows], codes[rows]
        self.cells.put(kept, cells.take(rows))
        self._lent = None

    def amend(self, late: Cells, groups: int) -> None:
        """Late cells of closed panes: into the window if they are in it, and into their place for later."""
        if self._is_lent:
            self._own()
        self.reserve_groups(groups)
        start, panes, codes, state = self.window_start, late.places, late.codes, late.state
        places = np.empty(len(panes), np.int64)
        find_cells(panes, codes, self.panes, self.codes, self.count, places)
        missing, inside = places < 0, panes >= start
        self.marks.touch(places[~missing])
        self.group_marks.touch(codes)
        self.cells.combine(places[~missing], state.take(~missing))
        ADDS.combine(codes[inside], state.adds[inside], self.running.adds)
        if self.forever:
            for kind in self.stacks:
                kind.combine(codes, state.matrices[kind], self.running.matrices[kind])
        else:
            self._insert(late.take(missing), inside[missing])
        self._list(codes[inside])
        self.stale = True

    def _insert(self, late: Cells, inside: npt.NDArray[np.bool_]) -> None:
        if len(late) == 0:
            return
        count, both = self.count, Cells.joined([self.in_panes(), late])
        order = np.lexsort((both.codes, both.places))
        self._reserve_cells(max(64, 2 * len(both)))
        self.count = 0
        self._put(both.take(order))
        self.marks.add(count, self.count)
        self.marks.keep(order)
        self.position[TAIL] += np.count_nonzero(~inside)
        self.position[HEAD] += len(late)

    def _list(self, codes: Codes) -> None:
        fresh = np.unique(codes[(self.listed[codes] == 0)])
        size = int(self.position[ACTIVE])
        self.active[size : size + len(fresh)] = fresh
        self.listed[fresh] = 1
        self.listing = object()
        self.position[ACTIVE] += len(fresh)

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.cells, self.running = convert(self.cells), convert(self.running)
        self.marks.renew()
        self.group_marks.renew()

    def codes_in_use(self) -> Codes:
        return np.unique(np.concatenate([self.codes[: self.count], self.active[: int(self.position[ACTIVE])]]))

    def remap(self, mapping: Codes, groups: int) -> None:
        """Group codes have changed: `mapping[old] = new`, -1 for groups no longer in use."""
        used = np.flatnonzero(mapping[: len(self.running)] >= 0)
        new, capacity = mapping[used], max(64, min(groups, len(self.running)))  # new codes are not above old ones
        active = mapping[self.active[: int(self.position[ACTIVE])]]
        if self._is_lent:
            self._own()
        self.codes[: self.count] = mapping[self.codes[: self.count]]
        old = self.running.take(used)
        self.running = self.layout.empty(capacity)
        self.running.put(new, old)
        self.active, self.listed = np.zeros(capacity, np.int32), np.zeros(capacity, np.uint8)
        self.active[: len(active)] = active
        self.listed[active] = 1
        self.listing = object()
        self.marks.renew()
        self.group_marks.renew()
        for stacks in self.stacks.values():
            stacks.remap(used, new, capacity)

    # State

    def saved(self) -> dict[str, Saved]:
        """What a window holds is made again from its cells, unless it never lets go of any."""
        self.forget(at_once=True)
        tables: dict[str, Saved] = {
            "timeline": Tracked(self.marks, self.panes[: self.count], self.codes[: self.count], self._lend),
            "room": scalars(groups=len(self.running)),
            **self._saved_position(),
        }
        if self.forever:
            tables["running"] = self._held().tracked(self.group_marks)
        return tables

    def _held(self) -> Cells:
        """What the window holds of each group."""
        groups = np.arange(len(self.running))
        return Cells(groups, groups.astype(np.int32), self.running)

    def _saved_position(self) -> dict[str, Saved]:
        active = self.active[: int(self.position[ACTIVE])]
        return {"active": Stamped(self.listing, lambda: tabled(code=active)), "position": tabled(value=self.position)}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.append(Cells.of_table(tables["timeline"], self.layout).ordered())
        self.reserve_groups(*scalars_of(tables["room"]))
        self._restore_position(tables)
        if self.forever:
            held = Cells.of_table(tables["running"], self.layout).ordered()
            self.running = self.layout.grown(held.state, len(self.running))
            return
        inside = slice(int(self.position[TAIL]), int(self.position[HEAD]))
        ADDS.combine(self.codes[inside], self.cells.adds[inside], self.running.adds)

    def _restore_position(self, tables: dict[str, pa.Table]) -> None:
        """The stacks are built anew at the next report."""
        self.position[:] = numbers_of(tables["position"], "value")
        active = codes_of(tables["active"])
        self.active[: len(active)] = active
        self.listed[active] = 1
        self.stale = True

    @property
    def nbytes(self) -> int:
        stacks = sum(stacks.nbytes for stacks in self.stacks.values())
        return self.cells.nbytes + self.running.nbytes + stacks + self.panes.nbytes + self.codes.nbytes
