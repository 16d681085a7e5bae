"""Physical plans as a graph: every node once, and the same graph with some nodes changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from windrow.physical.nodes import Physical, Plans, Undecided
from windrow.plan.nodes import Node
from windrow.plan.tree import inputs_of

Change = Callable[[Physical, Physical], Physical]


def undecided(node: Node) -> Physical:
    """A logical plan for rules to decide on."""
    return Undecided(node, tuple(map(undecided, inputs_of(node))))


def walk(node: Physical) -> Iterator[Physical]:
    """The node and everything below it, top down."""
    yield node
    for child in node.inputs:
        yield from walk(child)


def each(plans: Plans) -> Iterator[Physical]:
    """The nodes of all plans, top down; what is shared comes once."""
    known: set[int] = set()
    for plan in plans:
        for node in walk(plan):
            if id(node) not in known:
                known.add(id(node))
                yield node


def rewrite(plans: Plans, change: Change) -> Plans:
    """The plans with nodes changed bottom up: `change` gets each node as it was, and over its new inputs.

    What was shared stays shared, and what is not changed stays the same object.
    """
    made: dict[int, Physical] = {}

    def made_of(node: Physical) -> Physical:
        if id(node) not in made:
            inputs = tuple(map(made_of, node.inputs))
            same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
            made[id(node)] = change(node, node if same else replace(node, inputs=inputs))
        return made[id(node)]

    return tuple(map(made_of, plans))
