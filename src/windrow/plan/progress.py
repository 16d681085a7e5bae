"""Which column of a plan its progress is on."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import (
    LEFT,
    RIGHT,
    Filter,
    Join,
    JoinTime,
    Node,
    Project,
    Stream,
    Union,
    WindowAggregate,
)
from windrow.plan.tree import inputs_of
from windrow.semantics.expressions import Column


def carries_progress(node: Node, name: str) -> bool:
    """Whether a column of the node is its progressing attribute, under whichever name it goes there."""
    if isinstance(node, Stream):
        return name == node.time
    if isinstance(node, WindowAggregate):
        return name == "window_end"
    if isinstance(node, Union):
        return all(carries_progress(child, name) for child in node.inputs)
    if isinstance(node, Join):
        if node.time in (JoinTime.EARLIER, JoinTime.LATER):
            return bool(name == node.time.value)
        side = LEFT if node.time is JoinTime.LEFT else RIGHT
        below = node.names_of(side).get(name)
        return below is not None and carries_progress(inputs_of(node)[side], below)
    if isinstance(node, Project):
        source = dict(node.columns).get(name)
        return isinstance(source, Column) and carries_progress(node.input, source.name)
    return carries_progress(node.input, name)


def timed_by(node: Node, name: str) -> Node:
    """The plan with its progress on the column `name`, where that is another time of a join below; else as it is."""
    if isinstance(node, Filter):
        return replace(node, input=timed_by(node.input, name))
    if isinstance(node, Project):
        source = dict(node.columns).get(name)
        return replace(node, input=timed_by(node.input, source.name)) if isinstance(source, Column) else node
    if not isinstance(node, Join):
        return node
    times = {time.value: time for time in (JoinTime.EARLIER, JoinTime.LATER)}
    for side, time in ((LEFT, JoinTime.LEFT), (RIGHT, JoinTime.RIGHT)):
        times |= dict.fromkeys(names_of_time(node, side), time)
    return replace(node, time=times[name]) if name in times else node


def names_of_time(node: Join, side: int) -> list[str]:
    """What the time of a side is called among the joined columns."""
    child = node.left if side == LEFT else node.right
    return [name for name, source in node.names_of(side).items() if carries_progress(child, source)]
