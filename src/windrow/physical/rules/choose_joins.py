"""Rule: how the partners of each join's rows are found."""

from __future__ import annotations

from windrow.physical.how import How
from windrow.physical.join_choice import choose_join
from windrow.physical.nodes import (
    AsOfJoin,
    Handshake,
    IndexJoin,
    InOrderJoin,
    Physical,
    PhysicalJoin,
    Plans,
    ScanJoin,
    Undecided,
)
from windrow.physical.tree import rewrite
from windrow.plan import nodes as logical
from windrow.plan.nodes import JoinStrategy
from windrow.semantics.joins import AsOf

_KINDS: dict[JoinStrategy, type[PhysicalJoin]] = {
    JoinStrategy.INDEX: IndexJoin,
    JoinStrategy.SCAN: ScanJoin,
    JoinStrategy.OPIB: InOrderJoin,
}


def choose_joins(plans: Plans, how: How) -> Plans:
    """Choose the way of every join."""
    return rewrite(plans, lambda _, node: _chosen(node, how) if isinstance(node, Undecided) else node)


def _chosen(node: Physical, how: How) -> Physical:
    asked = node.asked
    if not isinstance(asked, logical.Join):
        return node
    choice = choose_join(asked)
    decided = asked, node.inputs, choice.reasons, choice.conditions
    if isinstance(asked.window, AsOf):
        return AsOfJoin(*decided)
    if choice.strategy is JoinStrategy.HANDSHAKE:
        looks_up = bool(choice.conditions.equalities or choice.conditions.bands)
        return Handshake(*decided, threads=how.threads, looks_up=looks_up)
    return _KINDS[choice.strategy](*decided, threads=how.threads)
