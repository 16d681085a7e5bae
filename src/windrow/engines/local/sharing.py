"""What queries share when they run together, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windrow.engines.local.passes import passes, streams_of
from windrow.engines.sharing import is_too_fine, keys_of, pane_groups, why_no_panes
from windrow.operators.shared_panes import shared_node
from windrow.plan.check import inputs_of, shape_of, walk
from windrow.plan.columns import prune_together
from windrow.plan.explain import title_of
from windrow.plan.nodes import Node, Stream, WindowAggregate
from windrow.semantics.amounts import render
from windrow.semantics.windows import Sliding


def describe(plans: Mapping[int, Node]) -> Iterator[str]:
    """What plans share, by their numbers: passes over the streams, equal parts, panes; and why not more."""
    numbers = list(plans)
    found = passes(list(plans.values()))
    for places in found:
        chosen = [numbers[place] for place in places]
        together = dict(zip(chosen, prune_together([plans[number] for number in chosen]), strict=True))
        names = ", ".join(dict.fromkeys(name for plan in together.values() for name in streams_of(plan)))
        apart = ", in a pass of their own" if len(found) > 1 else ""
        yield f"{_queries(chosen)} read{'' if len(chosen) > 1 else 's'} {names} once{apart}"
        if len(chosen) > 1:
            yield from _equal_parts(together)
            yield from _panes(together)
    if len(found) > 1:
        yield "a pass of its own: in which order several streams are read depends on the windows over them"


def _queries(numbers: list[int]) -> str:
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


def _pane_line(group: list[WindowAggregate], numbers: list[int]) -> str:
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
