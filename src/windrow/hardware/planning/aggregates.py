"""What a circuit accumulates for the aggregates of a query, and how their answers are read from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from windrow.errors import UnsupportedError
from windrow.hardware.design import CircuitPart, Field, Function
from windrow.hardware.planning.expressions import Lowering, width_of
from windrow.hardware.planning.options import MOST_BITS
from windrow.plan.nodes import AggregateCall
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Family, family_of
from windrow.semantics.scalars.expressions import Expression, columns_of

COUNT_BITS = 32
"""Rows of a window are counted in so many bits; sums are so much wider than what they add, up to 64."""
_PARTS = {
    "count": (Function.COUNT,),
    "sum": (Function.SUM,),
    "min": (Function.MIN,),
    "max": (Function.MAX,),
    "avg": (Function.SUM, Function.COUNT),
}


@dataclass(frozen=True)
class AnswerColumn:
    """A column of the answer: one part of the result as it is, or the first of two divided by the second."""

    name: str
    function: str
    parts: tuple[int, ...]
    kind: pa.DataType


def accumulate(
    calls: Sequence[AggregateCall], lowering: Lowering, fields: Mapping[str, Field], widths: Mapping[str, int]
) -> tuple[tuple[CircuitPart, ...], tuple[AnswerColumn, ...]]:
    """The parts that these aggregates need, each once, and where each finds its own."""
    parts: list[CircuitPart] = []
    columns: list[AnswerColumn] = []
    for call in calls:
        places = []
        for part in _parts_of(call, lowering, fields, widths):
            if part not in parts:
                parts.append(part)
            places.append(parts.index(part))
        columns.append(AnswerColumn(call.name, call.function, tuple(places), _kind(call, lowering.schema)))
    return tuple(parts), tuple(columns)


def _parts_of(
    call: AggregateCall, lowering: Lowering, fields: Mapping[str, Field], widths: Mapping[str, int]
) -> list[CircuitPart]:
    if call.function not in _PARTS:
        raise UnsupportedError(
            "must be count, sum, min, max or avg in hardware: a circuit keeps few numbers of a window, not its values",
            parameter="aggregates",
            value=str(call),
            hint="leave them to --engine local",
        )
    argument = None
    if call.argument is not None:
        if family_of(type_of(call.argument, lowering.schema)) is Family.STRING and call.function != "count":
            raise UnsupportedError(
                "of strings must be count in hardware, where strings are codes that have no order",
                parameter="aggregates",
                value=str(call),
                hint="count them, or group by them",
            )
        argument = lowering.lower(call.argument)
    return [_part(function, argument, fields, widths.get(call.name)) for function in _PARTS[call.function]]


def _part(
    function: Function, argument: Expression | None, fields: Mapping[str, Field], width: int | None
) -> CircuitPart:
    if function is Function.COUNT or argument is None:
        if argument is not None and not any(fields[name].nullable for name in columns_of(argument)):
            argument = None  # none of its values is NULL, so all rows are counted
        return CircuitPart(function, argument, COUNT_BITS if width is None else min(width, COUNT_BITS), signed=False)
    bits, signed = width_of(argument, fields)
    wanted = bits + COUNT_BITS if function is Function.SUM else bits
    most = MOST_BITS if signed or function is not Function.SUM else MOST_BITS - 1  # sums are signed in the answer
    return CircuitPart(function, argument, min(wanted, most) if width is None else width, signed)


def _kind(call: AggregateCall, schema: pa.Schema) -> pa.DataType:
    """The type of the answer, as the software has it."""
    from windrow.aggregates import lookup

    argument = None if call.argument is None else type_of(call.argument, schema)
    return lookup(call.function).result_type(argument, call.parameters)
