"""What several queries share, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from windrow.physical.explain.plans import title_of
from windrow.physical.rules.share_panes import pane_groups, shared_node, why_apart
from windrow.plan.checks.nodes import inputs_of, shape_of, walk
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Node, Stream, WindowAggregate
from windrow.semantics.scalars.amounts import render
from windrow.semantics.windows.kinds import Sliding


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
                yield f"{_queries(users[node])}: no shared panes: {why_apart(node, windows)}"


def _pane_line(group: list[WindowAggregate], numbers: Sequence[int]) -> str:
    window = shared_node(group).window
    assert isinstance(window, Sliding)
    size = render(window.range, shape_of(group[0].input).domain)
    return f"the windows of {_queries(numbers)} share panes of {size}: each row goes into one, for all of them"
