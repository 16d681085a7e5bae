"""Interval and timestamp literals."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from fractions import Fraction

from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.expressions.positions import place
from windrow.plan.types.kinds import parse_timestamp
from windrow.semantics.scalars.amounts import Amount, Domain

_PIECES = re.compile(r"\s*([+-]?[\d.]+)\s*([A-Za-z]+)\s*")
_WHOLE = re.compile(f"(?:{_PIECES.pattern})+\\Z")


def interval_amount(node: exp.Interval, text: str) -> Amount:
    """The length an INTERVAL names: one number and unit, or several in one string."""
    number = node.this.name if node.this else ""
    written = f"{number} {node.text('unit')}" if node.args.get("unit") else number
    if not _WHOLE.match(written):
        raise QueryError(
            "must be numbers with units",
            parameter="interval",
            value=written,
            hint="write INTERVAL '10' MINUTE",
            position=place(text, node),
        )
    try:
        pieces = [Amount.of(f"{size} {unit}", "interval") for size, unit in _PIECES.findall(written)]
        units = [piece.resolve(Domain.TIME, "interval") for piece in pieces]
        return pieces[0] if len(pieces) == 1 else Amount(Fraction(sum(units)), "us")
    except QueryError as error:
        raise error.at(place(text, node)) from None


def interval(node: exp.Interval, text: str) -> timedelta:
    return timedelta(microseconds=interval_amount(node, text).resolve(Domain.TIME, "interval"))


def moment(node: exp.Expr, text: str) -> datetime:
    """The moment a `TIMESTAMP '...'` or `DATE '...'` literal names, UTC unless it says otherwise."""
    found = parse_timestamp(node.name)
    if found is None:
        raise QueryError(
            "must be a moment in ISO 8601",
            parameter="timestamp",
            value=node.name,
            hint="write it like TIMESTAMP '2024-01-31 12:30:00'",
            position=place(text, node),
        )
    return found.astimezone(timezone.utc)
