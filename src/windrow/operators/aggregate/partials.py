"""Pane cells made apart from the windows over them: by the low level of two-level aggregation, or for several windows.

A low level puts rows into pane cells and sends the cells on; the window operator above merges them as if the rows
themselves had come. What is sent grows with panes and groups, not with rows. Several low levels may share the rows
of a stream in any way: state adds up, or keeps the greatest, in any order.

Panes that several windows share are so small that no window begins or ends inside one (the greatest common divisor of
all their RANGEs, SLIDEs and differences of ORIGINs), and a cell holds the state of all their aggregates. Rows wait in
their cells until a punctuation closes a window of any of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch, Counters, EarlyRows, Element, GroupPunctuations, Operator
from windrow.operators.late.judging import below
from windrow.operators.state.cells import Cells
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.layout import Layout, Table
from windrow.operators.state.state_columns import state_columns, state_of, widths_in
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.panes import PanedWid
from windrow.physical.nodes import Grid
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import WindowAggregate
from windrow.plan.rounding import kept_calls
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Shape
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.windows.kinds import Landmark, Sliding

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator

LAYOUT = b"windrow.layout"
"""Where the metadata of a batch of cells has the widths of its state columns."""
HAND_ON_BYTES = 64 << 20
"""Cells that windows share are handed on when they take more than this, closed windows or not."""


class MadeCells:
    """Cells made elsewhere, each (group, pane) once; the state is settled."""

    state: Table

    def __len__(self) -> int:
        return len(self.state)

    @property
    def rows(self) -> int:
        """How many rows are behind the cells."""
        return int(self.state.adds[:, 0].sum())


@dataclass(frozen=True)
class Partials(MadeCells):
    """Cells of one window operator made from some of its rows."""

    keys: list[Array]
    """The key columns, one row a cell."""
    panes: Integers
    state: Table
    layout: list[Any]
    """What `Layout.to_json` gave for the state."""

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
        """What `to_batch` wrote, or columns like it, whose layout is passed."""
        names = batch.schema.names
        place = names.index("place")
        state = state_of(pa.Table.from_batches([batch]), widths_in(names[place + 1 :]))
        panes = np.array(batch.column(place).to_numpy())
        layout = json.loads((batch.schema.metadata or {})[LAYOUT]) if layout is None else layout
        return Partials(batch.columns[:place], panes, state, layout)


@dataclass(frozen=True)
class SharedCells(MadeCells):
    """Cells of several windows."""

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
        layout = Layout(kept_calls(node), schema)
        layout.from_json(cells.layout)
        groups = Groups([type_of(expression, schema) for _, expression in node.keys])
        codes = groups.encode(cells.keys) if cells.keys else np.zeros(len(cells), np.int32)
        return SharedCells(groups, codes, node.window.origin + cells.panes * node.window.range, cells.state, layout)

    def encoded(self, grouping: Grouping, windower: PanedWid) -> Cells:
        """The cells as one of the windows has them; several of them may be one of its own."""
        codes = grouping.translated(self.groups, self.codes) if grouping.keys else self.codes
        panes = (self.starts - windower.window.origin) // windower.pane
        return Cells(panes, codes, grouping.plan.layout.narrowed(self.state, self.layout, windower.regrow))


class PaneAggregate:
    """Puts rows into pane cells until they are taken; it judges no lateness and closes no window."""

    def __init__(self, node: WindowAggregate, shape: Shape, *, threads: int = 1) -> None:
        self.node = node
        self.shape = shape
        self.threads = threads
        self.latest = START
        """The largest time of all rows so far, taken or not; START when there was none."""
        self._begin()

    def _begin(self) -> None:
        """With groups and widths anew, so that one strange batch does not make all later ones large."""
        assert isinstance(self.node.window, (Sliding, Landmark))
        self.grouping = Grouping(self.node, self.shape)
        self.windower = PanedWid(self.node.window, self.grouping.plan, threads=self.threads)

    def add(self, batch: Batch) -> int:
        """Put the selected rows into their cells; returns how many there are."""
        if batch.selected is not None and not batch.selected.any():
            return 0
        rows = self.grouping.rows(batch, self.windower.regrow)
        if len(rows):
            self.latest = max(self.latest, rows.span[1])
            self.windower.add(rows, self.grouping.count)
        return len(rows)

    @property
    def cells(self) -> int:
        return self.windower.cells.count

    @property
    def nbytes(self) -> int:
        """Of the cells; the keys of groups are not counted."""
        return self.windower.cells.nbytes

    def content(self) -> Partials:
        """All cells since the last time."""
        cells, layout = self.windower.cells.content(), self.grouping.plan.layout
        layout.settle(cells.state)
        return Partials(self.grouping.groups.decode(cells.codes), cells.places, cells.state, layout.to_json())

    def take(self) -> Partials | None:
        """The same, None when there are none; then begins anew."""
        if self.cells == 0:
            return None
        taken = self.content()
        self._begin()
        return taken


class SharedPanesOperator(Operator):
    """Puts rows into the cells of shared panes, and hands these on to several windows."""

    def __init__(
        self, node: WindowAggregate, windows: Sequence[Sliding | Landmark], shape: Shape, *, threads: int = 1
    ) -> None:
        """`node` is a tumbling window as long as a pane, with all that the windows keep."""
        self.grids = list(dict.fromkeys(Grid(window.origin, window.slide) for window in windows))
        self.made = PaneAggregate(node, shape, threads=threads)
        self.bound = START
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        self.counters.rows_in += self.made.add(batch)
        if self.made.nbytes > HAND_ON_BYTES:
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
        """All cells since the last time; groups stay while they are used."""
        windower, grouping = self.made.windower, self.made.grouping
        if self.made.cells == 0:
            return
        cells, layout = windower.cells.take_below(1 << 62), grouping.plan.layout
        layout.settle(cells.state)
        yield SharedCells(grouping.groups, cells.codes, windower.starts_of(cells.places), cells.state, layout)
        grouping.compact(windower)

    @property
    def state_bytes(self) -> int:
        return self.made.windower.nbytes

    def state(self) -> dict[str, pa.Table]:
        return {
            "partials": pa.Table.from_batches([self.made.content().to_batch()]),
            "bound": pa.table({"bound": pa.array([self.bound], pa.int64())}),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.bound = int(np.asarray(tables["bound"]["bound"])[0])
        for batch in tables["partials"].combine_chunks().to_batches():
            if len(batch):
                self.made.windower.put(Partials.from_batch(batch).encoded(self.made.grouping, self.made.windower))


def merged(operator: WindowAggregateOperator, partials: Partials | SharedCells) -> Iterator[Element]:
    """Take cells into a window aggregate; what comes of them is what would have come of the rows.

    `why_not_partial` states where that is the same. All rows of a pane are late for the same windows, since windows
    begin and end where panes do.
    """
    windower = operator.windower
    assert isinstance(windower, PanedWid)
    operator.counters.rows_in += partials.rows
    if len(partials) == 0:
        return
    cells = partials.encoded(operator.grouping, windower)
    met, starts = operator.bounds.of(cells.codes), windower.starts_of(cells.places)
    operator.refuse_leap(np.sort(starts))
    late = below(starts, met)
    if not late.all():
        operator.results.first = min(operator.results.first, int(starts[~late].min()))
        windower.witness(int(starts[~late].max()))
        windower.put(cells.take(~late))
    if late.any():
        yield from _late(operator, windower, cells.take(late), met[late])


def _late(operator: WindowAggregateOperator, windower: PanedWid, cells: Cells, met: Integers) -> Iterator[Element]:
    verdict = operator.judged(GroupedRows(windower.starts_of(cells.places), cells.codes, {}), met)
    operator.counters.late += int(cells.state.adds[verdict.missed, 0].sum())
    counting = cells.take(verdict.counts)
    if len(counting):
        yield from operator.before_late()
        groups = operator.grouping.count
        for closed in windower.take_late_cells(counting, met[verdict.counts], operator.bounds, groups):
            yield from operator.given(closed)
