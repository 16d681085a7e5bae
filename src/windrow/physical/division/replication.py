"""Where the rows of a join go that has no equality: some of them to several shards, so that each pair meets in one.

A row has one home, the first of its shards: there it is counted when it is late. Its other places hold copies. Which
shards these are depends on the row alone, so that a task that is run again sends the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

from windrow.physical.division.join_routing import over_input
from windrow.physical.join_choice import looked_up
from windrow.plan.conditions import BandCondition
from windrow.plan.nodes import LEFT, RIGHT, Join, JoinKind
from windrow.semantics.joins import AsOf
from windrow.semantics.scalars.expressions import Expression

WIDER = 8
"""A cell is so many times as wide as the band: of the copied side about one row in so many goes to two shards."""
FAR = 1 << 45
"""Cells further from zero than this are one: beyond it, numbers are too coarse to tell cells apart."""


@dataclass(frozen=True)
class BandCells:
    """Rows by the cell of a value; those of the copied side by all cells that the band around them reaches."""

    value: Expression
    width: float
    reach: tuple[float, float] | None
    """From where to where, around its own value, a row of the copied side finds values; None for the other side."""

    def describe(self) -> str:
        """Where rows go, in words."""
        if self.reach is None:
            return f"divided by cells of {self.value} that are {self.width:g} wide"
        return f"by the same cells of {self.value}, copied into those that the band around a row reaches"


@dataclass(frozen=True)
class Lanes:
    """Shards as a table: a left row goes to all shards of one line, a right row to all of one column.

    Where rows of one side are given without a partner, or have one partner only, that side is `divided` among all
    shards and the other one goes to each of them.
    """

    side: int
    divided: int | None

    def table(self, count: int) -> tuple[int, int]:
        """Lines and columns."""
        if self.divided is not None:
            return (count, 1) if self.divided == LEFT else (1, count)
        lines = math.isqrt(count)
        return lines, count // lines

    def describe(self) -> str:
        """Where rows go, in words."""
        if self.divided is None:
            part = "line" if self.side == LEFT else "column"
            return f"copied to one {part} of the shards as a table, for there is no equality or band to divide by"
        if self.side == self.divided:
            return "divided by a hash of its values, for there is no equality or band to divide by"
        return "copied to every shard"


Copies: TypeAlias = BandCells | Lanes


def copies_of(node: Join) -> tuple[Copies, Copies]:
    """How the rows of both sides of a join are divided that has no equality; not for a full join, nor by arrival."""
    divided = _divided(node)
    kept = LEFT if divided is None else divided
    band = next(filter(_is_fit, looked_up(node).bands), None)
    if band is None:
        return Lanes(LEFT, divided), Lanes(RIGHT, divided)
    left, right = (_cells(node, band, side, copied=side != kept) for side in (LEFT, RIGHT))
    return left, right


def _divided(node: Join) -> int | None:
    """The side whose rows must be in one place each; None when pairs are all that counts."""
    if node.kind is JoinKind.INNER and not isinstance(node.window, AsOf):
        return None
    return RIGHT if node.kind is JoinKind.RIGHT else LEFT


def _width(band: BandCondition) -> float:
    return WIDER * float(band.high - band.low) or 64.0


def _is_fit(band: BandCondition) -> bool:
    """Whether cells can be told apart at the distance of the band."""
    width = abs(_width(band))
    return math.isfinite(width) and max(abs(band.low), abs(band.high)) < FAR * width


def _cells(node: Join, band: BandCondition, side: int, *, copied: bool) -> BandCells:
    reach = (float(band.low), float(band.high)) if band.around == side else (-float(band.high), -float(band.low))
    return BandCells(over_input(node, side, band.of(side)), abs(_width(band)), reach if copied else None)
