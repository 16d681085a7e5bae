"""Rule: windows over the same rows put these into panes once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from math import gcd

from windrow.physical.division.join_routing import Divided, Exchange
from windrow.physical.how import How, When
from windrow.physical.nodes import PanedWindow, Physical, Plans, SharedPanes, SlidingWindow, each, rewrite
from windrow.physical.pane_cells import pane_of, why_not_shared
from windrow.plan.compression import Compression, CompressionMode
from windrow.plan.nodes import AggregateCall, WindowAggregate
from windrow.plan.rounding import kept_calls
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.windows.kinds import Landmark, Sliding

MOST_FINER = 16
"""Shared panes are at most so many times as many as those of the window that has the smallest: beyond that, rows are
hardly fewer than cells."""


def share_panes(plans: Plans, how: How) -> Plans:
    """Put shared panes between a node and the windows above it that can use the same, or have their cells sent once.

    Not where windows are smoothed, for those have cells of their own.
    """
    if how.flush.when is not When.EAGER:
        return plans
    return tuple(_sent_once(plans)) if how.divided else _read_once(plans, how)


def _read_once(plans: Plans, how: How) -> Plans:
    groups = _sharers(plans)
    made: dict[int, Physical] = {}

    def changed(old: Physical, node: Physical) -> Physical:
        if id(old) not in groups:
            return node
        assert isinstance(node, SlidingWindow)
        group = groups[id(old)]
        panes = made.setdefault(id(group), _panes_of(group, node.inputs, how.threads))
        return _paned(node, panes)

    return rewrite(plans, changed)


def _sent_once(plans: Plans) -> Iterator[Divided]:
    """The same for what is sent to shards: rows of one stream that are routed alike."""
    over: dict[Hashable, dict[WindowAggregate, list[Exchange]]] = {}
    divided = [plan for plan in plans if isinstance(plan, Divided)]
    for plan in divided:
        for place, one in _places(plan.exchanges):
            rows = place, one.stream, one.path, one.route, one.copies, plan.one_shard is None
            if one.merging is not None:
                over.setdefault(rows, {}).setdefault(one.merging, []).append(one)
    shared: dict[int, SharedPanes] = {}
    for users in over.values():
        for group in pane_groups(list(users)):
            panes = _panes_of(group)
            shared.update({id(one): panes for node in group for one in users[node]})
    for plan in divided:
        yield replace(plan, exchanges=tuple(replace(one, shared=shared.get(id(one))) for one in plan.exchanges))


def _places(exchanges: Sequence[Exchange]) -> Iterator[tuple[int, Exchange]]:
    """With how often the stream came before: a query that reads a stream twice does so twice."""
    before: Counter[str] = Counter()
    for one in exchanges:
        yield before[one.stream.name], one
        before[one.stream.name] += 1


def _panes_of(group: Sequence[WindowAggregate], inputs: Plans = (), threads: int = 1) -> SharedPanes:
    windows = tuple(windows_of(group))
    pane = shared_window(windows).range
    return SharedPanes(shared_node(group), inputs, pane=pane, windows=windows, threads=threads)


def _sharers(plans: Plans) -> dict[int, list[WindowAggregate]]:
    """By the id of a window node: the windows that it shares panes with, itself among them."""
    above: dict[int, dict[WindowAggregate, Physical]] = {}
    for node in each(plans):
        if isinstance(node, SlidingWindow):
            above.setdefault(id(node.inputs[0]), {})[node.asked] = node
    groups = [(group, users) for users in above.values() for group in pane_groups(list(users))]
    return {id(users[asked]): group for group, users in groups for asked in group}


def _paned(node: SlidingWindow, panes: Physical) -> PanedWindow:
    if isinstance(node, PanedWindow):
        return replace(node, inputs=(panes,))
    pane = pane_of(windows_of([node.asked])[0])
    reasons = ("it shares panes with other queries",)
    return PanedWindow(node.asked, (panes,), reasons, node.passes, node.within, node.early, node.threads, pane)


def pane_groups(nodes: Sequence[WindowAggregate]) -> list[list[WindowAggregate]]:
    """The window aggregates over one input that share panes, two or more a group."""
    groups: list[list[WindowAggregate]] = []
    for node in nodes:
        if why_not_shared(node) is None:
            fitting = next((group for group in groups if _fits(node, group)), None)
            if fitting is None:
                groups.append([node])
            else:
                fitting.append(node)
    return [group for group in groups if len(group) > 1]


def why_apart(node: WindowAggregate, windows: Sequence[WindowAggregate]) -> str:
    """Why a window aggregate shares panes with none of those over the same rows."""
    reason = why_not_shared(node)
    if reason is not None:
        return reason
    able = [other for other in windows if other is not node and why_not_shared(other) is None]
    if not able:
        return "no other window over the same rows could use them"
    if any(_keys_of(other) == _keys_of(node) and _is_too_fine([node, other]) for other in able):
        return "RANGE, SLIDE and ORIGIN have too little in common with those of the others"
    return "it groups by other keys"


def shared_node(nodes: Sequence[WindowAggregate]) -> WindowAggregate:
    """What these window aggregates over one input and with the same keys have in common: panes, and all they keep."""
    calls = dict.fromkeys(replace(call, name="") for node in nodes for call in kept_calls(node))
    named = tuple(AggregateCall(f"part_{i}", c.function, c.argument, c.parameters) for i, c in enumerate(calls))
    modes = [node.compression.mode for node in nodes]
    mode = modes[0] if len(set(modes)) == 1 else CompressionMode.AUTO
    window, held = shared_window(windows_of(nodes)), Compression(mode)
    return WindowAggregate(nodes[0].input, window, nodes[0].keys, named, compression=held)


def shared_window(windows: Sequence[Sliding | Landmark]) -> Sliding:
    """The tumbling window whose extents are the panes that these windows can share."""
    origin = windows[0].origin
    pane = gcd(*(pane_of(window) for window in windows), *(window.origin - origin for window in windows))
    return Sliding(windows[0].attribute, pane, pane, origin)


def windows_of(nodes: Sequence[WindowAggregate]) -> list[Sliding | Landmark]:
    return [node.window for node in nodes if isinstance(node.window, (Sliding, Landmark))]


def _fits(node: WindowAggregate, group: Sequence[WindowAggregate]) -> bool:
    """Whether a window aggregate goes with these: the same keys, and panes that are not much smaller."""
    return _keys_of(node) == _keys_of(group[0]) and not _is_too_fine([*group, node])


def _keys_of(node: WindowAggregate) -> list[Expression]:
    """What rows are grouped by, under whichever names."""
    return [expression for _, expression in node.keys]


def _is_too_fine(nodes: Sequence[WindowAggregate]) -> bool:
    windows = windows_of(nodes)
    return min(map(pane_of, windows)) > MOST_FINER * shared_window(windows).range
