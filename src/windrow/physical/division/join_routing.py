"""To which shards the rows of a join go.

By its equalities, so that values that are equal go to one shard, whatever their types are. Where there is none, some
rows go to several shards, so that each pair meets in one. A row has one home, the first of its shards: there it is
counted when it is late. Its other places hold copies. Which shards these are depends on the row alone, so that a task
that is run again sends the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from windrow.aggregates import UserAggregate
from windrow.physical.nodes import Answer, Physical, SharedPanes
from windrow.physical.rules.choose_joins import looked_up
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import BandCondition, Equality
from windrow.plan.nodes import Distinct, Join, Node, Stream, WindowAggregate
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import NUMBERS, Family, family_of
from windrow.semantics.joins import LEFT, RIGHT, AsOf, JoinKind
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal, substituted

WIDER = 8
"""A cell is so many times as wide as the band: of the copied side about one row in so many goes to two shards."""
FAR = 1 << 45
"""Cells further from zero than this are one: beyond it, numbers are too coarse to tell cells apart."""
_ALWAYS = {JoinKind.INNER: (LEFT, RIGHT), JoinKind.RIGHT: (RIGHT,), JoinKind.FULL: ()}


def routed_pairs(node: Join) -> list[tuple[Expression, Expression]]:
    """The equalities of a join that rows can be routed by, each over the columns of its sides' inputs."""
    pairs = [_alike(node, equality) for equality in looked_up(node).equalities]
    return [pair for pair in pairs if pair is not None]


def equal_to(node: Join, expression: Expression) -> tuple[Expression, Expression] | None:
    """The equality that an expression over the results of a join is a side of, as `routed_pairs` gives it.

    Where rows without a partner are given, the side that may be NULL says nothing of where a row lives. What the
    expression is cast to, for a join above, both sides are cast to.
    """
    wanted = None
    if isinstance(expression, Call) and expression.function == "cast":
        value, target = expression.arguments
        if isinstance(target, Literal):
            expression, wanted = value, str(target.value)
    for equality in looked_up(node).equalities:
        if any(expression == equality.of(side) for side in _ALWAYS.get(node.kind, (LEFT,))):
            return _alike(node, equality, wanted)
    return None


def over_input(node: Join, side: int, expression: Expression) -> Expression:
    """An expression over the names of a join in terms of the columns of one side's input."""
    return substituted(expression, {name: Column(source) for name, source in node.names_of(side).items()})


def _alike(node: Join, equality: Equality, wanted: str | None = None) -> tuple[Expression, Expression] | None:
    """Both sides in one type: the one that is wanted, if equal values are equal in it too."""
    left, right = (over_input(node, side, equality.of(side)) for side in (LEFT, RIGHT))
    kinds = type_of(left, shape_of(node.left).schema), type_of(right, shape_of(node.right).schema)
    families = {family_of(kind) for kind in kinds}
    target = None if _is_plain(*kinds) else _target(families)
    if not _is_plain(*kinds) and target is None:
        return None
    if wanted not in (None, target) and not (families == {Family.INTEGER} and wanted in _OF_WHOLE):
        return None
    target = wanted or target
    return (left, right) if target is None else (_cast(left, target), _cast(right, target))


_OF_WHOLE = ("bigint", "double", "string")
"""What any whole number can be cast to, equal ones to equal values."""


def _is_plain(left: pa.DataType, right: pa.DataType) -> bool:
    """Whether equal values are the same value: times are compared in microseconds, whatever their unit."""
    is_time = isinstance(left, (pa.TimestampType, pa.DurationType))
    return bool(left == right and not (is_time and getattr(left, "unit", "") != "us"))


def _target(families: set[Family]) -> str | None:
    """The type in which values of different types are compared; None where it has no name."""
    if families in ({Family.INTEGER}, {Family.TIMESTAMP}):
        return "bigint"
    if families <= NUMBERS:
        return "double"
    return "string" if families == {Family.STRING} else None


def _cast(expression: Expression, target: str) -> Expression:
    return Call("cast", (expression, Literal(target)))


@dataclass(frozen=True)
class BandCells:
    """Rows by the cell of a value; those of the copied side by all cells that the band around them reaches."""

    value: Expression
    width: float
    reach: tuple[float, float] | None
    """From where to where, around its own value, a row of the copied side finds values; None for the other side."""

    def describe(self) -> str:
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
        if self.divided is not None:
            return (count, 1) if self.divided == LEFT else (1, count)
        lines = math.isqrt(count)
        return lines, count // lines

    def describe(self) -> str:
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


Head: TypeAlias = WindowAggregate | Distinct | Join
"""The operators with state."""
Route: TypeAlias = tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Exchange(Physical):
    """One stream on its way to the shards; `asked` is the part without state that is done before it is sent."""

    stream: Stream
    path: tuple[Node, ...] = ()
    """The nodes above the stream that remember nothing, bottom up."""
    route: Route = ()
    """What a row is routed by, over the columns at the end of the path."""
    key_route: Route = ()
    """The same over the keys of `merging`."""
    head: Head | None = None
    """The operator with state that takes the rows next; None when a union with other state comes first."""
    merging: WindowAggregate | None = None
    """The head, where rows are aggregated into its panes before they are sent."""
    shared: SharedPanes | None = None
    """The panes whose cells are sent in place of its own: the same object for all that share them."""
    copies: Copies | None = None
    """Where rows go instead of one shard by the route."""


@dataclass(frozen=True)
class Divided(Physical):
    """The root of a query whose work is divided among shards; `asked` is its whole plan over pruned streams."""

    exchanges: tuple[Exchange, ...] = ()
    one_shard: str | None = None
    """Why what runs in the shards cannot be divided, when it cannot."""
    in_order: bool = False
    """Whether the order in which rows came matters: windows count them."""
    own: tuple[UserAggregate, ...] = field(default=(), compare=False, repr=False)
    """The user's own aggregates, which the workers do not know by name."""

    @property
    def high(self) -> Physical:
        """What each shard runs: the plan over streams of what is sent to it."""
        (answer,) = self.inputs
        assert isinstance(answer, Answer)
        return answer
