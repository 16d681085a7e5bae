"""What several queries share: which windows use the same panes, and all of it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from windrow.operators.panes.partials import why_not_partial
from windrow.operators.panes.shared import shared_node, shared_window
from windrow.operators.windows.panes import pane_of
from windrow.physical.explain.plans import title_of
from windrow.plan.checks.nodes import inputs_of, shape_of, walk
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Node, Stream, WindowAggregate
from windrow.semantics.scalars.amounts import render
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.windows.kinds import Landmark, Sliding

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


# In words


def describe(plans: Mapping[int, Node], passes: Sequence[Sequence[int]], *, parts: bool = True) -> Iterator[str]:
    """What plans share, by their numbers, when those of each pass run together; and why not more.

    Without `parts`, operators with state are not shared.
    """
    for numbers in passes:
        together = dict(zip(numbers, prune_together([plans[number] for number in numbers]), strict=True))
        names = ", ".join(dict.fromkeys(s.name for p in together.values() for s in walk(p) if isinstance(s, Stream)))
        apart = f", in a pass of {'their' if len(numbers) > 1 else 'its'} own" if len(passes) > 1 else ""
        yield f"{_queries(numbers)} read{'' if len(numbers) > 1 else 's'} {names} once{apart}"
        if len(numbers) > 1:
            yield from _equal_parts(together) if parts else ()
            yield from _panes(together)
    if len(passes) > 1:
        yield "in which order several streams are read depends on the windows over them: hence several passes"


def _queries(numbers: Sequence[int]) -> str:
    """`query 1`, `queries 1 and 2`, `queries 1, 2 and 3`."""
    if len(numbers) == 1:
        return f"query {numbers[0]}"
    return f"queries {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _equal_parts(plans: Mapping[int, Node]) -> Iterator[str]:
    """The largest equal parts of plans that are more than a stream."""
    users: dict[Node, list[int]] = {}
    for number, plan in plans.items():
        for node in dict.fromkeys(walk(plan)):
            users.setdefault(node, []).append(number)
    within = {child: node for node in users for child in inputs_of(node)}
    for node, numbers in users.items():
        largest = node not in within or users[within[node]] != numbers
        if len(numbers) > 1 and largest and not isinstance(node, Stream):
            yield f"{_queries(numbers)} share {title_of(node)} and all below it"


def _panes(plans: Mapping[int, Node]) -> Iterator[str]:
    """Which windows share panes, and of the others why not."""
    users: dict[WindowAggregate, list[int]] = {}
    for number, plan in plans.items():
        for node in dict.fromkeys(walk(plan)):
            if isinstance(node, WindowAggregate):
                users.setdefault(node, []).append(number)
    over: dict[Node, list[WindowAggregate]] = {}
    for node in users:
        over.setdefault(node.input, []).append(node)
    for windows in over.values():
        groups = pane_groups(windows)
        for group in groups:
            yield _pane_line(group, sorted({number for node in group for number in users[node]}))
        for node in windows:
            if not any(node in group for group in groups):
                yield f"{_queries(users[node])}: no shared panes: {_why_not(node, windows)}"


def _pane_line(group: list[WindowAggregate], numbers: Sequence[int]) -> str:
    window = shared_node(group).window
    assert isinstance(window, Sliding)
    size = render(window.range, shape_of(group[0].input).domain)
    return f"the windows of {_queries(numbers)} share panes of {size}: each row goes into one, for all of them"


def _why_not(node: WindowAggregate, windows: list[WindowAggregate]) -> str:
    reason = why_no_panes(node)
    if reason is not None:
        return reason
    able = [other for other in windows if other is not node and why_no_panes(other) is None]
    if not able:
        return "no other window over the same rows could use them"
    if any(keys_of(other) == keys_of(node) and is_too_fine([node, other]) for other in able):
        return "RANGE, SLIDE and ORIGIN have too little in common with those of the others"
    return "it groups by other keys"
