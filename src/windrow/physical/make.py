"""From logical plans to physical ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from windrow.physical.division.join_routing import Divided
from windrow.physical.how import How
from windrow.physical.nodes import Answer, Plans, undecided
from windrow.physical.pane_cells import check_smooth
from windrow.physical.rules.choose_joins import choose_joins
from windrow.physical.rules.choose_windows import choose_windows
from windrow.physical.rules.divide import divide
from windrow.physical.rules.divide_groups import divide_groups
from windrow.physical.rules.pass_promises import pass_promises
from windrow.physical.rules.place_rowwise import place_rowwise
from windrow.physical.rules.share_panes import share_panes
from windrow.physical.rules.share_parts import share_parts
from windrow.plan.checks.nodes import check_supported, shape_of
from windrow.plan.nodes import Node

RULES: tuple[Callable[[Plans, How], Plans], ...] = (
    divide,
    place_rowwise,
    choose_windows,
    choose_joins,
    pass_promises,
    divide_groups,
    share_parts,
    share_panes,
)
"""Each takes plans and gives them with more decided."""


def make(plans: Sequence[Node], how: How = How()) -> Plans:  # noqa: B008 - frozen
    """Check plans and decide how they are executed, rule by rule; what several have in common is there once."""
    for plan in plans:
        shape_of(plan)
        check_supported(plan)
        check_smooth(plan, how.flush)
    made: Plans = tuple(Answer(plan, (undecided(plan),)) for plan in plans)
    for rule in RULES:
        made = rule(made, how)
    return made


def make_divided(plans: Sequence[Node], how: How = How()) -> tuple[Divided, ...]:  # noqa: B008 - frozen
    """The same, with the work of each query divided among shards."""
    made = make(plans, replace(how, divided=True))
    return tuple(plan for plan in made if isinstance(plan, Divided))
