"""Rule: streams, filters, projections, unions, DISTINCT and ordered output, which have one way of executing each."""

from __future__ import annotations

from windrow.physical import nodes
from windrow.physical.how import How
from windrow.plan import nodes as logical
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import walk
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import Idle, Slack, lead_of
from windrow.semantics.scalars.amounts import Domain

READ_AHEAD = {Domain.TIME: 1_000_000, Domain.INTEGER: 1_000}
"""Units of the attribute: a second, or what may come to a batch of rows."""


def place_rowwise(plans: nodes.Plans, how: How) -> nodes.Plans:
    """Give every node that leaves nothing to choose its place."""
    return nodes.rewrite(
        plans, lambda _, node: (_placed(node.asked, node.inputs) or node) if isinstance(node, nodes.Undecided) else node
    )


def _placed(asked: logical.Node, inputs: nodes.Plans) -> nodes.Physical | None:
    """None where there is a choice, which other rules make."""
    if isinstance(asked, logical.Stream):
        domain, policy, lead = shape_of(asked).domain, asked.policy, lead_of(asked.policy)
        slack = policy.amount.resolve(domain, "slack") if isinstance(policy, Slack) else 0
        idle = asked.idle if partitioned_by(policy) else None
        return nodes.Read(
            asked,
            slack=slack,
            lead=None if lead is None else lead.amount.resolve(domain, "lead"),
            idle=idle_of(idle, domain),
            silence=silence_of(idle),
        )
    if isinstance(asked, logical.Filter):
        return nodes.Select(asked, inputs)
    if isinstance(asked, logical.Project):
        return nodes.ProjectRows(asked, inputs)
    if isinstance(asked, logical.Union):
        domain, idles = shape_of(asked).domain, [_idle_of(child) for child in asked.inputs]
        shared = tuple(idle_of(idle, domain) for idle in idles)
        return nodes.Meld(asked, inputs, idle=shared, silence=tuple(map(silence_of, idles)))
    if isinstance(asked, logical.Distinct):
        return nodes.DistinctRows(asked, inputs)
    return nodes.Sort(asked, inputs, pace=_pace(asked)) if isinstance(asked, logical.OrderedOutput) else None


def _pace(node: logical.OrderedOutput) -> int:
    """How far one source of a union may be read ahead where rows wait for each other: by its slack, or a little."""
    domain = shape_of(node).domain
    slacks = (part.policy for part in walk(node) if isinstance(part, logical.Stream) and isinstance(part.policy, Slack))
    return max([READ_AHEAD[domain], *(slack.amount.resolve(domain, "slack") for slack in slacks)])


def idle_of(idle: Idle | None, domain: Domain) -> int | None:
    """How far a stream may hold others back, where it goes by stream time."""
    return None if idle is None or idle.wall_clock else idle.amount.resolve(domain, "idle")


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
