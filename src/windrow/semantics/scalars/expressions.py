"""Scalar expressions: the nodes every layer shares. Their meaning row by row is in `scalar`.

A call names its function by the SQL name in lower case; operators keep their sign (`=`, `<>`, `+`, ...).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Column:
    """A column of the input by name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False)
class Literal:
    """A constant: None, bool, int, float, str, datetime (UTC) or timedelta. 1, 1.0 and TRUE are three of them.

    >>> Literal(1) == Literal(1), Literal(1) == Literal(1.0), Literal(0.0) == Literal(-0.0)
    (True, False, False)
    """

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._spelled == other._spelled

    def __hash__(self) -> int:
        return hash(self._spelled)

    @property
    def _spelled(self) -> tuple[type, str]:
        return type(self.value), repr(self.value)

    def __str__(self) -> str:
        if self.value is None:
            return "NULL"
        if isinstance(self.value, bool):
            return "TRUE" if self.value else "FALSE"
        return "'" + self.value.replace("'", "''") + "'" if isinstance(self.value, str) else str(self.value)


@dataclass(frozen=True)
class Call:
    """A function or operator applied to arguments; see `FUNCTIONS` for what there is."""

    function: str
    arguments: tuple[Expression, ...] = ()

    def __str__(self) -> str:
        if self.function in BINARY and len(self.arguments) == 2:
            return f"({self.arguments[0]} {self.function.upper()} {self.arguments[1]})"
        return f"{self.function}({', '.join(str(a) for a in self.arguments)})"


Expression: TypeAlias = Column | Literal | Call

BINARY = ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "and", "or", "like", "||")
"""Two-argument operators. `/` is float division, as in most SQL; `%` has the sign of the dividend."""

FUNCTIONS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys(BINARY, (2, 2)),
    **dict.fromkeys(("not", "neg", "is_null"), (1, 1)),
    "in": (2, None),  # needle, then literals
    "case": (2, None),  # condition, value, condition, value, ..., [else]
    "cast": (2, 2),  # value, Literal(type name: boolean, bigint, double, string, timestamp)
    "coalesce": (1, None),
    "nullif": (2, 2),
    **dict.fromkeys(("greatest", "least"), (1, None)),
    **dict.fromkeys(("abs", "sign"), (1, 1)),
    "round": (1, 2),
    "within": (2, 3),  # number, bound, type (see semantics.scalars.grid); what COMPRESS ... WITHIN makes of a column
    **dict.fromkeys(("floor", "ceil", "sqrt", "exp", "ln"), (1, 1)),
    "power": (2, 2),
    **dict.fromkeys(("lower", "upper", "trim", "length"), (1, 1)),
    "substring": (2, 3),  # 1-based start, optional length
    "replace": (3, 3),
    "starts_with": (2, 2),
    "concat": (1, None),
    **dict.fromkeys(("year", "month", "day", "hour", "minute", "second"), (1, 1)),
}
"""Every scalar function with its least and greatest number of arguments (None: no limit)."""


def substituted(expression: Expression, columns: Mapping[str, Expression]) -> Expression:
    """The expression with its columns replaced by what they stand for."""
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Call):
        return Call(expression.function, tuple(substituted(argument, columns) for argument in expression.arguments))
    return expression


def columns_of(expression: Expression) -> Iterator[str]:
    """The names of the columns an expression reads, in order, repeats included."""
    if isinstance(expression, Column):
        yield expression.name
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from columns_of(argument)
