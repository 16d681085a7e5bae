"""Amounts inside calls and frames."""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.expressions.intervals import interval_amount
from windrow.language.expressions.names import spelling
from windrow.language.expressions.positions import place
from windrow.semantics.scalars.amounts import Amount


def amount_of(argument: exp.Expr, text: str, parameter: str) -> Amount:
    """The amount that an interval or a number is."""
    if isinstance(argument, exp.Interval):
        return interval_amount(argument, text)
    if isinstance(argument, exp.Neg):
        inner = amount_of(argument.this, text, parameter)
        return Amount(-inner.number, inner.unit)
    if isinstance(argument, exp.Literal) and not argument.is_string:
        return Amount(Fraction(argument.name))
    raise QueryError(
        "must be an interval or a number",
        parameter=parameter,
        value=spelling(text, argument),
        hint="write INTERVAL '10' MINUTE",
        position=place(text, argument),
    )
