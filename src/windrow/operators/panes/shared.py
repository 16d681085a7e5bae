"""Panes that several windows share: rows are put into cells once, and each window takes the cells as its own.

The panes are so small that no window begins or ends inside one (the greatest common divisor of all their RANGEs,
SLIDEs and differences of ORIGINs), and a cell holds the state of all their aggregates. Rows wait in their cells until
a punctuation closes a window of any of them, so that what is handed on grows with panes and groups, not with rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations, Operator
from windrow.operators.panes.partials import Partials
from windrow.operators.state.cells import Cells
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.layout import Layout, Table
from windrow.operators.windows.panes import PanedWid
from windrow.physical.grid import Grid
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.expressions import type_of
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.windows.kinds import Landmark, Sliding

HAND_ON_BYTES = 64 << 20
"""Cells are handed on when they take more than this, closed windows or not."""


@dataclass(frozen=True)
class SharedCells:
    """Cells of several windows, each (group, pane) once; the state is settled."""

    groups: Groups
    codes: Codes
    starts: Integers
    """The least time in the pane of each cell."""
    state: Table
    layout: Layout

    @staticmethod
    def of_partials(cells: Partials, node: WindowAggregate) -> SharedCells:
        """Cells that were made elsewhere for the panes of this node."""
        assert isinstance(node.window, Sliding)
        schema = shape_of(node.input).schema
        layout = Layout(node.aggregates, schema)
        layout.from_json(cells.layout)
        groups = Groups([type_of(expression, schema) for _, expression in node.keys])
        codes = groups.encode(cells.keys) if cells.keys else np.zeros(len(cells), np.int32)
        return SharedCells(groups, codes, node.window.origin + cells.panes * node.window.range, cells.state, layout)

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def rows(self) -> int:
        """How many rows are behind the cells."""
        return int(self.state.adds[:, 0].sum())

    def encoded(self, grouping: Grouping, windower: PanedWid) -> Cells:
        """The cells as one of the windows knows them; several of them may be one of its own."""
        codes = grouping.translated(self.groups, self.codes) if grouping.keys else self.codes
        panes = (self.starts - windower.window.origin) // windower.pane
        return Cells(panes, codes, grouping.plan.layout.narrowed(self.state, self.layout, windower.regrow))


class SharedPanesOperator(Operator):
    """Puts rows into the cells of shared panes; it judges no lateness and closes no window."""

    def __init__(
        self, node: WindowAggregate, windows: Sequence[Sliding | Landmark], shape: Shape, *, threads: int = 1
    ) -> None:
        """`node` is a tumbling window as long as a pane, with all that the windows keep."""
        assert isinstance(node.window, Sliding)
        self.grids = list(dict.fromkeys(Grid(window.origin, window.slide) for window in windows))
        self.grouping = Grouping(node, shape)
        self.windower = PanedWid(node.window, self.grouping.plan, threads=threads)
        self.bound = START
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        if batch.selected is not None and not batch.selected.any():
            return
        rows = self.grouping.rows(batch, self.windower.regrow)
        self.counters.rows_in += len(rows)
        if len(rows):
            self.windower.add(rows, self.grouping.count)
        if self.windower.cells.nbytes > HAND_ON_BYTES:
            yield from self._cells()

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        if any(grid.round_down(punctuation.value) > grid.round_down(self.bound) for grid in self.grids):
            yield from self._cells()
        self.bound = punctuation.value
        yield punctuation

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        yield from self._cells()
        yield punctuations

    def set_aside(self, early: EarlyRows, port: int = 0) -> Iterable[Element]:
        yield early

    def _cells(self) -> Iterator[SharedCells]:
        """All cells since the last time."""
        if self.windower.cells.count == 0:
            return
        panes, codes, state = self.windower.cells.take_below(1 << 62)
        self.grouping.plan.layout.settle(state)
        starts = self.windower.starts_of(panes)
        yield SharedCells(self.grouping.groups, codes, starts, state, self.grouping.plan.layout)
        self.grouping.compact(self.windower)

    @property
    def state_bytes(self) -> int:
        return self.windower.nbytes

    def state(self) -> dict[str, pa.Table]:
        panes, codes, state = self.windower.cells.content()
        layout = self.grouping.plan.layout
        layout.settle(state)
        cells = Partials(self.grouping.groups.decode(codes), panes, state, layout.to_json())
        return {
            "partials": pa.Table.from_batches([cells.to_batch()]),
            "bound": pa.table({"bound": pa.array([self.bound], pa.int64())}),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.bound = int(np.asarray(tables["bound"]["bound"])[0])
        for batch in tables["partials"].combine_chunks().to_batches():
            if len(batch):
                self.windower.put(Partials.from_batch(batch).encoded(self.grouping, self.windower))
