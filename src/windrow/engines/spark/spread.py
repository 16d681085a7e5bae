"""How a plan is spread over Spark: what runs beside the rows, what runs in the shards, and which shard a row goes to.

Everything below the first operator with state is done where the rows are read (the low level). The rest of the plan
runs in shards (the high level), each with the groups that belong to it. All operators with state must agree on where
a group lives, so a row is routed by the keys that every one of them groups by; where there are none, one shard does
the work of the high level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from windrow.aggregates import UserAggregate, lookup
from windrow.operators.partials import why_not_partial
from windrow.operators.project import renamed_columns
from windrow.plan.check import check_supported, inputs_of, map_inputs, shape_of, walk
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Distinct, Filter, Join, Node, OrderedOutput, Project, Stream, Union, WindowAggregate
from windrow.plan.types import type_of
from windrow.semantics.expressions import Call, Column, Expression, columns_of
from windrow.semantics.progress import External
from windrow.semantics.windows import Emit, Landmark, Rows, SlideByTuple

Head: TypeAlias = WindowAggregate | Distinct
Route: TypeAlias = tuple[Expression, ...]
_Lowered: TypeAlias = tuple[Node, Expression, Expression]
"""A part without state, an expression over its columns, and the same over the keys of the window above it."""


@dataclass(frozen=True)
class Branch:
    """One stream on its way to the shards."""

    stream: Stream
    path: tuple[Node, ...]
    """The nodes above the stream that remember nothing, bottom up."""
    route: Route
    """What a row is routed by, over the columns at the end of the path."""
    key_route: Route
    """The same over the keys of `merging`."""
    head: Head | None
    """The operator with state that takes the rows next; None when a union with other state comes first."""
    merging: WindowAggregate | None
    """The head, where it takes pane partials instead of rows."""
    reason: str
    """Why rows or partials are sent."""

    @property
    def top(self) -> Node:
        return self.path[-1] if self.path else self.stream


@dataclass(frozen=True)
class Spread:
    """A plan in two levels: `high` is the plan over streams of what the low level sends."""

    plan: Node
    branches: tuple[Branch, ...]
    high: Node
    one_shard: str | None
    """Why the high level cannot be divided, when it cannot."""
    in_order: bool = False
    """Whether the order in which rows came says something: windows count them."""
    own: tuple[UserAggregate, ...] = field(default=(), compare=False)
    """The user's own aggregates, which the workers do not know by name."""


def spread(plan: Node) -> Spread:
    """Check a plan and divide it between the two levels."""
    return spread_together([plan])[0]


def spread_together(plans: Sequence[Node]) -> list[Spread]:
    """The same for several plans, whose streams have all columns that one of them reads."""
    for plan in plans:
        check_supported(plan)
    return [_spread(plan) for plan in prune_together(plans)]


def _spread(plan: Node) -> Spread:
    if is_stateless(plan):
        streams = (node for node in walk(plan) if isinstance(node, Stream))
        branches = tuple(_branch(stream, (), [], None) for stream in streams)
        return Spread(plan, branches, _promising(plan), "nothing in the query has groups")
    found = _routes(plan)
    tops = list(_tops(plan, None))
    why = _why_one(plan, all(found.get(id(top)) for top, _ in tops))
    branches = tuple(
        _branch(stream, path, [] if why else found[id(top)], head) for top, head in tops for stream, path in _paths(top)
    )
    return Spread(plan, branches, _high(plan), why, any(map(_counts_rows, walk(plan))), _own(plan))


def _counts_rows(node: Node) -> bool:
    return isinstance(node, WindowAggregate) and isinstance(node.window, (Rows, SlideByTuple))


def _own(plan: Node) -> tuple[UserAggregate, ...]:
    calls = (call for node in walk(plan) if isinstance(node, WindowAggregate) for call in node.aggregates)
    used = {call.function: lookup(call.function) for call in calls}
    return tuple(aggregate for aggregate in used.values() if isinstance(aggregate, UserAggregate))


def is_stateless(node: Node) -> bool:
    return not any(isinstance(below, (WindowAggregate, Distinct)) for below in walk(node))


def _tops(node: Node, head: Head | None) -> Iterator[tuple[Node, Head | None]]:
    """The largest parts that remember nothing, each with the operator that takes its rows, if that is the next one."""
    if is_stateless(node):
        yield node, head
        return
    for child in inputs_of(node):
        yield from _tops(child, node if isinstance(node, (WindowAggregate, Distinct)) else None)


def _paths(top: Node) -> Iterator[tuple[Stream, tuple[Node, ...]]]:
    """Every stream of a part without state, with the nodes from it up to the top."""
    if isinstance(top, Stream):
        yield top, ()
        return
    for child in inputs_of(top):
        for stream, path in _paths(child):
            yield stream, (*path, top)


def _branch(stream: Stream, path: tuple[Node, ...], lowered: list[_Lowered], head: Head | None) -> Branch:
    merging, reason = None, "its rows are sent"
    if isinstance(head, WindowAggregate):
        why = why_not_partial(head)
        merging = head if why is None else None
        reason = "rows are aggregated into panes before they are sent" if why is None else f"its rows are sent: {why}"
    routes = tuple(low[1] for low in lowered), tuple(low[2] for low in lowered)
    return Branch(stream, path, *routes, head, merging, reason)


