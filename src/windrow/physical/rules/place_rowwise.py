"""Rule: streams, filters, projections, unions, DISTINCT and ordered output, which have one way of executing each."""

from __future__ import annotations

from functools import singledispatch

from windrow.physical.how import How
from windrow.physical.nodes import (
    DistinctRows,
    Meld,
    Physical,
    Plans,
    ProjectRows,
    Read,
    Select,
    Sort,
    Undecided,
    rewrite,
)
from windrow.plan import nodes as logical
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import walk
from windrow.semantics.progress.policies import Idle, Slack, lead_of
from windrow.semantics.scalars.amounts import Domain

READ_AHEAD = {Domain.TIME: 1_000_000, Domain.INTEGER: 1_000}
"""Units of the attribute: a second, or what may come to a batch of rows."""


def place_rowwise(plans: Plans, how: How) -> Plans:
    """Give every node that leaves nothing to choose its place."""
    return rewrite(plans, lambda _, node: _placed(node.asked, node) if isinstance(node, Undecided) else node)


@singledispatch
def _placed(asked: logical.Node, node: Physical) -> Physical:
    return node  # left to another rule


@_placed.register
def _(asked: logical.Stream, node: Physical) -> Physical:
    domain, policy, lead = shape_of(asked).domain, asked.policy, lead_of(asked.policy)
    return Read(
        asked,
        slack=policy.amount.resolve(domain, "slack") if isinstance(policy, Slack) else 0,
        lead=None if lead is None else lead.amount.resolve(domain, "lead"),
    )


@_placed.register
def _(asked: logical.Filter, node: Physical) -> Physical:
    return Select(asked, node.inputs)


@_placed.register
def _(asked: logical.Project, node: Physical) -> Physical:
    return ProjectRows(asked, node.inputs)


@_placed.register
def _(asked: logical.Union, node: Physical) -> Physical:
    domain = shape_of(asked).domain
    idles = [_idle_of(child) for child in asked.inputs]
    shared = (None if idle is None or idle.wall_clock else idle.amount.resolve(domain, "idle") for idle in idles)
    return Meld(asked, node.inputs, idle=tuple(shared), silence=tuple(map(silence_of, idles)))


@_placed.register
def _(asked: logical.Distinct, node: Physical) -> Physical:
    return DistinctRows(asked, node.inputs)


@_placed.register
def _(asked: logical.OrderedOutput, node: Physical) -> Physical:
    return Sort(asked, node.inputs, pace=_pace(asked))


def _pace(node: logical.OrderedOutput) -> int:
    """How far one source of a union may be read ahead where rows wait for each other: by its slack, or a little."""
    domain = shape_of(node).domain
    slacks = (part.policy for part in walk(node) if isinstance(part, logical.Stream) and isinstance(part.policy, Slack))
    return max([READ_AHEAD[domain], *(slack.amount.resolve(domain, "slack") for slack in slacks)])


def silence_of(idle: Idle | None) -> float | None:
    """After how many seconds of silence a stream no longer holds others back, where it goes by the clock."""
    return None if idle is None or not idle.wall_clock else idle.amount.resolve(Domain.TIME, "idle") / 1e6


def _idle_of(node: logical.Node) -> Idle | None:
    """The idle policy of the stream under a chain of single-input nodes."""
    while not isinstance(node, logical.Stream):
        if isinstance(node, (logical.Union, logical.Join)):
            return None
        node = node.input
    return node.idle
