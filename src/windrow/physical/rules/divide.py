"""Rule: what runs beside the rows, what runs in the shards, and which shard a row goes to.

Everything below the first operator with state is done where the rows are read (the low level). The rest of the plan
runs in shards (the high level), each with the groups that belong to it. All operators with state must agree on where
a group lives, so a row is routed by the keys that every one of them groups by, or joins by equality; where there are
none, one shard does the work of the high level. Of a join that has no equality and no other state above or below it,
rows go to several shards (`division/join_routing.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from windrow.aggregates import UserAggregate, lookup
from windrow.physical.division.join_routing import Copies, Divided, Exchange, Head, copies_of, equal_to, routed_pairs
from windrow.physical.how import How
from windrow.physical.nodes import Answer, Plans, undecided
from windrow.physical.pane_cells import why_not_partial
from windrow.plan.checks.nodes import shape_of
from windrow.plan.columns import prune_together
from windrow.plan.nodes import (
    Distinct,
    Filter,
    Join,
    Node,
    OrderedOutput,
    Project,
    Stream,
    Union,
    WindowAggregate,
    inputs_of,
    map_inputs,
    renamed_columns,
    walk,
)
from windrow.plan.types.expressions import type_of
from windrow.semantics.joins import JoinKind, LastRows
from windrow.semantics.progress.policies import External, lead_of
from windrow.semantics.scalars.expressions import Column, Expression, columns_of, substituted
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, SlideByTuple

_Lowered: TypeAlias = tuple[Node, Expression, Expression]
"""A part without state, an expression over its columns, and the same over the keys of the window above it."""


def divide(plans: Plans, how: How) -> Plans:
    """Divide each plan between two levels, where that is asked for; streams have all columns that one plan reads."""
    return tuple(map(_divided, prune_together([plan.asked for plan in plans]))) if how.divided else plans


def _divided(plan: Node) -> Divided:
    if is_stateless(plan):
        streams = (node for node in walk(plan) if isinstance(node, Stream))
        exchanges = tuple(_exchange(stream, (), [], None) for stream in streams)
        return Divided(plan, _high(_promising(plan)), (), exchanges, "nothing in the query has groups")
    found = {part: route for head in _topmost(plan) for part, route in _routes_below(head).items()}
    copied = _copied(plan)
    tops = list(_tops(plan, None))
    why = _why_one(plan, all(found.get(id(top)) or id(top) in copied for top, _ in tops))
    if why:
        found, copied = {}, {}
    exchanges = tuple(
        _exchange(stream, path, found.get(id(top), []), head, copied.get(id(top)))
        for top, head in tops
        for stream, path in _paths(top)
    )
    return Divided(plan, _high(_sent(plan)), (), exchanges, why, any(map(counts_rows, walk(plan))), _own(plan))


def _high(plan: Node) -> Plans:
    return (Answer(plan, (undecided(plan),)),)


def counts_rows(node: Node) -> bool:
    """Whether it matters in which order rows come."""
    if isinstance(node, Join):
        return isinstance(node.window, LastRows)
    return isinstance(node, WindowAggregate) and isinstance(node.window, (RowsWindow, SlideByTuple))


def _own(plan: Node) -> tuple[UserAggregate, ...]:
    calls = (call for node in walk(plan) if isinstance(node, WindowAggregate) for call in node.aggregates)
    used = {call.function: lookup(call.function) for call in calls}
    return tuple(aggregate for aggregate in used.values() if isinstance(aggregate, UserAggregate))


def is_stateless(node: Node) -> bool:
    return not any(isinstance(below, (WindowAggregate, Distinct, Join)) for below in walk(node))


def _tops(node: Node, head: Head | None) -> Iterator[tuple[Node, Head | None]]:
    """The largest parts that remember nothing, each with the operator that takes its rows, if that is the next one."""
    if is_stateless(node):
        yield node, head
        return
    for child in inputs_of(node):
        yield from _tops(child, node if isinstance(node, (WindowAggregate, Distinct, Join)) else None)


def _paths(top: Node) -> Iterator[tuple[Stream, tuple[Node, ...]]]:
    """Every stream of a part without state, with the nodes from it up to the top."""
    if isinstance(top, Stream):
        yield top, ()
        return
    for child in inputs_of(top):
        for stream, path in _paths(child):
            yield stream, (*path, top)


def _exchange(
    stream: Stream, path: tuple[Node, ...], lowered: list[_Lowered], head: Head | None, copies: Copies | None = None
) -> Exchange:
    merging, reason = None, "its rows are sent"
    if isinstance(head, WindowAggregate):
        why = why_not_partial(head) or _why_not_by_tasks(stream)
        merging = head if why is None else None
        reason = "rows are aggregated into panes before they are sent" if why is None else f"its rows are sent: {why}"
    return Exchange(
        asked=path[-1] if path else stream,
        reasons=(reason,),
        stream=stream,
        path=path,
        route=tuple(low[1] for low in lowered),
        key_route=tuple(low[2] for low in lowered),
        head=head,
        merging=merging,
        copies=copies,
    )


def _why_not_by_tasks(stream: Stream) -> str | None:
    """Why rows cannot be put into panes where they are read: which of them are early no task knows alone."""
    lead = lead_of(stream.policy)
    return None if lead is None or lead.wall_clock else "LEAD judges a row by all rows of its micro-batch"


def _sent(node: Node) -> Node:
    """The plan with every part without state replaced by streams that carry its columns."""
    return _skeleton(node, node, ()) if is_stateless(node) else map_inputs(node, _sent)


def _promising(node: Node) -> Node:
    """The same plan over streams whose promises come with the rows, not from a policy."""
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
    heads = [node for node in walk(plan) if isinstance(node, (WindowAggregate, Distinct, Join))]
    windows = [node for node in heads if isinstance(node, WindowAggregate)]
    if any(window.emit is Emit.COMPLETE and not isinstance(window.window, RowsWindow) for window in windows):
        return "EMIT COMPLETE looks at the first row of all groups"
    if any(isinstance(window.window, (RowsWindow, SlideByTuple)) and not window.window.partition for window in windows):
        return "rows of all groups are counted together"
    if any(isinstance(node, Join) and isinstance(node.window, LastRows) for node in heads):
        return "windows of rows of a join count the rows of all keys together"
    if isinstance(plan, OrderedOutput) and any(window.emit is Emit.EMPTY for window in windows):
        return "ORDERED OUTPUT with EMIT EMPTY waits for the slowest of all groups"
    if len(heads) > 1 and any(isinstance(window.window, Landmark) for window in windows):
        return "landmark windows in a nested query look at the last row of all groups"
    if routed:
        return None
    if heads and all(isinstance(node, Join) and node.kind is JoinKind.FULL for node in heads):
        return "of a full join without an equality, rows of both sides must be in one place each"
    keyed = any(not isinstance(node, WindowAggregate) or node.keys for node in heads)
    return "no key is common to all operators with state" if keyed else "there are no groups"


def _copied(plan: Node) -> dict[int, Copies]:
    """By part (its id): how rows go to several shards for a join that has neither an equality nor other state near."""
    copied: dict[int, Copies] = {}
    for head in _topmost(plan):
        alone = isinstance(head, Join) and is_stateless(head.left) and is_stateless(head.right)
        if alone and isinstance(head, Join) and head.kind is not JoinKind.FULL and not routed_pairs(head):
            copied |= {id(side): how for side, how in zip(inputs_of(head), copies_of(head), strict=True)}
    return copied


def _routes_below(head: Head) -> dict[int, list[_Lowered]]:
    """By part (its id): what all operators with state above it group by.

    Keys that some operator below does not have are left out: groups of what remains still live in one shard.
    """
    routes: dict[int, list[_Lowered]] = {}
    for lowered in _keys_below(head):
        if lowered is not None and len({type_of(low[1], shape_of(low[0]).schema) for low in lowered}) == 1:
            for low in lowered:
                routes.setdefault(id(low[0]), []).append(low)
    return routes


def _keys_below(head: Head) -> Iterator[list[_Lowered] | None]:
    """What rows that belong together have in common, each in terms of the parts below."""
    if isinstance(head, Join):
        yield from (_on_both_sides(head, pair) for pair in routed_pairs(head))
    else:
        yield from (_lowered(expression, Column(name), head.input) for name, expression in shared_keys(head))


def _on_both_sides(node: Join, pair: tuple[Expression, Expression]) -> list[_Lowered] | None:
    """The two sides of an equality in terms of the parts below them."""
    return _all_lowered([_lowered(side, side, child) for side, child in zip(pair, inputs_of(node), strict=True)])


def _all_lowered(lowered: list[list[_Lowered] | None]) -> list[_Lowered] | None:
    found = [low for part in lowered if part is not None for low in part]
    return None if any(part is None for part in lowered) else found


def shared_keys(head: WindowAggregate | Distinct) -> list[tuple[str, Expression]]:
    """What rows that belong together have in common: rows of one partition are counted together."""
    if isinstance(head, Distinct):
        return [(name, Column(name)) for name in shape_of(head).schema.names]
    if not isinstance(head.window, (RowsWindow, SlideByTuple)):
        return list(head.keys)
    return [(name, e) for name, e in head.keys if isinstance(e, Column) and e.name in head.window.partition]


def _topmost(plan: Node) -> Iterator[Head]:
    """The topmost operators with state, left to right; several when a union joins them at the top."""
    if isinstance(plan, (WindowAggregate, Distinct, Join)):
        yield plan
    else:
        for child in inputs_of(plan):
            yield from _topmost(child)


def _lowered(expression: Expression, above: Expression, node: Node) -> list[_Lowered] | None:
    """An expression over a node's columns in terms of the parts below it; None where a window lost what it needs."""
    if is_stateless(node):
        return [(node, expression, above)]
    if isinstance(node, Project):
        return _lowered(substituted(expression, dict(node.columns)), above, node.input)
    if isinstance(node, (Filter, Distinct)):
        return _lowered(expression, above, node.input)
    if isinstance(node, WindowAggregate):
        keys = dict(node.keys)
        known = all(name in keys for name in columns_of(expression))
        return _lowered(substituted(expression, keys), expression, node.input) if known else None
    if isinstance(node, Join):
        pair = equal_to(node, expression)
        return None if pair is None else _on_both_sides(node, pair)
    assert isinstance(node, Union)
    return _all_lowered([_lowered(expression, above, child) for child in node.inputs])
