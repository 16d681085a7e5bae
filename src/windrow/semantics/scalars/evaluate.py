"""The meaning of scalar expressions, row by row, with SQL's three-valued logic; None is NULL.

Most functions give NULL when any argument is NULL. The exceptions have a function of their own here; they read their
arguments from left to right and stop when the answer is known. Lengths and positions in text count characters (code
points).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key, lru_cache
from typing import Any, TypeAlias

from windrow.errors import QueryError
from windrow.semantics.scalars import arithmetic
from windrow.semantics.scalars.casting import cast, to_string
from windrow.semantics.scalars.expressions import Column, Expression, Literal
from windrow.semantics.scalars.grid import rounded
from windrow.semantics.scalars.moments import moment
from windrow.semantics.scalars.ordering import COMPARISONS, compare

_Row: TypeAlias = Mapping[str, Any]
_Arguments: TypeAlias = tuple[Expression, ...]


def evaluate(expression: Expression, row: _Row) -> Any:
    """The value of an expression on a row.

    >>> from windrow.semantics.scalars.expressions import Call
    >>> x = Column("x")
    >>> evaluate(Call("or", (Call("=", (x, Literal(1))), Literal(True))), {"x": None})
    True
    >>> evaluate(Call("/", (x, Literal(0))), {"x": 3}) is None
    True
    """
    if isinstance(expression, Literal):
        return expression.value
    if isinstance(expression, Column):
        return _column(expression.name, row)
    if expression.function in _LAZY:
        return _LAZY[expression.function](expression.arguments, row)
    values = [evaluate(argument, row) for argument in expression.arguments]
    return None if None in values else _STRICT[expression.function](*values)


def _column(name: str, row: _Row) -> Any:
    if name not in row:
        raise QueryError(
            "must be a column of the row", parameter=name, allowed=tuple(row), hint="check the spelling of the column"
        )
    return row[name]


def _kleene(arguments: _Arguments, row: _Row, *, decides: bool) -> bool | None:
    """One argument equal to `decides` settles the answer; otherwise NULL wins over the rest."""
    unknown = False
    for argument in arguments:
        value = evaluate(argument, row)
        if value is not None and bool(value) is decides:
            return decides
        unknown = unknown or value is None
    return None if unknown else not decides


def _in(arguments: _Arguments, row: _Row) -> bool | None:
    """True when one equals the needle; NULL when none does but one of them is NULL."""
    needle, *rest = (evaluate(argument, row) for argument in arguments)
    if needle is None:
        return None
    if any(value is not None and compare(needle, value) == 0 for value in rest):
        return True
    return None if None in rest else False


def _case(arguments: _Arguments, row: _Row) -> Any:
    pairs = len(arguments) // 2
    for condition, value in zip(arguments[: 2 * pairs : 2], arguments[1::2], strict=True):
        if evaluate(condition, row) is True:
            return evaluate(value, row)
    return evaluate(arguments[-1], row) if len(arguments) % 2 else None


def _coalesce(arguments: _Arguments, row: _Row) -> Any:
    return next((value for value in (evaluate(a, row) for a in arguments) if value is not None), None)


def _nullif(arguments: _Arguments, row: _Row) -> Any:
    value, other = (evaluate(argument, row) for argument in arguments)
    return None if value is not None and other is not None and compare(value, other) == 0 else value


def _present(arguments: _Arguments, row: _Row) -> list[Any]:
    """The values that are not NULL; all of them doubles when one is."""
    values = [value for value in (evaluate(argument, row) for argument in arguments) if value is not None]
    return [float(value) for value in values] if any(isinstance(value, float) for value in values) else values


def _concat(arguments: _Arguments, row: _Row) -> str:
    values = (evaluate(argument, row) for argument in arguments)
    return "".join(to_string(value) for value in values if value is not None)


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = re.findall(r"\\[%_\\]|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.compile("".join(wild.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL)


def like(value: str, pattern: str) -> bool:
    r"""Whether the whole text fits: `%` is any run of characters, `_` any one; a backslash takes them literally.

    >>> like("UBSN.VX", "UBS%"), like("abc", "a_"), like("50%", r"50\%")
    (True, False, True)
    """
    return _pattern(pattern).fullmatch(value) is not None


def substring(value: str, start: int, length: int | None = None) -> str:
    """The characters from `start` (1 is the first, negative counts from the end) on, at most `length` of them.

    >>> substring("windrow", 5), substring("windrow", 1, 4), substring("windrow", -3, 2)
    ('row', 'wind', 'ro')
    """
    first = start - 1 if start > 0 else start + len(value) if start < 0 else 0
    last = len(value) if length is None else first + length
    return value[max(0, first) : max(0, last)]


_LAZY: dict[str, Callable[[_Arguments, _Row], Any]] = {
    "and": lambda arguments, row: _kleene(arguments, row, decides=False),
    "or": lambda arguments, row: _kleene(arguments, row, decides=True),
    "is_null": lambda arguments, row: evaluate(arguments[0], row) is None,
    "in": _in,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "greatest": lambda arguments, row: max(_present(arguments, row), key=cmp_to_key(compare), default=None),
    "least": lambda arguments, row: min(_present(arguments, row), key=cmp_to_key(compare), default=None),
    "concat": _concat,
}

_STRICT: dict[str, Callable[..., Any]] = {
    **COMPARISONS,
    "not": lambda value: not value,
    "+": arithmetic.add,
    "-": arithmetic.subtract,
    "*": arithmetic.multiply,
    "/": arithmetic.divide,
    "%": arithmetic.remainder,
    "neg": arithmetic.negate,
    "abs": arithmetic.absolute,
    "sign": arithmetic.sign,
    "round": arithmetic.round_half_away,
    "within": rounded,
    "floor": arithmetic.floor,
    "ceil": arithmetic.ceil,
    "sqrt": arithmetic.square_root,
    "exp": arithmetic.exponential,
    "ln": arithmetic.natural_logarithm,
    "power": arithmetic.power,
    "cast": cast,
    "like": like,
    "||": lambda left, right: to_string(left) + to_string(right),
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda value: value.strip(" "),  # other white space stays, as in SQL
    "length": len,
    "substring": substring,
    "replace": lambda value, old, new: value.replace(old, new) if old else value,
    "starts_with": str.startswith,
    "year": lambda value: moment(value).year,
    "month": lambda value: moment(value).month,
    "day": lambda value: moment(value).day,
    "hour": lambda value: moment(value).hour,
    "minute": lambda value: moment(value).minute,
    "second": lambda value: moment(value).second,
}
