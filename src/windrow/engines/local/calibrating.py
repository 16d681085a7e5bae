"""Measure the constants of the cost model on this machine, by the very window algorithms that it is about."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.operators.state.cells import Cells, CellTable
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.layout import Layout
from windrow.operators.state.timeline import Timeline
from windrow.operators.windows.adaptive.windower import AdaptWid
from windrow.operators.windows.base import Plan
from windrow.operators.windows.buffer import Buffer
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.panes import PanedWid
from windrow.operators.windows.wid import Wid
from windrow.physical.costs import COLUMN, Constants
from windrow.plan.nodes import AggregateCall
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding

ROWS, GROUPS, PANES = 1 << 18, 1 << 13, 8
FEW = 1 << 10
"""Groups where rows are measured; closing is, with more of them, so that one call more or less does not count."""
ROUNDS = 5
_X = Column("x")


def _plan() -> Plan:
    return Plan(Layout((AggregateCall("s", "sum", _X),), pa.schema({"x": pa.int64()})))


def _rows(groups: int = GROUPS) -> GroupedRows:
    """Rows of all panes of one window, spread over the groups."""
    chance = np.random.default_rng(1)
    times = np.sort(chance.integers(0, PANES * 1000, ROWS))
    values = Lifted(chance.integers(0, 1000, ROWS), np.empty(0, np.int64), np.empty(0, np.uint8), times)
    return GroupedRows(times, chance.integers(0, groups, ROWS).astype(np.int32), {_X: values})


def _nanoseconds(windower: PanedWid | Wid | Buffer, rows: GroupedRows, groups: int) -> tuple[float, float]:
    """To add rows, and to close all their windows."""
    started = time.process_time_ns()
    windower.witness(rows.span[1])
    windower.add(rows, groups)
    added = time.process_time_ns()
    for end in range(1, 2 * PANES + 1):
        for _ in windower.close(end * 1000, groups):
            pass
    return float(added - started), float(time.process_time_ns() - added)


def _least(kind: type[PanedWid] | type[Wid] | type[Buffer], groups: int = GROUPS) -> tuple[float, float]:
    """The least of some rounds; the first compiles."""
    rows, window = _rows(groups), Sliding("ts", PANES * 1000, 1000)
    rounds = [_nanoseconds(kind(window, _plan()), rows, groups) for _ in range(ROUNDS)]
    return min(added for added, _ in rounds), min(closed for _, closed in rounds)


def _panes(constants: Constants) -> Constants:
    added, _ = _least(PanedWid, FEW)
    step = _least(PanedWid)[1] / (GROUPS * PANES * 3)
    return replace(constants, row_to_pane=added / ROWS, pane_out=step, pane_to_window=step)


def _windows(constants: Constants) -> Constants:
    wid, _ = _least(Wid, FEW)
    _, buffered = _least(Buffer, FEW)
    kept = _least(AdaptWid, ROWS)[1]
    visits = ROWS * PANES
    return replace(constants, row_to_window=wid / visits, row_again=buffered / visits, kept_again=kept / visits)


def _bytes(constants: Constants) -> Constants:
    layout = _plan().layout
    width, sizes = COLUMN * sum(layout.widths.values()), np.geomspace(2_000, 200_000, 12).astype(int)
    rooms = {growth: np.mean([_open_bytes(layout, n, growth) / n for n in sizes]) for growth in (2, 4)}
    closed = _closed_bytes(layout) / (GROUPS * PANES)
    return replace(
        constants,
        open_room=float(rooms[4] / (constants.open_cell + width)),
        tight_room=float(rooms[2] / (constants.open_cell + width)),
        closed_room=closed / (constants.closed_cell + width),
    )


def _open_bytes(layout: Layout, cells: int, growth: int) -> int:
    table = CellTable(layout, growth=growth)
    table.slots(np.zeros(cells, np.int64), np.arange(cells, dtype=np.int32))
    return table.nbytes


def _closed_bytes(layout: Layout) -> float:
    """The most that the panes of one window take in a timeline through which several windows have passed."""
    timeline, most = Timeline(layout, PANES, 1), 0
    codes = np.arange(GROUPS, dtype=np.int32)
    for pane in range(4 * PANES):
        state = layout.empty(GROUPS)
        state.adds[:, 0] = 1
        timeline.tidy()
        timeline.append(Cells(np.full(GROUPS, pane), codes, state))
        for _ in timeline.report(pane + 1, GROUPS):
            pass
        most = max(most, timeline.nbytes - timeline.running.nbytes)
    return float(most)


STEPS: dict[str, Callable[[Constants], Constants]] = {
    "rows into panes": _panes,
    "rows into windows": _windows,
    "bytes": _bytes,
}
"""What is measured; each step takes the constants so far and gives them with its own."""
