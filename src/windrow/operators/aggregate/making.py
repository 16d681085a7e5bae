"""Which algorithm the windows of a node have, with the bounds it runs under and how it takes rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias

from windrow.operators.aggregate.bounds import Bounds
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.base import Batch
from windrow.operators.late.group_bounds import group_names
from windrow.operators.state.layout import Table
from windrow.operators.windows.base import GroupedRows, Plan, Windower
from windrow.operators.windows.rows.counted_rows import CountedRows
from windrow.operators.windows.rows.past_ends import PastEnds
from windrow.operators.windows.rows.per_row import PerRow
from windrow.operators.windows.sessions.windower import SessionWindows
from windrow.plan.nodes import Late, Lateness, Strategy, WindowAggregate
from windrow.plan.types.schema import Shape
from windrow.semantics.windows import kinds
from windrow.semantics.windows.kinds import Emit, Session, SlideByTuple

Regrow: TypeAlias = Callable[[Callable[[Table], Table]], None]


@dataclass(frozen=True)
class Windowing:
    """The bounds of an operator, what makes its algorithm for a strategy, and how rows of a batch are made ready."""

    bounds: Bounds
    make: Callable[[Strategy], Windower]
    rows: Callable[[Batch, Regrow], GroupedRows]


def windowing_of(
    node: WindowAggregate, shape: Shape, grouping: Grouping, *, threads: int = 1, within: int = 0
) -> Windowing:
    """`within` is for how long results are corrected, under LATE REVISE."""
    window = node.window
    if isinstance(window, kinds.RowsWindow):
        counted = CountedRows(node, shape, grouping)
        partitions = Bounds(window, counted.names, lambda: counted.partitions)
        return Windowing(partitions, lambda _: counted, lambda batch, _: counted.rows(batch))
    bounds = Bounds(window, group_names(node), lambda: grouping.groups)

    def make(strategy: Strategy) -> Windower:
        if isinstance(window, Session):
            return SessionWindows(window, grouping.plan, bounds, within if node.late is Late.REVISE else None)
        if isinstance(window, SlideByTuple):
            return _per_row(node, window, grouping.plan)
        algorithm = import_module(f"windrow.operators.windows.{strategy.value}")
        made: Windower = algorithm.make(window, grouping.plan, threads=threads, keep=within)
        return made

    return Windowing(bounds, make, grouping.rows)


def _per_row(node: WindowAggregate, window: SlideByTuple, plan: Plan) -> PerRow:
    """Where windows ended is known if someone asks: a late row has missed one for sure only if it closes one."""
    shared = bool(node.keys) and not window.partition
    asks = node.late is not Late.DROP or window.every > 1 or (shared and node.emit is Emit.EMPTY)
    past = PastEnds() if asks else None
    return PerRow(window, plan, shared=shared, past=past, consistent=node.lateness is Lateness.CONSISTENT)
