"""The standard window table functions: TUMBLE, HOP, CUMULATE, SESSION, with their arguments in Flink's order.

As there, it is the starts of windows that lie at whole slides after the offset.
"""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.constants import amount_of
from windrow.language.expressions.names import attribute_at
from windrow.language.expressions.positions import head, place
from windrow.language.grammar.clauses import Clause, ClausePart, WindowFunctionTable

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


def is_window_function(name: str) -> bool:
    return name.upper() in _ARGUMENTS


def read_window_function(call: exp.Expr) -> tuple[exp.Expr, Clause]:
    """The table that a window function reads, and the clause it stands for."""
    name = call.name.upper()
    if not _is_complete(name, call.expressions):
        raise QueryError(
            "takes a table, a descriptor and intervals",
            parameter=name,
            hint=f"write {_USAGE[name]}",
            position=head(call),
        )
    table, descriptor, *amounts = call.expressions
    attribute = attribute_at(descriptor.expressions[0])
    parts = [ClausePart("WATTR", (attribute,), attribute.where)]
    for keyword, argument in zip(_ARGUMENTS[name], amounts, strict=False):
        parts.append(ClausePart(keyword, amount_of(argument, "window function argument"), place(argument)))
    partition = tuple(attribute_at(column) for column in table.expressions)
    if partition:
        parts.append(ClausePart("PATTR", partition, place(table)))
    clause = Clause(tuple(parts), place(call), tumbling=name == "TUMBLE", function=name)
    if name == "CUMULATE":
        _check_cumulate(clause, call)
    return table.this, clause


def _is_complete(name: str, arguments: list[exp.Expr]) -> bool:
    if not _REQUIRED[name] + 2 <= len(arguments) <= len(_ARGUMENTS[name]) + 2:
        return False
    table, descriptor = arguments[:2]
    is_descriptor = isinstance(descriptor, exp.Anonymous) and descriptor.name.upper() == "DESCRIPTOR"
    return isinstance(table, WindowFunctionTable) and is_descriptor and len(descriptor.expressions) == 1


def _check_cumulate(clause: Clause, call: exp.Expr) -> None:
    """Steps as long as the window make it a tumbling one; other steps share no window kind with us."""
    step, size = clause.part("SLIDE"), clause.part("RANGE")
    if step is None or size is None or step.value != size.value:
        raise UnsupportedError(
            "is available only with a step equal to its size",
            parameter="CUMULATE",
            hint="use TUMBLE for each step, or [RANGE ALL SLIDE 1 MINUTE WATTR ts] for totals that never start over",
            position=head(call),
        )
