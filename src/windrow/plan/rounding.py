"""The aggregates of a window over columns as they are kept: those with a bound are rounded first."""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, WindowAggregate
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

_USUAL = ("int64", "double")


def kept_calls(node: WindowAggregate) -> tuple[AggregateCall, ...]:
    """The aggregates of a node, with what is computed of a column before any of it is kept.

    Rounding is part of the argument, so that two queries share state where their bounds are equal, and only there.
    """
    if not node.compression.within:
        return node.aggregates
    schema = shape_of(node.input).schema
    kept: dict[Expression, Expression] = {}
    for name, bound in node.compression.within:
        kind = str(type_of(Column(name), schema))
        narrow = () if kind in _USUAL else (Literal(kind),)
        kept[Column(name)] = Call("within", (Column(name), Literal(bound), *narrow))
    return tuple(
        call if call.argument is None else replace(call, argument=kept.get(call.argument, call.argument))
        for call in node.aggregates
    )
