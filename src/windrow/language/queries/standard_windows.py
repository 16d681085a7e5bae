"""The windows of the SQL standard as window clauses: OVER, and the table functions TUMBLE, HOP, CUMULATE, SESSION.

`sum(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN ... PRECEDING AND CURRENT ROW)`: each row closes a window for its
partition, as `[RANGE ... RATTR ts SLIDE 1 ROW SATTR row_num PATTR k]` does. SQL's frame also holds the row that lies
exactly RANGE before. The functions take their arguments in Flink's order; as there, it is the starts of windows that
lie at whole slides after the offset.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.constants import amount_of
from windrow.language.expressions.names import attribute_at
from windrow.language.expressions.positions import head, place
from windrow.language.grammar.clauses import Attribute, Clause, ClausePart, WindowFunctionTable
from windrow.semantics.scalars.amounts import Amount

EXAMPLE = "OVER (PARTITION BY symbol ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW)"
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


def over_clause(window: exp.Window) -> Clause:
    """The window clause that an OVER stands for."""
    _refuse_other_frames(window)
    frame, ordered = window.args["spec"], window.args["order"].expressions[0]
    start = frame.args["start"]
    time = _attribute(ordered.this, "ORDER BY")
    whole = place(window)
    parts = [
        ClausePart("RANGE", amount_of(start, "range"), place(start)),
        ClausePart("RATTR", (time,), time.where),
        ClausePart("SLIDE", Amount.of("1 row"), whole),
        ClausePart("SATTR", (Attribute("row_num", whole),), whole),
    ]
    partition = tuple(_attribute(column, "PARTITION BY") for column in window.args.get("partition_by") or ())
    if partition:
        parts.append(ClausePart("PATTR", partition, replace(partition[0].where, end=partition[-1].where.end)))
    return Clause(tuple(parts), whole, over=True)


def _attribute(syntax: exp.Expr, clause: str) -> Attribute:
    if not isinstance(syntax, (exp.Column, exp.Sub)):  # p-max reads as a difference
        raise UnsupportedError(
            "must name columns",
            parameter=clause,
            hint="compute it in a subquery: FROM (SELECT ..., upper(k) AS k FROM s)",
            position=place(syntax),
        )
    return attribute_at(syntax)


def _refuse_other_frames(window: exp.Window) -> None:
    """Of all frames, those that a row closes over the time before it."""
    order, frame = window.args.get("order"), window.args.get("spec") or exp.WindowSpec()
    where, rule = head(innermost(window)), ""
    if window.args.get("alias"):
        rule = "cannot name a window"
    elif order is None or len(order.expressions) != 1 or order.expressions[0].args.get("desc"):
        rule = "needs ORDER BY the time, ascending"
    elif frame.text("kind").upper() != "RANGE" or not isinstance(frame.args.get("start"), exp.Expr):
        rule = "needs a frame in time"
    elif frame.text("start_side").upper() != "PRECEDING" or frame.args.get("end") not in (None, "CURRENT ROW"):
        rule = "must end with the current row"
    if rule:
        raise UnsupportedError(rule, parameter="OVER", hint=f"write {EXAMPLE}", position=where)
    if frame.args.get("exclude"):
        rule = "is not available in OVER: a window holds the row that closes it, and those of its time"
        raise UnsupportedError(rule, parameter="EXCLUDE", hint="leave it out", position=where)


def innermost(node: exp.Expr) -> exp.Expr:
    """The call inside FILTER, WITHIN GROUP and OVER."""
    return innermost(node.this) if isinstance(node, (exp.Filter, exp.WithinGroup, exp.Window)) else node


def refuse_beside_over(select: exp.Select, aggregates: list[exp.Expr]) -> None:
    """Where one aggregate has OVER, rows are not grouped, and every aggregate has one."""
    if not any(isinstance(call, exp.Window) for call in aggregates):
        return
    for word, name in (("group", "GROUP BY"), ("having", "HAVING")):
        if select.args.get(word):
            raise QueryError(
                "does not go with OVER",
                parameter=name,
                hint="groups are named in PARTITION BY; filter the results in an outer query",
                position=place(select.args[word]),
            )
    for call in aggregates:
        if not isinstance(call, exp.Window):
            raise QueryError(
                "must have OVER as well, because another aggregate has",
                parameter=innermost(call).name,
                hint="write the same OVER (...) after each aggregate",
                position=head(innermost(call)),
            )


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
