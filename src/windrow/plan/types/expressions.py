"""The type of every scalar expression, and the errors of those that have none.

Integers add up to int64, integers with floats to double, `/` is always double. Decimals compute as double.
A string literal next to a timestamp is read as a timestamp where it is one: `time > '2024-01-01'`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from difflib import get_close_matches

import pyarrow as pa

from windrow.aggregates.kinds.base import value_type
from windrow.errors import QueryError
from windrow.plan.types.functions import RULES
from windrow.plan.types.kinds import DURATION, TIMESTAMP, Family, family_of, name_of
from windrow.semantics.scalars.expressions import FUNCTIONS, Call, Column, Expression, Literal


def type_of(expression: Expression, schema: pa.Schema) -> pa.DataType:
    """The type of an expression over rows of a schema; dictionary columns count as their values.

    >>> schema = pa.schema({"price": pa.int32()})
    >>> type_of(Call("/", (Column("price"), Literal(2))), schema)
    DataType(double)
    """
    if isinstance(expression, Column):
        return value_type(column_type(expression.name, schema))
    if isinstance(expression, Literal):
        return _literal_type(expression)
    check_arity(expression)
    kinds = [type_of(argument, schema) for argument in expression.arguments]
    return RULES[expression.function](expression, kinds)


def check_condition(expression: Expression, schema: pa.Schema, parameter: str, hint: str) -> None:
    """Refuse an expression that is not true or false."""
    kind = type_of(expression, schema)
    if family_of(kind) not in (Family.BOOLEAN, Family.NULL):
        value = f"{name_of(kind)} in {expression}"
        raise QueryError("must be a condition (true or false)", parameter=parameter, value=value, hint=hint)


def column_type(name: str, schema: pa.Schema) -> pa.DataType:
    """The type of a column, or an error that names the nearest one."""
    places = schema.get_all_field_indices(name)  # looked up, where `names` would be listed anew for every column
    if len(places) != 1:
        raise unknown_column(name, schema.names)
    kind: pa.DataType = schema.field(places[0]).type
    return kind


def unknown_column(name: str, names: Iterable[str], parameter: str | None = None) -> QueryError:
    """The error for a column that is not there (or is there twice): the nearest name, and what there is."""
    names = list(names)
    hint = f"the columns are {', '.join(names)}" if names else "the input has no columns"
    if names.count(name) > 1:
        return QueryError("names several columns of the input", parameter=parameter or name, value=name, hint=hint)
    hint = near_hint(nearest(name, names), hint)
    if parameter:
        return QueryError("must be a column of the input", parameter=parameter, value=name, hint=hint)
    return QueryError("is not a column of the input", parameter=name, hint=hint)


def near_hint(near: str | None, listed: str) -> str:
    """What there is, after the name that is likely meant."""
    return listed if near is None else f"did you mean {near}? {listed[0].upper()}{listed[1:]}"


def nearest(name: str, names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The name that another one looks like, whatever the case of its letters; None when there is none.

    >>> nearest("symbl", ["Symbol", "price"]), nearest("UBSN", ["Symbol", "price"])
    ('Symbol', None)
    """
    spelled: dict[str, str] = {}
    for known in names:
        spelled.setdefault(known.lower(), known)
    near = get_close_matches(str(name).lower(), spelled, n=1, cutoff=cutoff)
    return spelled[near[0]] if near else None


def check_arity(call: Call) -> None:
    """Refuse a function that does not exist, or that takes another number of arguments."""
    if call.function not in FUNCTIONS:
        near = get_close_matches(call.function, FUNCTIONS, n=1, cutoff=0.7)
        known = ", ".join(name for name in FUNCTIONS if name.replace("_", "").isalpha())
        hint = f"did you mean {near[0]}" if near else f"the functions are {known}"
        raise QueryError("is not a function", parameter=call.function, hint=hint)
    least, most = FUNCTIONS[call.function]
    count = len(call.arguments)
    if count < least or (most is not None and count > most):
        raise QueryError(f"takes {_expected(least, most)}", parameter=call.function, value=count)


def _expected(least: int, most: int | None) -> str:
    if most is None:
        return f"at least {least} argument{'s' * (least > 1)}"
    return f"{least} to {most} arguments" if least < most else f"{least} argument{'s' * (least > 1)}"


def _literal_type(literal: Literal) -> pa.DataType:
    value = literal.value
    if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
        raise QueryError("must fit into 64 bits", parameter="number", value=value, hint="write it with a decimal point")
    for kind, result in _LITERALS:
        if isinstance(value, kind):
            return result
    raise QueryError(
        "must be NULL, a truth value, a number, a string, a timestamp or an interval",
        parameter="constant",
        value=value,
    )


# In this order, because a bool is an int and a datetime is a date.
_LITERALS: tuple[tuple[type, pa.DataType], ...] = (
    (type(None), pa.null()),
    (bool, pa.bool_()),
    (int, pa.int64()),
    (float, pa.float64()),
    (str, pa.string()),
    (datetime, TIMESTAMP),
    (date, pa.date32()),
    (timedelta, DURATION),
)