def _high(node: Node) -> Node:
    """The plan with every part without state replaced by streams that carry its columns."""
    return _skeleton(node, node, ()) if is_stateless(node) else map_inputs(node, _high)


def _promising(node: Node) -> Node:
    """The same plan over streams whose promises are told, not derived."""
    if isinstance(node, Stream):
        return replace(node, policy=External())
    return map_inputs(node, _promising)


def _skeleton(node: Node, top: Node, above: tuple[Project, ...]) -> Node:
    """The unions of a part, which decide its progress, over streams of what the low level gives.

    `above` are the projections between the node and the top, top down.
    """
    if isinstance(node, Stream):
        shape = shape_of(top)
        assert shape.time is not None
        return replace(node, schema=shape.schema, time=shape.time, policy=External(per=_per(node, above)))
    if isinstance(node, Union):
        return replace(node, inputs=tuple(_skeleton(child, top, above) for child in node.inputs))
    assert not isinstance(node, Join)
    return _skeleton(node.input, top, (*above, node) if isinstance(node, Project) else above)


def _per(stream: Stream, above: tuple[Project, ...]) -> tuple[str, ...]:
    """What the columns that name a group are called above projections; none when one of them is not kept."""
    names = stream.policy.per if isinstance(stream.policy, External) else ()
    for project in reversed(above):
        renamed = renamed_columns(project.columns)
        if not all(name in renamed for name in names):
            return ()
        names = tuple(renamed[name] for name in names)
    return names


def _why_one(plan: Node, routed: bool) -> str | None:
    heads = [node for node in walk(plan) if isinstance(node, (WindowAggregate, Distinct))]
    windows = [node for node in heads if isinstance(node, WindowAggregate)]
    if any(window.emit is Emit.COMPLETE and not isinstance(window.window, Rows) for window in windows):
        return "EMIT COMPLETE looks at the first row of all groups"
    if any(isinstance(window.window, (Rows, SlideByTuple)) and not window.window.partition for window in windows):
        return "rows of all groups are counted together"
    if isinstance(plan, OrderedOutput) and any(window.emit is Emit.EMPTY for window in windows):
        return "ORDERED OUTPUT with EMIT EMPTY waits for the slowest of all groups"
    if len(heads) > 1 and any(isinstance(window.window, Landmark) for window in windows):
        return "landmark windows in a nested query look at the last row of all groups"
    if routed:
        return None
    keyed = any(isinstance(node, Distinct) or node.keys for node in heads)
    return "no key is common to all operators with state" if keyed else "there are no groups"


def _routes(plan: Node) -> dict[int, list[_Lowered]]:
    """By part (its id): what all operators with state above it group by."""
    return {part: route for head in _topmost(plan) for part, route in _routes_below(head).items()}


def _routes_below(head: Head) -> dict[int, list[_Lowered]]:
    """Keys that some operator below does not have are left out: groups of what remains still live in one shard."""
    routes: dict[int, list[_Lowered]] = {}
    for name, expression in _keys(head):
        lowered = _lowered(expression, Column(name), head.input)
        if lowered is not None and len({type_of(low[1], shape_of(low[0]).schema) for low in lowered}) == 1:
            for low in lowered:
                routes.setdefault(id(low[0]), []).append(low)
    return routes


def _keys(head: Head) -> list[tuple[str, Expression]]:
    """What rows that belong together have in common: rows of one partition are counted together."""
    if isinstance(head, Distinct):
        return [(name, Column(name)) for name in shape_of(head).schema.names]
    if not isinstance(head.window, (Rows, SlideByTuple)):
        return list(head.keys)
    return [(name, e) for name, e in head.keys if isinstance(e, Column) and e.name in head.window.partition]


def _topmost(plan: Node) -> Iterator[Head]:
    """The topmost operators with state, left to right; several when a union joins them at the top."""
    if isinstance(plan, (WindowAggregate, Distinct)):
        yield plan
    else:
        for child in inputs_of(plan):
            yield from _topmost(child)


def _lowered(expression: Expression, above: Expression, node: Node) -> list[_Lowered] | None:
    """An expression over a node's columns in terms of the parts below it; None where a window lost what it needs."""
    if is_stateless(node):
        return [(node, expression, above)]
    if isinstance(node, Project):
        return _lowered(_substituted(expression, dict(node.columns)), above, node.input)
    if isinstance(node, (Filter, Distinct)):
        return _lowered(expression, above, node.input)
    if isinstance(node, WindowAggregate):
        keys = dict(node.keys)
        known = all(name in keys for name in columns_of(expression))
        return _lowered(_substituted(expression, keys), expression, node.input) if known else None
    assert isinstance(node, Union)
    lowered = [_lowered(expression, above, child) for child in node.inputs]
    if any(found is None for found in lowered):
        return None
    return [low for found in lowered if found is not None for low in found]


def _substituted(expression: Expression, columns: dict[str, Expression]) -> Expression:
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Call):
        return replace(expression, arguments=tuple(_substituted(a, columns) for a in expression.arguments))
    return expression
