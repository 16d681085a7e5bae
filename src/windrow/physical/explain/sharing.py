"""What several queries share, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from windrow.physical.explain.plans import described
from windrow.physical.make import make
from windrow.physical.nodes import Physical, Read, SharedPanes, Window, each
from windrow.physical.rules.share_panes import why_apart
from windrow.plan.checks.nodes import shape_of
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Node, Stream, walk
from windrow.semantics.scalars.amounts import render


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
            made = dict(zip(numbers, make(list(together.values())), strict=True))
            yield from _equal_parts(made) if parts else ()
            yield from _panes(made)
    if len(passes) > 1:
        yield "in which order several streams are read depends on the windows over them: hence several passes"


def _queries(numbers: Sequence[int]) -> str:
    """`query 1`, `queries 1 and 2`, `queries 1, 2 and 3`."""
    if len(numbers) == 1:
        return f"query {numbers[0]}"
    return f"queries {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _users(made: Mapping[int, Physical]) -> dict[int, tuple[Physical, list[int]]]:
    """By the id of a node: the node, and the numbers of the queries that it works for."""
    users: dict[int, tuple[Physical, list[int]]] = {}
    for number, plan in made.items():
        for node in each((plan.inputs[0],)):
            users.setdefault(id(node), (node, []))[1].append(number)
    return users


def _equal_parts(made: Mapping[int, Physical]) -> Iterator[str]:
    """The largest parts that several queries share and that are more than a stream."""
    users = {key: found for key, found in _users(made).items() if not isinstance(found[0], SharedPanes)}
    within = {id(child): numbers for node, numbers in users.values() for child in node.inputs}
    for node, numbers in users.values():
        if len(numbers) > 1 and within.get(id(node)) != numbers and not isinstance(node, Read):
            yield f"{_queries(numbers)} share {described(node.asked)[0]} and all below it"


def _panes(made: Mapping[int, Physical]) -> Iterator[str]:
    """Which windows share panes, and of the others why not."""
    users = _users(made)
    over: dict[int, list[tuple[Window, list[int]]]] = {}
    for node, numbers in users.values():
        if isinstance(node, Window):
            (below,) = node.inputs
            rows = below.inputs[0] if isinstance(below, SharedPanes) else below
            over.setdefault(id(rows), []).append((node, numbers))
    for windows in over.values():
        for panes in {id(node.inputs[0]): node.inputs[0] for node, _ in windows}.values():
            if isinstance(panes, SharedPanes):
                size, queries = render(panes.pane, shape_of(panes.asked.input).domain), _queries(users[id(panes)][1])
                yield f"the windows of {queries} share panes of {size}: each row goes into one, for all of them"
        for node, numbers in windows:
            if not isinstance(node.inputs[0], SharedPanes):
                why = why_apart(node.asked, [other.asked for other, _ in windows])
                yield f"{_queries(numbers)}: no shared panes: {why}"
