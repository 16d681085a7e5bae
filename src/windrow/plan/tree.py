"""Plans as trees: what a node reads from, everything below it, and the same node over other inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from windrow.plan.nodes import Join, Node, Stream, Union


def inputs_of(node: Node) -> tuple[Node, ...]:
    """The nodes a node reads from, in order."""
    if isinstance(node, Stream):
        return ()
    if isinstance(node, Join):
        return node.left, node.right
    return node.inputs if isinstance(node, Union) else (node.input,)


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node over changed inputs."""
    if isinstance(node, Stream):
        return node
    if isinstance(node, Join):
        return replace(node, left=change(node.left), right=change(node.right))
    if isinstance(node, Union):
        return replace(node, inputs=tuple(change(child) for child in node.inputs))
    return replace(node, input=change(node.input))


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it, top down."""
    yield node
    for child in inputs_of(node):
        yield from walk(child)
