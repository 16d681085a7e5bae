"""SQL's own windows: `sum(x) OVER (PARTITION BY k ORDER BY ts RANGE BETWEEN ... PRECEDING AND CURRENT ROW)`.

Each row closes a window for its partition, as `[RANGE ... RATTR ts SLIDE 1 ROW SATTR row_num PATTR k]` says. SQL's
frame also holds the row that lies exactly RANGE before.
"""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError, WindrowError
from windrow.language.expressions.amounts import amount_of
from windrow.language.expressions.names import attribute_at
from windrow.language.expressions.positions import head, place, span_of
from windrow.language.grammar.clauses import Attribute, Clause, ClausePart, TextSpan
from windrow.semantics.scalars.amounts import Amount

EXAMPLE = "OVER (PARTITION BY symbol ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW)"


def over_clause(window: exp.Window, text: str) -> Clause:
    """The window clause that an OVER stands for."""
    refuse_other_frames(window, text)
    frame, ordered = window.args["spec"], window.args["order"].expressions[0]
    start = frame.args["start"]
    time = _attribute(ordered.this, "ORDER BY", text)
    whole = span_of(window)
    parts = [
        ClausePart("RANGE", amount_of(start, text, "range"), span_of(start)),
        ClausePart("RATTR", (time,), time.span),
        ClausePart("SLIDE", Amount.of("1 row"), whole),
        ClausePart("SATTR", (Attribute("row_num", whole),), whole),
    ]
    partition = tuple(_attribute(column, "PARTITION BY", text) for column in window.args.get("partition_by") or ())
    if partition:
        parts.append(ClausePart("PATTR", partition, TextSpan(partition[0].span.start, partition[-1].span.end)))
    return Clause(tuple(parts), whole, over=True)


def _attribute(syntax: exp.Expr, clause: str, text: str) -> Attribute:
    if not isinstance(syntax, (exp.Column, exp.Sub)):  # p-max reads as a difference
        raise UnsupportedError(
            "must name columns",
            parameter=clause,
            hint="compute it in a subquery: FROM (SELECT ..., upper(k) AS k FROM s)",
            position=place(text, syntax),
        )
    return attribute_at(text, syntax)


def refuse_other_frames(window: exp.Window, text: str) -> None:
    """Of all frames, those that a row closes over the time before it."""
    order, frame = window.args.get("order"), window.args.get("spec")
    if window.args.get("alias"):
        raise _unavailable("cannot name a window", window, text)
    if order is None or len(order.expressions) != 1 or order.expressions[0].args.get("desc"):
        raise _unavailable("needs ORDER BY the time, ascending", window, text)
    if frame is None or frame.text("kind").upper() != "RANGE" or not isinstance(frame.args.get("start"), exp.Expr):
        raise _unavailable("needs a frame in time", window, text)
    if frame.text("start_side").upper() != "PRECEDING" or frame.args.get("end") not in (None, "CURRENT ROW"):
        raise _unavailable("must end with the current row", window, text)
    if frame.args.get("exclude"):
        raise UnsupportedError(
            "is not available in OVER: a window holds the row that closes it, and those of its time",
            parameter="EXCLUDE",
            hint="leave it out",
            position=head(text, innermost(window)),
        )


def _unavailable(rule: str, window: exp.Window, text: str) -> WindrowError:
    return UnsupportedError(rule, parameter="OVER", hint=f"write {EXAMPLE}", position=head(text, innermost(window)))


def innermost(node: exp.Expr) -> exp.Expr:
    """The call inside FILTER, WITHIN GROUP and OVER."""
    return innermost(node.this) if isinstance(node, (exp.Filter, exp.WithinGroup, exp.Window)) else node


def refuse_beside_over(select: exp.Select, aggregates: list[exp.Expr], text: str) -> None:
    """Where one aggregate has OVER, rows are not grouped, and every aggregate has one."""
    if not any(isinstance(call, exp.Window) for call in aggregates):
        return
    for word, name in (("group", "GROUP BY"), ("having", "HAVING")):
        if select.args.get(word):
            raise QueryError(
                "does not go with OVER",
                parameter=name,
                hint="groups are named in PARTITION BY; filter the results in an outer query",
                position=place(text, select.args[word]),
            )
    for call in aggregates:
        if not isinstance(call, exp.Window):
            raise QueryError(
                "must have OVER as well, because another aggregate has",
                parameter=innermost(call).name,
                hint="write the same OVER (...) after each aggregate",
                position=head(text, innermost(call)),
            )
