"""Cells into a window aggregate, made of rows by the low level of a two-level aggregation.

What comes of them is what would have come of the rows; `why_not_partial` says where that is the same. All rows of a
pane are late for the same windows, since windows begin and end where panes do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Element
from windrow.operators.late.judging import below
from windrow.operators.state.cells import Cells
from windrow.operators.windows.base import GroupedRows
from windrow.operators.windows.panes import PanedWid

if TYPE_CHECKING:
    from windrow.operators.aggregate.frame import WindowAggregateOperator
    from windrow.operators.panes.partials import Partials
    from windrow.operators.panes.shared import SharedCells


def merged(operator: WindowAggregateOperator, partials: Partials | SharedCells) -> Iterator[Element]:
    """Take cells in."""
    windower = operator.windower
    assert isinstance(windower, PanedWid)
    operator.counters.rows_in += partials.rows
    if len(partials) == 0:
        return
    cells = partials.encoded(operator.grouping, windower)
    met = operator.bounds.of(cells.codes)
    late = below(windower.starts_of(cells.panes), met)
    if not late.all():
        _put(operator, windower, cells.take(~late))
    if late.any():
        yield from _late(operator, windower, cells.take(late), met[late])


def _put(operator: WindowAggregateOperator, windower: PanedWid, cells: Cells) -> None:
    starts = windower.starts_of(cells.panes)
    operator.results.first = min(operator.results.first, int(starts.min()))
    windower.witness(int(starts.max()))
    windower.put(cells)


def _late(operator: WindowAggregateOperator, windower: PanedWid, cells: Cells, met: Integers) -> Iterator[Element]:
    verdict = operator.judged(GroupedRows(windower.starts_of(cells.panes), cells.codes, {}), met)
    operator.counters.late += int(cells.state.adds[verdict.missed, 0].sum())
    counting = cells.take(verdict.counts)
    if len(counting):
        yield from operator.before_late()
        groups = operator.grouping.count
        for closed in windower.take_late_cells(counting, met[verdict.counts], operator.bounds, groups):
            yield from operator.given(closed)
