"""Rule: what each node can use of the promises of those below it, so that no others are made or passed on."""

from __future__ import annotations

from dataclasses import replace
from math import gcd

from windrow.physical import nodes
from windrow.physical.how import How
from windrow.physical.nodes import Grid
from windrow.plan import nodes as logical
from windrow.semantics.joins import Between, LastRows, SameWindow, TimeWindow
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding

ROWS_AHEAD = 1 << 14
"""Rows of one side that a join takes at once, however short its windows are."""


def pass_promises(plans: nodes.Plans, how: How) -> nodes.Plans:
    """Pass down, from the root to the streams, where windows above may end and what they group by."""
    read = [{node.asked.name for node in nodes.walk(plan) if isinstance(node, nodes.Read)} for plan in plans]
    return tuple(_passed_down(plan, None, leads=len(names) > 1) for plan, names in zip(plans, read, strict=True))


def _passed_down(node: nodes.Physical, grid: Grid | None, *, leads: bool) -> nodes.Physical:
    if isinstance(node, nodes.Read):
        return replace(node, grids=(grid,), keys=_keys(node, grid), leads=leads)
    if isinstance(node, nodes.DistinctRows):
        node = replace(node, grid=Grid() if grid is None else Grid(grid.origin, grid.step))
    elif isinstance(node, (nodes.Window, nodes.PhysicalJoin)):
        node = replace(node, passes=_keys(node, grid))
    below = _grid_below(node, grid)
    return replace(node, inputs=tuple(_passed_down(child, below, leads=leads) for child in node.inputs))


def _keys(node: nodes.Physical, grid: Grid | None) -> frozenset[str]:
    """The columns by which those above use promises for single groups, where any can come from below."""
    parts = list(logical.walk(node.asked))
    policies = (part.policy for part in parts if isinstance(part, logical.Stream))
    promised = any(isinstance(policy, External) and policy.per for policy in policies)
    promised = promised or any(isinstance(part, logical.Join) for part in parts)
    return grid.keys if promised and grid is not None else frozenset()


def _grid_below(node: nodes.Physical, grid: Grid | None) -> Grid | None:
    """What a node and those above it can use of the promises of its inputs; None: nothing."""
    if isinstance(node, nodes.Window):
        below = _grid_of(node.asked)
        is_together = isinstance(node, nodes.PerRowWindow) and node.together
        return below if below is None else replace(below, together=is_together)
    if isinstance(node, nodes.Sort):
        return Grid(pace=node.pace)
    if isinstance(node, nodes.PhysicalJoin):  # uses all promises; one side may be a window's reach ahead
        window = node.asked.window
        if isinstance(window, LastRows):
            return Grid(by_arrival=True)
        return Grid(pace=reach_of(window), rows=ROWS_AHEAD, together=True)
    if isinstance(node, nodes.DistinctRows):
        # Without windows above, every punctuation says something: it makes rows below it late.
        return Grid() if grid is None else replace(grid, together=False)
    if isinstance(node, nodes.ProjectRows) and grid is not None:
        return replace(grid, keys=keys_below(node.asked, grid.keys))
    if isinstance(node, nodes.Meld) and grid is not None:
        # Less its idle time, a punctuation on this grid may still fall where windows end. Which bound rows of a union
        # meet is known where it is made.
        step = gcd(grid.step, *(amount for amount in node.idle if amount is not None))
        return replace(grid, step=step, pace=max(grid.step, grid.pace), together=False, rows=1)
    return grid


def _grid_of(node: logical.WindowAggregate) -> Grid | None:
    """What a window aggregate can use of the promises of its input; None: nothing."""
    window = node.window
    if isinstance(window, (Sliding, Landmark)):
        return Grid(window.origin, window.slide, keys=usable_keys(node))
    if isinstance(window, SlideByTuple):
        return Grid(pace=window.range, keys=usable_keys(node))
    if isinstance(window, RowsWindow):
        # Which rows of a union come first must not depend on batches. By arrival no promise says anything.
        united = any(isinstance(part, logical.Union) for part in logical.walk(node))
        return Grid(by_arrival=united, keys=usable_keys(node)) if united or window.order is not None else None
    return Grid(pace=window.gap, keys=usable_keys(node))


def reach_of(window: TimeWindow) -> int:
    """How far apart two rows that meet can be; at least one unit."""
    if isinstance(window, SameWindow):
        return window.length
    if isinstance(window, Between):
        return max(abs(window.low), abs(window.high), window.high - window.low, 1)
    return max(window.within or 1, 1)


def usable_keys(node: logical.WindowAggregate) -> frozenset[str]:
    """The columns by which single groups of a window aggregate can be closed.

    Windows that count rows close for the groups whose rows are counted alone, in order of time.
    """
    window = node.window
    if isinstance(window, SlideByTuple) or (isinstance(window, RowsWindow) and window.order is not None):
        return frozenset(window.partition)
    if not isinstance(window, (Sliding, Landmark, Session)):
        return frozenset()
    return frozenset(e.name for _, e in node.keys if isinstance(e, Column))


def keys_below(node: logical.Project, keys: frozenset[str]) -> frozenset[str]:
    """The same under the names that the columns have below a projection."""
    return frozenset(e.name for name, e in node.columns if name in keys and isinstance(e, Column))
