"""Pane partials: the low level of a two-level aggregation.

A low level puts rows into pane cells and sends the cells on; the window operator above merges them as if the rows
themselves had come. What is sent grows with panes and groups, not with rows. Several low levels may share the rows
of a stream in any way: state adds up, or keeps the greatest, in any order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch
from windrow.operators.state.cells import Cells
from windrow.operators.state.layout import Table
from windrow.operators.state.state_columns import state_columns, state_of, widths_in
from windrow.operators.windows.panes import PanedWid
from windrow.plan.nodes import WindowAggregate
from windrow.plan.types.schema import Shape
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, Sliding

LAYOUT = b"windrow.layout"
"""Where the metadata of a batch of cells tells the widths of its state columns."""


@dataclass(frozen=True)
class Partials:
    """Cells of one window operator made from some of its rows, each (keys, pane) once; the state is settled."""

    keys: list[Array]
    """The key columns, one row a cell."""
    panes: Integers
    state: Table
    layout: list[Any]
    """What `Layout.to_json` gave for the state."""

    def __len__(self) -> int:
        return len(self.panes)

    @property
    def rows(self) -> int:
        """How many rows are behind the cells."""
        return int(self.state.adds[:, 0].sum())

    def take(self, cells: npt.NDArray[Any]) -> Partials:
        """Some of the cells, by their places or by a mask."""
        places = np.flatnonzero(cells) if cells.dtype == np.bool_ else cells.astype(np.int64)
        keys = [key.take(arrow(places)) for key in self.keys]
        return Partials(keys, self.panes[places], self.state.take(places), self.layout)

    def encoded(self, grouping: Grouping, windower: PanedWid) -> Cells:
        """The cells with the group codes and the state widths of an operator, whose own state may widen for them."""
        codes = grouping.groups.encode(self.keys) if self.keys else np.zeros(len(self), np.int32)
        state = grouping.plan.layout.align(self.state, self.layout, windower.regrow)
        return Cells(self.panes, codes, state)

    def to_batch(self) -> pa.RecordBatch:
        """Columns key0, ..., place, then those of the state; the layout is in the schema's metadata."""
        keys = {f"key{i}": key for i, key in enumerate(self.keys)}
        batch = pa.RecordBatch.from_pydict({**keys, "place": arrow(self.panes), **state_columns(self.state)})
        return batch.replace_schema_metadata({LAYOUT: json.dumps(self.layout).encode()})

    @staticmethod
    def from_batch(batch: pa.RecordBatch, layout: list[Any] | None = None) -> Partials:
        """What `to_batch` wrote, or columns like it, whose layout is told."""
        names = batch.schema.names
        place = names.index("place")
        state = state_of(pa.Table.from_batches([batch]), widths_in(names[place + 1 :]))
        panes = np.array(batch.column(place).to_numpy())
        layout = json.loads((batch.schema.metadata or {})[LAYOUT]) if layout is None else layout
        return Partials(batch.columns[:place], panes, state, layout)


class PaneAggregate:
    """Puts rows into pane cells until they are taken; it judges no lateness and closes no window."""

    def __init__(self, node: WindowAggregate, shape: Shape) -> None:
        self.node = node
        self.shape = shape
        self.latest = START
        """The largest time of all rows so far, taken or not; START when there was none."""
        self._begin()

    def _begin(self) -> None:
        """With groups and widths anew, so that one strange batch does not make all later ones large."""
        assert isinstance(self.node.window, (Sliding, Landmark))
        self._grouping = Grouping(self.node, self.shape)
        self._windower = PanedWid(self.node.window, self._grouping.plan)

    def add(self, batch: Batch) -> None:
        """Put the selected rows into their cells."""
        if batch.selected is not None and not batch.selected.any():
            return
        rows = self._grouping.rows(batch, self._windower.regrow)
        if len(rows):
            self.latest = max(self.latest, rows.span[1])
            self._windower.add(rows, self._grouping.count)

    @property
    def cells(self) -> int:
        return self._windower.cells.count

    @property
    def nbytes(self) -> int:
        """Of the cells; the keys of groups are not counted."""
        return self._windower.cells.nbytes

    def take(self) -> Partials | None:
        """All cells since the last time, None when there are none; then begins anew."""
        if self.cells == 0:
            return None
        panes, codes, state = self._windower.cells.content()
        layout = self._grouping.plan.layout
        layout.settle(state)
        taken = Partials(self._grouping.groups.decode(codes), panes, state, layout.to_json())
        self._begin()
        return taken
