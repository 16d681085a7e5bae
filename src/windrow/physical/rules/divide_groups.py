"""Rule: which operators run as several, each with some of the groups, on the threads of a process."""

from __future__ import annotations

from dataclasses import replace

from windrow.physical import nodes
from windrow.physical.how import How
from windrow.physical.pane_cells import why_not_partial
from windrow.physical.rules.divide import counts_rows, shared_keys
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.expressions import Expression
from windrow.semantics.windows.kinds import Emit

Route = tuple[Expression, ...]

MOST = 4
"""Threads that share the work of one operator: more of them wait for the interpreter longer than they work.

Joins are not divided: they take rows some ten thousands at a time, and look partners up on several threads as it is.
"""


def divide_groups(plans: nodes.Plans, how: How) -> nodes.Plans:
    """Divide the groups of every operator that can do without seeing all of them."""
    return plans if how.shards == 1 else tuple(_divided(plan, how, counted=False) for plan in plans)


def _divided(node: nodes.Physical, how: How, *, counted: bool) -> nodes.Physical:
    """`counted`: something above counts rows as they come, so that their order must stay."""
    below = counted or (isinstance(node, (nodes.Window, nodes.PhysicalJoin)) and counts_rows(node.asked))
    node = replace(node, inputs=tuple(_divided(child, how, counted=below) for child in node.inputs))
    routes = None if counted else _routes(node)
    if routes is None:
        return node
    one = replace(node, inputs=())
    if isinstance(one, nodes.SlidingWindow):
        one = replace(one, threads=1)
    panes = isinstance(node, nodes.PanedWindow) and why_not_partial(node.asked) is None
    if not any(routes) and not panes:
        return node
    shards, threads = min(how.shards, MOST) if any(routes) else 1, min(how.threads, MOST)
    reasons = ("groups are divided among threads",) if any(routes) else ("threads share the rows",)
    return nodes.DividedGroups(
        node.asked, node.inputs, reasons, each=one, routes=routes, panes=panes, shards=shards, threads=threads
    )


def _routes(node: nodes.Physical) -> tuple[Route, ...] | None:
    """What rows that must meet have in common; None where the operator must see all of them, or in their order."""
    if any(_promises_for_groups(below) for below in nodes.walk(node)):
        return None
    if isinstance(node, nodes.DistinctRows):
        return (tuple(key for _, key in shared_keys(node.asked)),)
    if not isinstance(node, nodes.Window) or isinstance(node, nodes.SmoothedWindow) or node.passes:
        return None
    asked, route = node.asked, tuple(key for _, key in shared_keys(node.asked))
    if counts_rows(asked):
        return (route,) if route else None
    return None if asked.emit is Emit.COMPLETE or asked.early is not None else (route,)


def _promises_for_groups(node: nodes.Physical) -> bool:
    policy = node.asked.policy if isinstance(node.asked, Stream) else None
    return isinstance(policy, External) and bool(policy.per)
