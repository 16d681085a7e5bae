"""Names, constants and expressions as SQL text that reads back to the same nodes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError

from windrow.errors import WindrowError
from windrow.language.grammar.dialect import WindrowDialect
from windrow.semantics.scalars.expressions import BINARY, Call, Column, Expression, Literal

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_COLUMNS_EXPECTED = 4
_UNARY = {"not": "(NOT {})", "neg": "(- {})", "is_null": "({} IS NULL)"}
_UNITS = (("DAY", 86_400_000_000), ("HOUR", 3_600_000_000), ("MINUTE", 60_000_000), ("SECOND", 1_000_000))


def name_sql(name: str) -> str:
    """A name, in double quotes unless it is a plain word.

    >>> name_sql("price"), name_sql("p-max"), name_sql("select")
    ('price', '"p-max"', '"select"')
    """
    return name if _PLAIN.match(name) and _reads_back(name) else '"' + name.replace('"', '""') + '"'


@lru_cache(maxsize=1024)
def _reads_back(word: str) -> bool:
    """Whether a word is a name wherever names stand; words of SQL are not."""
    try:
        tree = WindrowDialect().parse(f"SELECT ({word} + {word}) AS {word}, max({word}), {word} FROM {word}")[0]
    except (ParseError, WindrowError):
        return False
    return tree is not None and len([c for c in tree.find_all(exp.Column) if c.name == word]) == _COLUMNS_EXPECTED


def string_sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal_sql(value: Any) -> str:
    """A constant.

    >>> literal_sql(timedelta(minutes=90)), literal_sql(None)
    ("INTERVAL '90' MINUTE", 'NULL')
    """
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"CAST('{value}' AS DOUBLE)"
    if isinstance(value, str):
        return string_sql(value)
    if isinstance(value, timedelta):
        return _interval_sql(value // timedelta(microseconds=1))
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return "NULL" if value is None else str(value)


def _interval_sql(units: int) -> str:
    for name, size in _UNITS:
        if units and units % size == 0:
            return f"INTERVAL '{units // size}' {name}"
    return f"INTERVAL '{units}' MICROSECOND"


def expression_sql(expression: Expression, column_sql: Callable[[str], str] = name_sql) -> str:
    """An expression, in parentheses wherever order could be in doubt; `column_sql` spells the columns."""
    if isinstance(expression, Column):
        return column_sql(expression.name)
    if isinstance(expression, Literal):
        return literal_sql(expression.value)
    return _call_sql(expression, [expression_sql(argument, column_sql) for argument in expression.arguments])


def _call_sql(call: Call, arguments: list[str]) -> str:
    if call.function in BINARY:
        return f"({arguments[0]} {call.function.upper()} {arguments[1]})"
    if call.function in _UNARY:
        return _UNARY[call.function].format(*arguments)
    if call.function == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:])}))"
    if call.function == "cast":
        target = call.arguments[1]
        assert isinstance(target, Literal)
        return f"CAST({arguments[0]} AS {target.value.upper()})"
    return _case_sql(arguments) if call.function == "case" else f"{call.function}({', '.join(arguments)})"


def _case_sql(arguments: list[str]) -> str:
    pairs = [f"WHEN {when} THEN {then}" for when, then in zip(arguments[::2], arguments[1::2], strict=False)]
    otherwise = [f"ELSE {arguments[-1]}"] if len(arguments) % 2 else []
    return " ".join(["CASE", *pairs, *otherwise, "END"])
