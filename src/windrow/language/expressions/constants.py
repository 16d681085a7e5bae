"""Intervals, moments and the names of types, as they are written out in a query."""

from __future__ import annotations

import re
from datetime import datetime, timezone
from fractions import Fraction

import pyarrow as pa
from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.expressions.positions import place, spelling
from windrow.plan.types.kinds import parse_timestamp
from windrow.semantics.scalars.amounts import Amount, Domain

_PIECES = re.compile(r"\s*([+-]?[\d.]+)\s*([A-Za-z]+)\s*")
_WHOLE = re.compile(f"(?:{_PIECES.pattern})+\\Z")
_Kind = exp.DType
_TYPES: dict[exp.DType, tuple[pa.DataType, str | None]] = {
    **dict.fromkeys((_Kind.VARCHAR, _Kind.TEXT, _Kind.CHAR, _Kind.NVARCHAR), (pa.string(), "string")),
    **dict.fromkeys((_Kind.INT, _Kind.BIGINT), (pa.int64(), "bigint")),
    _Kind.SMALLINT: (pa.int16(), "bigint"),
    _Kind.TINYINT: (pa.int8(), "bigint"),
    **dict.fromkeys((_Kind.DOUBLE, _Kind.FLOAT), (pa.float64(), "double")),
    _Kind.DECIMAL: (pa.decimal128(18, 3), "double"),
    _Kind.BOOLEAN: (pa.bool_(), "boolean"),
    **dict.fromkeys((_Kind.TIMESTAMP, _Kind.TIMESTAMPTZ, _Kind.DATETIME), (pa.timestamp("us", tz="UTC"), "timestamp")),
    _Kind.DATE: (pa.date32(), None),
}
"""What a declared column of a type holds, and the name under which `cast` knows it."""


def arrow_type(kind: exp.DataType) -> pa.DataType | None:
    """The Arrow type of a declared column; None when there is none."""
    sizes = [int(size.name) for size in kind.expressions if size.name.isdigit()]
    if kind.this == _Kind.DECIMAL and sizes:
        precision, scale = [*sizes, 0][:2]
        return pa.decimal128(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
    return _TYPES.get(kind.this, (None, None))[0]


def cast_name(kind: exp.DataType) -> str | None:
    """The name under which `cast` knows a type; None when it does not."""
    return _TYPES.get(kind.this, (None, None))[1]


def amount_of(argument: exp.Expr, parameter: str) -> Amount:
    """The amount that an interval or a number is."""
    if isinstance(argument, exp.Interval):
        return interval_amount(argument)
    if isinstance(argument, exp.Neg):
        inner = amount_of(argument.this, parameter)
        return Amount(-inner.number, inner.unit)
    if isinstance(argument, exp.Literal) and not argument.is_string:
        return Amount(Fraction(argument.name))
    raise QueryError(
        "must be an interval or a number",
        parameter=parameter,
        value=spelling(argument),
        hint="write INTERVAL '10' MINUTE",
        position=place(argument),
    )


def interval_amount(node: exp.Interval) -> Amount:
    """The length an INTERVAL names: one number and unit, or several in one string."""
    number = node.this.name if node.this else ""
    written = f"{number} {node.text('unit')}" if node.args.get("unit") else number
    if not _WHOLE.match(written):
        raise QueryError(
            "must be numbers with units",
            parameter="interval",
            value=written,
            hint="write INTERVAL '10' MINUTE",
            position=place(node),
        )
    try:
        pieces = [Amount.of(f"{size} {unit}", "interval") for size, unit in _PIECES.findall(written)]
        units = [piece.resolve(Domain.TIME, "interval") for piece in pieces]
        return pieces[0] if len(pieces) == 1 else Amount(Fraction(sum(units)), "us")
    except QueryError as error:
        raise error.at(place(node)) from None


def moment(node: exp.Expr) -> datetime:
    """The moment a `TIMESTAMP '...'` or `DATE '...'` literal names, UTC unless it has a zone."""
    found = parse_timestamp(node.name)
    if found is None:
        raise QueryError(
            "must be a moment in ISO 8601",
            parameter="timestamp",
            value=node.name,
            hint="write it like TIMESTAMP '2024-01-31 12:30:00'",
            position=place(node),
        )
    return found.astimezone(timezone.utc)
