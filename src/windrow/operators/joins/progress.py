"""What a join promises of its results."""

from __future__ import annotations

from windrow.plan.nodes import JoinTime
from windrow.semantics.joins import LEFT, RIGHT, JoinKind


def promise(time: JoinTime, kind: JoinKind, bounds: tuple[int, int], least: tuple[int, int]) -> int:
    """The least time of a result to come.

    `bounds` are the promises of the two sides, `least` the smallest time of each side that a result to come can have.
    """
    if time is JoinTime.LEFT:
        return least[LEFT]
    if time is JoinTime.RIGHT:
        return least[RIGHT]
    if time is JoinTime.EARLIER:
        return min(least)
    # One of the two rows of a pair to come is yet to come itself. A row without a partner has its own time only.
    pairs = max(min(bounds), *least)
    return min([pairs, *(least[side] for side in kind.outer_sides)])
