"""Which windows can be put together from pane cells, so that cells may be shared, sent, or given in slices."""

from __future__ import annotations

from math import gcd

from windrow.aggregates.kinds.base import Custom, Values
from windrow.errors import ConfigurationError
from windrow.physical.how import Flush, When
from windrow.physical.planner import choose
from windrow.plan.checks.nodes import aggregates_of
from windrow.plan.nodes import Late, Node, Strategy, WindowAggregate, walk
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding


def pane_of(window: Sliding | Landmark) -> int:
    """The length of panes: no window begins or ends inside one."""
    return window.slide if isinstance(window, Landmark) else gcd(window.range, window.slide)


def why_not_partial(node: WindowAggregate) -> str | None:
    """Why rows must reach the window operator themselves; None when cells give the same answers."""
    if isinstance(node.window, (Sliding, Landmark)) and node.late is not Late.DROP:
        return f"LATE {node.late.name} keeps the rows themselves"
    if isinstance(node.window, (Sliding, Landmark)) and node.emit is Emit.COMPLETE:
        return "EMIT COMPLETE asks for the time of the first row, not only for its pane"
    return _why_no_cells(node)


def why_not_shared(node: WindowAggregate) -> str | None:
    """Why the cells of a window aggregate cannot be those of others too; None when they can."""
    return why_not_partial(node) if node.early is None else "EMIT EARLY gives results after single rows"


def why_not_smooth(node: WindowAggregate) -> str | None:
    """Why the windows of a node are given all at once whatever is asked; None when they can be given in slices."""
    if node.late is Late.REVISE:
        return "LATE REVISE looks at closed windows of all groups"
    if node.early is not None:
        return "EMIT EARLY looks at open windows of all groups"
    return _why_no_cells(node)


def check_smooth(plan: Node, flush: Flush) -> None:
    """Refuse to smooth a query none of whose windows can be."""
    if flush.when is When.EAGER:
        return
    reasons = [why_not_smooth(node) for node in walk(plan) if isinstance(node, WindowAggregate)]
    if None not in reasons:
        raise ConfigurationError(
            f"has nothing to smooth: {reasons[0] if reasons else 'the query has no windows'}",
            parameter="flush",
            value=flush.when.value,
            hint="leave it out, or say eager",
        )


_WITHOUT_PANES: dict[type, str] = {
    Session: "session windows have no panes",
    RowsWindow: "windows of rows count them one by one",
    SlideByTuple: "windows that end with rows have no panes",
}


def _why_no_cells(node: WindowAggregate) -> str | None:
    """Why windows are not put together from pane cells alone."""
    if not isinstance(node.window, (Sliding, Landmark)):
        return _WITHOUT_PANES[type(node.window)]
    strategy = choose(node).strategy
    if strategy is not Strategy.PANES:
        return f"STRATEGY {strategy.value} {'keeps rows' if strategy is Strategy.ADAPTIVE else 'has no panes'}"
    return why_values_kept(node)


def why_values_kept(node: WindowAggregate) -> str | None:
    """The aggregate that keeps more than a number of fixed size, if there is one."""
    for call, aggregate, kind in aggregates_of(node):
        parts = aggregate.parts(call.argument, kind, call.parameters)
        if any(isinstance(part, Custom) for part in parts):
            return f"{call} keeps a state of its own"
        if any(isinstance(part, Values) for part in parts):
            return f"{call} keeps values"
    return None
