"""Expressions over columns become expressions over fields: whole numbers, truth values and NULL, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import pyarrow as pa

from windrow.errors import UnsupportedError
from windrow.hardware.design import Field
from windrow.hardware.planning.columns import CircuitColumn
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Family, family_of, parse_timestamp
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.scalars.moments import microseconds

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_TRUTH = (*COMPARISONS, "and", "or", "not", "is_null", "in")
_NUMBERS = ("+", "-", "*", "neg")
_EPOCH = date(1970, 1, 1)


def substituted(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """The expression with columns replaced by what they are computed from."""
    if isinstance(expression, Column):
        return columns.get(expression.name, expression)
    if isinstance(expression, Literal):
        return expression
    return Call(expression.function, tuple(substituted(one, columns) for one in expression.arguments))


class Lowering:
    """Expressions of a query over these columns, with constants as the columns have them: codes, microseconds, days."""

    def __init__(self, columns: Mapping[str, CircuitColumn]) -> None:
        self.columns = columns
        self.schema = pa.schema([(name, column.kind) for name, column in columns.items()])

    def lower(self, expression: Expression) -> Expression:
        """The same in whole numbers, or the reason why not."""
        if isinstance(expression, Column):
            return expression
        if isinstance(expression, Literal):
            return Literal(self._constant(expression.value, None))
        function = expression.function
        if function == "cast" and self._is_whole(expression.arguments[0]) and expression.arguments[1].value == "bigint":  # type: ignore[union-attr]
            return self.lower(expression.arguments[0])
        if function not in (*_TRUTH, *_NUMBERS):
            raise UnsupportedError(
                "is not available in hardware, which has + - *, comparisons, IN, IS NULL, AND, OR and NOT",
                parameter=function,
                value=str(expression),
                hint="compute it into a column before the stream reaches the circuit",
            )
        if function in COMPARISONS or function == "in":
            return self._comparison(expression)
        return Call(function, tuple(map(self.lower, expression.arguments)))

    def _is_whole(self, expression: Expression) -> bool:
        return family_of(type_of(expression, self.schema)) is Family.INTEGER

    def _comparison(self, call: Call) -> Expression:
        """Constants are read as the values that they are compared with."""
        families = [family_of(type_of(one, self.schema)) for one in call.arguments]
        others = [one for one in call.arguments if not isinstance(one, Literal)]
        column = next((self.columns[one.name] for one in others if isinstance(one, Column)), None)
        if Family.STRING in families and not (column is not None and column.dictionary is None):
            return self._of_strings(call, others, column)
        kind = next((family_of(type_of(one, self.schema)) for one in others), None)
        return Call(call.function, tuple(self._beside(one, kind) for one in call.arguments))

    def _beside(self, expression: Expression, kind: Family | None) -> Expression:
        if isinstance(expression, Literal):
            return Literal(self._constant(expression.value, kind))
        return self.lower(expression)

    def _of_strings(self, call: Call, others: Sequence[Expression], column: CircuitColumn | None) -> Expression:
        """A column with a dictionary against constants, or one with the same, for equality: codes have no order."""
        found = {self.columns[one.name].dictionary if isinstance(one, Column) else None for one in others}
        if call.function not in ("=", "<>", "in") or column is None or len(found) > 1:
            raise UnsupportedError(
                "must be compared by =, <> or IN with constants, or columns of the same dictionary, in hardware",
                parameter="strings",
                value=str(call),
                hint="they are codes there, which have no order",
            )
        own = column

        def coded(one: Expression) -> Expression:
            if not isinstance(one, Literal):
                return one
            return Literal(None if one.value is None else own.code(one.value))

        return Call(call.function, tuple(map(coded, call.arguments)))

    def _constant(self, value: object, beside: Family | None) -> int | bool | None:
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, str) and beside in (Family.TIMESTAMP, Family.DATE):
            value = parse_timestamp(value)
        if isinstance(value, datetime) and beside is Family.DATE:
            value = value.date()
        if isinstance(value, datetime):
            return microseconds(value)
        if isinstance(value, date):
            return (value - _EPOCH).days
        if isinstance(value, timedelta):
            return value // timedelta(microseconds=1)
        raise UnsupportedError(
            "must be whole numbers, truth values, times or NULL in hardware",
            parameter="constants",
            value=str(value),
            hint="scale numbers with a fraction to whole ones",
        )


def width_of(expression: Expression, fields: Mapping[str, Field]) -> tuple[int, bool]:
    """How many bits hold every value of a lowered expression, and whether these have a sign.

    >>> width_of(Call("*", (Column("x"), Literal(3))), {"x": Field("x", 8)})
    (10, True)
    """
    if isinstance(expression, Column):
        return fields[expression.name].width, fields[expression.name].signed
    if isinstance(expression, Literal):
        value = int(expression.value or 0)
        return (value.bit_length() + 1, True) if value < 0 else (max(value.bit_length(), 1), False)
    if expression.function not in _NUMBERS:
        return 1, False
    shapes = [width_of(one, fields) for one in expression.arguments]
    signed = any(has_sign for _, has_sign in shapes)
    if expression.function == "*":
        return sum(width for width, _ in shapes), signed
    widest = max(width + (signed and not has_sign) for width, has_sign in shapes)
    return widest + 1, signed or expression.function != "+"
