"""The standard window table functions: TUMBLE, HOP, CUMULATE, SESSION, with their arguments in Flink's order.

As there, it is the starts of windows that lie at whole slides after the offset.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.amounts import amount_of
from windrow.language.expressions.names import attribute_at
from windrow.language.expressions.positions import head, span_of
from windrow.language.grammar.clauses import Attribute, Clause, ClausePart, WindowFunctionTable

_ARGUMENTS = {
    "TUMBLE": ("RANGE", "ORIGIN"),
    "HOP": ("SLIDE", "RANGE", "ORIGIN"),
    "CUMULATE": ("SLIDE", "RANGE", "ORIGIN"),
    "SESSION": ("GAP",),
}
_REQUIRED = {"TUMBLE": 1, "HOP": 2, "CUMULATE": 2, "SESSION": 1}
_OFFSET = ", then an offset if any"
_USAGE = {
    "TUMBLE": f"TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE){_OFFSET}",
    "HOP": f"HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '10' MINUTE), slide before size{_OFFSET}",
    "CUMULATE": f"CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' HOUR), step before size{_OFFSET}",
    "SESSION": "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '30' SECOND)",
}


@dataclass(frozen=True)
class CalledWindow:
    """The table a window function reads, and the clause it stands for."""

    table: exp.Expr
    clause: Clause


def is_window_function(name: str) -> bool:
    return name.upper() in _ARGUMENTS


def read_window_function(call: exp.Expr, text: str) -> CalledWindow:
    """The clause that a window function stands for."""
    name = call.name.upper()
    table, attribute, amounts = _split(call, name, text)
    parts = [ClausePart("WATTR", (attribute,), attribute.span)]
    for keyword, argument in zip(_ARGUMENTS[name], amounts, strict=False):
        parts.append(ClausePart(keyword, amount_of(argument, text, "window function argument"), span_of(argument)))
    partition = tuple(attribute_at(text, column) for column in table.expressions)
    if partition:
        parts.append(ClausePart("PATTR", partition, span_of(table)))
    clause = Clause(tuple(parts), span_of(call), tumbling=name == "TUMBLE", function=name)
    if name == "CUMULATE":
        _check_cumulate(clause, call, text)
    return CalledWindow(table.this, clause)


def _split(call: exp.Expr, name: str, text: str) -> tuple[exp.Expr, Attribute, list[exp.Expr]]:
    arguments = list(call.expressions)
    least, most = _REQUIRED[name] + 2, len(_ARGUMENTS[name]) + 2
    if not least <= len(arguments) <= most or not isinstance(arguments[0], WindowFunctionTable):
        raise _usage(call, name, text)
    descriptor = arguments[1]
    if not isinstance(descriptor, exp.Anonymous) or descriptor.name.upper() != "DESCRIPTOR":
        raise _usage(call, name, text)
    if len(descriptor.expressions) != 1:
        raise _usage(call, name, text)
    column = descriptor.expressions[0]
    return arguments[0], attribute_at(text, column), arguments[2:]


def _usage(call: exp.Expr, name: str, text: str) -> QueryError:
    return QueryError(
        "takes a table, a descriptor and intervals",
        parameter=name,
        hint=f"write {_USAGE[name]}",
        position=head(text, call),
    )


def _check_cumulate(clause: Clause, call: exp.Expr, text: str) -> None:
    """Steps as long as the window make it a tumbling one; other steps share no window kind with us."""
    step, size = clause.part("SLIDE"), clause.part("RANGE")
    if step is None or size is None or step.value != size.value:
        raise UnsupportedError(
            "is available only with a step equal to its size",
            parameter="CUMULATE",
            hint="use TUMBLE for each step, or [RANGE ALL SLIDE 1 MINUTE WATTR ts] for totals that never start over",
            position=head(text, call),
        )
