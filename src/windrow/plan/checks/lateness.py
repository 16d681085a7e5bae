"""Where late rows are lost without anybody having said that they may be."""

from __future__ import annotations

from windrow.plan.nodes import Distinct, Join, Late, Node, OrderedOutput, WindowAggregate
from windrow.plan.tree import walk


def loses_unasked(node: Node, plan: Node) -> bool:
    """Whether a node of a plan loses late rows by default: nobody chose a policy, or how long windows are corrected.

    DISTINCT and ordered output have no policy of their own; a query that says LATE DROP means them, too.
    """
    if isinstance(node, WindowAggregate) and node.late is Late.REVISE:
        return node.within is None
    if isinstance(node, (WindowAggregate, Join)):
        return node.late is Late.DROP and not node.late_chosen
    return isinstance(node, (Distinct, OrderedOutput)) and not _says_drop(plan)


def _says_drop(plan: Node) -> bool:
    asked = (node for node in walk(plan) if isinstance(node, (WindowAggregate, Join)))
    return any(node.late is Late.DROP and node.late_chosen for node in asked)
