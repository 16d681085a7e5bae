"""Which column of a plan its progress is on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from windrow.errors import QueryError
from windrow.plan import nodes
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, Session


def carries_progress(node: nodes.Node, name: str) -> bool:
    """Whether a column of the node is its progressing attribute, under whichever name it goes there."""
    if isinstance(node, nodes.Stream):
        return name == node.time
    if isinstance(node, nodes.WindowAggregate):
        return bool(name == node.time.value)
    if isinstance(node, nodes.Union):
        return all(carries_progress(child, name) for child in node.inputs)
    if isinstance(node, nodes.Join):
        if node.time in (nodes.JoinTime.EARLIER, nodes.JoinTime.LATER):
            return bool(name == node.time.value)
        side = LEFT if node.time is nodes.JoinTime.LEFT else RIGHT
        below = node.names_of(side).get(name)
        return below is not None and carries_progress(nodes.inputs_of(node)[side], below)
    if isinstance(node, nodes.Project):
        source = dict(node.columns).get(name)
        return isinstance(source, Column) and carries_progress(node.input, source.name)
    return carries_progress(node.input, name)


def check_order(node: nodes.Node, time: str | None, order: str, written: str | None = None) -> None:
    """Refuse to count rows in an order that is not that of progress; `written` is what the query calls it."""
    if time is None or not carries_progress(node, order):
        raise QueryError(
            f"must be the progressing attribute, which is {time or 'not among the columns'}",
            parameter="order_by",
            value=written or order,
            hint="rows wait for its punctuations; leave it out to count rows as they arrive",
        )


def timed_by(node: nodes.Node, name: str) -> nodes.Node:
    """The plan with its progress on the column `name`, where that is another time of a join or window below.

    Else as it is.
    """
    if isinstance(node, (nodes.Filter, nodes.Distinct)):
        return replace(node, input=timed_by(node.input, name))
    if isinstance(node, nodes.Union):
        timed = tuple(timed_by(child, name) for child in node.inputs)
        return nodes.Union(timed) if all(carries_progress(child, name) for child in timed) else node
    if isinstance(node, nodes.WindowAggregate):
        return _window_timed_by(node, name)
    if isinstance(node, nodes.Project):
        source = dict(node.columns).get(name)
        return replace(node, input=timed_by(node.input, source.name)) if isinstance(source, Column) else node
    if not isinstance(node, nodes.Join):
        return node
    times = {time.value: time for time in (nodes.JoinTime.EARLIER, nodes.JoinTime.LATER)}
    for side, time in ((LEFT, nodes.JoinTime.LEFT), (RIGHT, nodes.JoinTime.RIGHT)):
        times |= dict.fromkeys(names_of_time(node, side), time)
    return replace(node, time=times[name]) if name in times else node


def _window_timed_by(node: nodes.WindowAggregate, name: str) -> nodes.WindowAggregate:
    bounds = {time.value: time for time in nodes.WindowTime}
    possible = name in bounds and not (bounds[name] is nodes.WindowTime.START and why_no_start(node))
    return replace(node, time=bounds[name]) if possible else node


def why_no_start(node: nodes.WindowAggregate) -> str | None:
    """Why results of a window have no progress by where they start; None when they have."""
    if isinstance(node.window, Landmark):
        return "windows of RANGE UNBOUNDED have no start"
    if isinstance(node.window, Session):
        return "a session that is still open may have begun at any time"
    return None


def times_hint(node: nodes.Node, columns: Sequence[str], written: str = "WATTR {}") -> str:
    """Which columns a window over a plan may be on, and what the difference is where there are two."""
    times = [name for name in columns if carries_progress(timed_by(node, name), name)]
    bounds = {time: name for name in reversed(times) if (time := _bound(node, name)) is not None}
    if len(bounds) == len(nodes.WindowTime):
        return _BOTH.format(*(written.format(bounds[time]) for time in nodes.WindowTime))
    usual = f"write {written.format(times[0])}" if times else KEEP_TIME
    reasons = [why for part in _windows_below(node) if (why := why_no_start(part)) is not None]
    return f"{usual}; {reasons[0]}" if reasons else usual


_BOTH = (
    "write {}, by which a result counts in the window that it begins in, or {}, by which one that ends where a window "
    "ends counts in the next"
)
KEEP_TIME = "keep the time column (or window_start or window_end) in the inner SELECT, unchanged"


def _bound(node: nodes.Node, name: str) -> nodes.WindowTime | None:
    """Which bound of the windows below a column is."""
    times = {part.time for part in _windows_below(timed_by(node, name))}
    return times.pop() if len(times) == 1 else None


def _windows_below(node: nodes.Node) -> list[nodes.WindowAggregate]:
    """The windows whose results a plan gives, filtered or renamed."""
    if isinstance(node, nodes.WindowAggregate):
        return [node]
    if isinstance(node, (nodes.Stream, nodes.Join)):
        return []
    return [part for child in nodes.inputs_of(node) for part in _windows_below(child)]


def names_of_time(node: nodes.Join, side: int) -> list[str]:
    """What the time of a side is called among the joined columns."""
    child = node.left if side == LEFT else node.right
    return [name for name, source in node.names_of(side).items() if carries_progress(child, source)]
