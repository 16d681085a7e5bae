"""Rows on their way through windows that end with rows: a timeline whose cells are single rows, sorted by time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.panes import sliding
from windrow.operators.kernels.panes.sliding import HEAD, TAIL
from windrow.operators.kernels.rows.per_row import insert_rows, insert_states, plan_ends
from windrow.operators.state.cells import Cells
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.timeline import ANSWERS, Timeline
from windrow.operators.store.cell_rows import cell_rows, cells_of
from windrow.operators.store.row_block import RowBlock

_FARTHEST = 1 << 62
"""No two times lie this far apart."""


class RowTimeline(Timeline):
    """The windows `(end - range, end]` over rows. Between two punctuations the window ends just below the bound.

    A window answers for the group whose row closes it, or, when `shared`, for every group that has rows in it.
    """

    def __init__(self, layout: Layout, range_: int, *, shared: bool, by_group: bool = False) -> None:
        """With `by_group`, rows and windows come sorted by group, each of which is by itself."""
        self.shared = shared
        self.by_group = by_group
        self.reach = min(range_, _FARTHEST)
        self.lateness = 0
        """How many rows before the end of the window late ones have come, since the stacks were last built anew."""
        super().__init__(layout, self.reach, 1)

    def _refresh(self) -> None:
        """After late rows in the front, the stacks are built anew; where late rows come, the back begins.

        So those of the same lateness find their place in the back, and this is seldom needed.
        """
        if self.stale:
            tail, head = int(self.position[TAIL]), int(self.position[HEAD])
            front = max(tail, head - 2 * self.lateness)
            behind = self.codes[front:head]
            push = np.array([[tail, tail, front, head, 0, 0, tail, 0]])
            for kind, stacks in self.stacks.items():
                state, back = self.cells.matrices[kind], self.running.matrices[kind]
                stacks.heads[behind], back[behind] = -1, kind.neutral
                stacks.rebuild(tail, front, self.codes, state, back)
                stacks.slide(push, self.codes, state, back, front, NO_CODES, state[:0])
            self.lateness = 0
        self.stale = False

    def slide(self, ends: RowBlock, groups: int) -> Iterator[Cells]:
        """The answers of numbered windows, by where they end and whose row closes them; their rows were appended."""
        self.reserve_groups(groups)
        self._refresh()
        start = 0
        while start < len(ends):
            piece = ends.take(slice(start, start + self.layout.rows_in(ANSWERS)))
            answers, taken = self._slide_groups(self._steps(piece), groups) if self.shared else self._slide_one(piece)
            start += taken
            yield answers

    def pass_to(self, bound: int, groups: int) -> None:
        """No window ends below the bound any more: take in all rows, let go of those that none above it holds."""
        if self.count == 0:
            return
        self.reserve_groups(groups)
        self._refresh()
        end = min(bound, int(self.panes[self.count - 1]) + self.reach)
        steps = self._steps(RowBlock({"place": np.array([end]), "code": np.zeros(1, np.int32)}))
        if self.shared:
            self._slide_groups(steps, groups)
        else:
            steps[:, sliding.OUT_TO] = 0
            self._follow(steps, NO_CODES)

    def _steps(self, ends: RowBlock) -> Integers:
        steps = np.empty((len(ends), 8), np.int64)
        rows, windows = (self.panes, self.codes, self.count, self.position), (ends["place"], ends["code"], ends.first)
        plan_ends(*rows, *windows, self.reach, self.by_group, steps)
        return steps

    def of_groups(self, chosen: npt.NDArray[np.bool_], rows: RowBlock) -> RowTimeline:
        """Another one with the rows of chosen groups that later windows need, and with more of these groups."""
        alone = RowTimeline(self.layout, self.reach, shared=False, by_group=True)
        both = RowBlock.joined([cell_rows(self.content(chosen)), rows])
        alone.append(cells_of(both.ordered("code", "place")))
        return alone

    def _slide_one(self, ends: RowBlock) -> tuple[Cells, int]:
        steps, codes = self._steps(ends), ends["code"]
        return Cells(steps[:, sliding.WINDOW], codes, self._follow(steps, codes)), len(steps)

    def _slide_groups(self, steps: Integers, groups: int) -> tuple[Cells, int]:
        """As many windows as fit into one output."""
        room = len(self.active) + min(self.layout.rows_in(ANSWERS), groups * len(steps))
        windows, codes = np.empty(room, np.int64), np.empty(room, np.int32)
        before = self.position[[TAIL, HEAD]].copy()
        taken, written = sliding.plan_answers(
            steps, self.codes, self.cells.adds[:, 0], self.running.adds[:, 0].copy(),
            self.active, self.listed, self.position, windows, codes,
        )  # fmt: skip
        self.position[[TAIL, HEAD]] = before
        self.listing = object()
        state = self._follow(steps[:taken], codes[:written])
        return Cells(windows[:written], codes[:written], state), taken

    def _follow(self, steps: Integers, codes: Codes) -> Table:
        """All kinds of state along a schedule, and the position after it."""
        out, head = self.layout.blank(len(codes)), int(self.position[HEAD])
        self._slide(steps, head, codes, out)
        self.position[TAIL], self.position[HEAD] = steps[-1, sliding.TAIL_TO], steps[-1, sliding.PUSH_TO]
        return out

    def amend(self, late: Cells, groups: int) -> None:
        """Late rows that lie in the window: into it, and into their place for later."""
        if len(late) == 0:
            return
        self.reserve_groups(groups)
        late = late.take(np.argsort(late.places, kind="stable"))
        panes, codes, state = late.places, late.codes, late.state
        if self.count + len(panes) > len(self.panes):
            self._make_room(self.count + len(panes))
        place = int(np.searchsorted(self.panes[: self.count], panes[0], side="right"))
        origins = np.empty(self.count - place + len(panes), np.int64)
        insert_rows(panes, codes, self.panes, self.codes, self.count, origins)
        for kind, rows in state.matrices.items():
            insert_states(origins, place, rows, self.cells.matrices[kind])
        self.count += len(panes)
        self.position[HEAD] = self.count
        self.running.combine(codes, state)
        self.stale = self.stale or any(place < stacks.front for stacks in self.stacks.values())
        self.lateness = max(self.lateness, self.count - place)
        if self.shared:
            self._list(codes)

    def saved(self) -> dict[str, Saved]:
        """Its cells are single rows, of which several may be of one time and group."""
        self.forget(at_once=True)
        return {"timeline": self.in_panes().table(), "running": self._held().table(), **self._saved_position()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.append(Cells.of_table(tables["timeline"], self.layout))
        running = Cells.of_table(tables["running"], self.layout).state
        self.reserve_groups(len(running))
        self.running = self.layout.grown(running, len(self.running))
        self._restore_position(tables)
