"""Which windows of several queries share panes, and why the others do not."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.operators.partials import why_not_partial
from windrow.operators.shared_panes import shared_window
from windrow.operators.windows.panes import pane_of
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.expressions import Expression
from windrow.semantics.windows import Landmark, Sliding

MOST_FINER = 16
"""Shared panes are at most so many times as many as those of the window that has the smallest: beyond that, rows are
hardly fewer than cells."""


def pane_groups(nodes: Sequence[WindowAggregate]) -> list[list[WindowAggregate]]:
    """The window aggregates over one input that share panes, two or more a group."""
    groups: list[list[WindowAggregate]] = []
    for node in nodes:
        if why_no_panes(node) is None:
            fitting = next((group for group in groups if fits(node, group)), None)
            if fitting is None:
                groups.append([node])
            else:
                fitting.append(node)
    return [group for group in groups if len(group) > 1]


def why_no_panes(node: WindowAggregate) -> str | None:
    """Why a window aggregate needs the rows themselves; None when cells give the same answers."""
    if node.early is not None:
        return "EMIT EARLY speaks after single rows"
    return why_not_partial(node)


def fits(node: WindowAggregate, group: Sequence[WindowAggregate]) -> bool:
    """Whether a window aggregate goes with these: the same keys, and panes that are not much smaller."""
    return keys_of(node) == keys_of(group[0]) and not is_too_fine([*group, node])


def keys_of(node: WindowAggregate) -> list[Expression]:
    """What rows are grouped by, under whichever names."""
    return [expression for _, expression in node.keys]


def is_too_fine(nodes: Sequence[WindowAggregate]) -> bool:
    windows = [node.window for node in nodes if isinstance(node.window, (Sliding, Landmark))]
    return min(map(pane_of, windows)) > MOST_FINER * shared_window(windows).range
