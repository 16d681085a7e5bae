"""The rules that decide how plans are executed, in their order: each takes plans and gives them with more decided."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from windrow.physical.how import How
from windrow.physical.nodes import Plans
from windrow.physical.rules.choose_joins import choose_joins
from windrow.physical.rules.choose_windows import choose_windows
from windrow.physical.rules.divide import divide
from windrow.physical.rules.divide_groups import divide_groups
from windrow.physical.rules.pass_promises import pass_promises
from windrow.physical.rules.place_rowwise import place_rowwise
from windrow.physical.rules.share_panes import share_panes
from windrow.physical.rules.share_parts import share_parts

Rule: TypeAlias = Callable[[Plans, How], Plans]

RULES: tuple[Rule, ...] = (
    divide,
    place_rowwise,
    choose_windows,
    choose_joins,
    pass_promises,
    divide_groups,
    share_parts,
    share_panes,
)
