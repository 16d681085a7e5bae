"""Rows given as dicts: their columns, and which keys they may have.

A misspelt key never passes in silence. Where the columns are declared, a key that is not there is null, and one that
is no column is refused. Where they are not, all rows must have the same keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from typing import Any, TypeAlias, cast

import pyarrow as pa

from windrow.errors import SourceError

Row: TypeAlias = Mapping[str, Any]


def is_row(element: Any) -> bool:
    """Whether an element is a row by itself; asked of every row, so the usual case comes first."""
    return type(element) is dict or isinstance(element, Mapping)


def rows_table(rows: Sequence[Row], schema: pa.Schema) -> pa.Table:
    """The columns of `schema`; a key that is not there is null."""
    return pa.table([_column([row.get(f.name) for row in rows], f) for f in schema], schema=schema)


def _column(values: list[Any], wanted: pa.Field[Any]) -> pa.Array[Any]:
    try:
        return _array(values, wanted.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            f"must be {wanted.type} in every row",
            parameter=wanted.name,
            value=repr(_misfit(values, wanted.type)),
            hint="declare the column with another type in `schema`, or correct the row",
        ) from error


def _array(values: list[Any], kind: pa.DataType) -> pa.Array[Any]:
    """The values as a column. Arrow cuts off decimals and parts of a second where it is told the type."""
    array = cast("pa.Array[Any]", pa.array(values, kind))
    exact = _exact_types(kind)
    if exact and not exact.issuperset(map(type, values)):
        whole: Any = pa.array(values)
        is_too_fine = getattr(kind, "unit", None) != "ns" and any(getattr(value, "nanosecond", 0) for value in values)
        if is_too_fine or not whole.cast(kind).cast(whole.type).equals(whole):
            raise ValueError("something is cut off")
    return array


def _exact_types(kind: pa.DataType) -> frozenset[type]:
    """The types of Python whose values such a column takes as they are or refuses; empty where that is any type."""
    is_fine = getattr(kind, "unit", None) in ("us", "ns")
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return frozenset({int, type(None), *((datetime, timedelta) if is_fine else ())})
    if pa.types.is_date(kind) or pa.types.is_integer(kind):
        return frozenset({int, type(None), date})
    return frozenset()


def _misfit(values: list[Any], kind: pa.DataType) -> Any:
    for value in values:
        try:
            _array([value], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return value
    return None


def refuse_unknown(rows: Sequence[Row], known: frozenset[str], first: int, name: str) -> None:
    """No row has a key that is no column; `first` is the number of the first of these rows in the stream `name`."""
    for number, row in enumerate(rows, first):
        if not known.issuperset(row):
            key = next(key for key in row if key not in known)
            raise SourceError(
                "must have no keys but the columns of its schema",
                parameter=name,
                value=f"{key!r} in row {number}, counted from 0",
                hint=_near(key, known) + "declare the column in `schema`, or leave the key out",
            )


def inferred(rows: Sequence[Row], name: str) -> pa.Schema:
    """The columns of dict rows that can be looked at in full: their keys, which all of them must have."""
    keys = rows[0].keys()
    for number, row in enumerate(rows):
        if row.keys() != keys:
            raise _uneven(number, row, frozenset(keys), name)
    return pa.schema([_inferred(column, rows, name) for column in keys])


def _uneven(number: int, row: Row, keys: frozenset[str], name: str) -> SourceError:
    more = next((key for key in row if key not in keys), None)
    other = f"no {next(key for key in keys if key not in row)!r}" if more is None else repr(more)
    return SourceError(
        "must have the same keys in every row, because its columns are not declared",
        parameter=name,
        value=f"{other} in row {number}, counted from 0",
        hint=("" if more is None else _near(more, keys))
        + "give the columns, like schema=pa.schema([('time', pa.int64())]): a key that is not there is then null",
    )


def _near(key: Any, known: frozenset[str]) -> str:
    near = get_close_matches(str(key), sorted(known), n=1, cutoff=0.7)
    return f"did you mean {near[0]}? Else " if near else ""


def _inferred(column: str, rows: Sequence[Row], name: str) -> pa.Field[Any]:
    try:
        return pa.field(column, pa.array([row[column] for row in rows]).type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            f"must have one type in every row ({str(error).splitlines()[0].rstrip('.')})",
            parameter=column,
            hint=f"give `{name}` a schema, or correct the rows",
        ) from error
