"""From logical plans to physical ones."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.physical.how import How
from windrow.physical.nodes import Answer, Physical, Plans, Undecided
from windrow.physical.pane_cells import check_smooth
from windrow.physical.rules import RULES
from windrow.plan.checks.nodes import check_supported, inputs_of, shape_of
from windrow.plan.nodes import Node


def make(plans: Sequence[Node], how: How = How()) -> Plans:  # noqa: B008 - frozen
    """Check plans and decide how they are executed, rule by rule; what several have in common is there once."""
    for plan in plans:
        shape_of(plan)
        check_supported(plan)
        check_smooth(plan, how.flush)
    made: Plans = tuple(Answer(plan, (_undecided(plan),)) for plan in plans)
    for rule in RULES:
        made = rule(made, how)
    return made


def _undecided(node: Node) -> Physical:
    return Undecided(node, tuple(map(_undecided, inputs_of(node))))
