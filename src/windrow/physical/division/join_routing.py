"""What two sides of a join are routed by, so that values that are equal go to one shard, whatever their types are."""

from __future__ import annotations

import pyarrow as pa

from windrow.physical.join_choice import looked_up
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import Equality
from windrow.plan.nodes import LEFT, RIGHT, Join, JoinKind
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import NUMBERS, Family, family_of
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

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
    expression, wanted = _uncast(expression)
    for equality in looked_up(node).equalities:
        if any(expression == equality.of(side) for side in _ALWAYS.get(node.kind, (LEFT,))):
            return _alike(node, equality, wanted)
    return None


def _uncast(expression: Expression) -> tuple[Expression, str | None]:
    """What is cast, and to which type."""
    if isinstance(expression, Call) and expression.function == "cast":
        value, target = expression.arguments
        if isinstance(target, Literal):
            return value, str(target.value)
    return expression, None


def over_input(node: Join, side: int, expression: Expression) -> Expression:
    """An expression over the names of a join in terms of the columns of one side's input."""
    if isinstance(expression, Column):
        return Column(node.names_of(side)[expression.name])
    if isinstance(expression, Call):
        return Call(expression.function, tuple(over_input(node, side, a) for a in expression.arguments))
    return expression


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
