"""Aggregate calls: which function, of what, with which constants."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from windrow.aggregates import lookup
from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.function_names import canonical
from windrow.language.expressions.positions import head, place, pointing, spelling
from windrow.language.expressions.scalars import Scalars
from windrow.language.grammar.clauses import CLAUSE, Clause
from windrow.language.queries.standard_windows import EXAMPLE, innermost, over_clause
from windrow.plan.nodes import AggregateCall
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal


def called(function: str, argument: Expression | None = None, parameters: tuple[Any, ...] = ()) -> AggregateCall:
    """An aggregate under the name it has unless it is given one: `count`, `max_price`."""
    column = f"_{argument.name.replace('-', '_')}" if isinstance(argument, Column) else ""
    return AggregateCall(function + column, function, argument, parameters)


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a tree is an aggregate call, FILTER and WITHIN GROUP included."""
    call = innermost(node)
    return isinstance(call, exp.Anonymous) and canonical(call.name) is not None


def has_aggregate(node: exp.Expr) -> bool:
    return any(is_aggregate(part) for part in node.walk())


def clauses_of(node: exp.Expr) -> list[Clause]:
    """The window clauses after the aggregates of a tree, OVER included."""
    parts = list(node.walk(bfs=False))
    written = [part.meta[CLAUSE] for part in parts if CLAUSE in part.meta]
    return written + [over_clause(part) for part in parts if isinstance(part, exp.Window)]


def calls_of(node: exp.Expr) -> list[exp.Expr]:
    """The aggregate calls of a tree, each with what is wrapped around it."""
    if is_aggregate(node):
        return [node]
    return [call for child in node.iter_expressions() for call in calls_of(child)]


def read_call(node: exp.Expr, scalars: Scalars) -> AggregateCall:
    """The aggregate a tree calls; its argument is read over the input's columns."""
    call = _read(node, scalars)
    with pointing(head(innermost(node))):
        kind = None if call.argument is None else type_of(call.argument, scalars.scope.schema)
        lookup(call.function).result_type(kind, call.parameters)
    return call


def refuse_over(node: exp.Expr) -> None:
    """Refuse OVER after anything but an aggregate: what follows or precedes a row is not known while rows come."""
    for part in node.find_all(exp.Window):
        if not is_aggregate(part):
            raise UnsupportedError(
                "is available for aggregates only",
                parameter="OVER",
                value=innermost(part).name,
                hint=f"write sum(x) {EXAMPLE}",
                position=head(innermost(part)),
            )


def _read(node: exp.Expr, scalars: Scalars) -> AggregateCall:
    if isinstance(node, exp.Window):
        return _read(node.this, scalars)
    if isinstance(node, exp.Filter):
        return _filtered(node, scalars)
    if isinstance(node, exp.WithinGroup):
        return _within_group(node, scalars)
    if node.name.lower() == "percentile_cont":
        raise _needs_order(node)
    function, arguments = str(canonical(node.name)), node.expressions
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        return _distinct(function, node, arguments[0], scalars)
    if not arguments or isinstance(arguments[0], exp.Star):
        if function == "count":
            return called("count")
        raise QueryError(
            "needs a column",
            parameter=node.name,
            hint=f"write {node.name}(x) of a column x; only count takes *",
            position=head(node),
        )
    if isinstance(arguments[0], exp.Order):
        raise UnsupportedError(
            "cannot be ordered here", parameter=node.name, hint="collect is ordered by time", position=place(node)
        )
    parameters = tuple(_constant(argument, node, scalars) for argument in arguments[1:])
    return called(function, scalars.read(arguments[0]), parameters)


def _distinct(function: str, node: exp.Expr, distinct: exp.Distinct, scalars: Scalars) -> AggregateCall:
    if len(distinct.expressions) != 1:
        raise UnsupportedError(
            "takes one column",
            parameter="DISTINCT",
            value=f"{len(distinct.expressions)} of them",
            hint="put them into one text, as in count(DISTINCT concat(a, b))",
            position=head(node),
        )
    argument = scalars.read(distinct.expressions[0])
    if function not in ("count", "min", "max"):
        written = spelling(distinct.expressions[0])
        raise UnsupportedError(
            f"goes with count, min and max, and not with {node.name}",
            parameter="DISTINCT",
            hint=f"group by {written} in an inner query, which has each once a window, and take {node.name}({written}) "
            "in the outer one, with WATTR window_start",
            position=head(node),
        )
    return called("count_distinct" if function == "count" else function, argument)


def _constant(argument: exp.Expr, node: exp.Expr, scalars: Scalars) -> Any:
    value = scalars.read(argument)
    if not isinstance(value, Literal):
        raise QueryError(
            "takes constants after its first argument",
            parameter=node.name,
            value=str(value),
            hint=f"write a number, as in {node.name}(x, 0.9)",
            position=place(argument),
        )
    return value.value


def _filtered(node: exp.Filter, scalars: Scalars) -> AggregateCall:
    """`sum(x) FILTER (WHERE c)` is the sum of `CASE WHEN c THEN x END`: aggregates pass over NULL."""
    call = _read(node.this, scalars)
    condition = scalars.read(node.expression.this)
    value = Literal(True) if call.argument is None else call.argument
    return called(call.function, Call("case", (condition, value)), call.parameters)


def _within_group(node: exp.WithinGroup, scalars: Scalars) -> AggregateCall:
    """`percentile_cont(q) WITHIN GROUP (ORDER BY x)` is `quantile(x, q)`; `mode()` is written so as well."""
    function = canonical(node.this.name)
    ordered = node.expression.expressions
    if function not in ("quantile", "mode") or len(ordered) != 1:
        raise _needs_order(node.this)
    parameters = tuple(_constant(argument, node.this, scalars) for argument in node.this.expressions)
    if function == "quantile" and ordered[0].args.get("desc"):
        parameters = tuple(1 - q if isinstance(q, (int, float)) else q for q in parameters)
    return called(function, scalars.read(ordered[0].this), parameters)


def _needs_order(node: exp.Expr) -> QueryError:
    return QueryError(
        "is written with one ORDER BY",
        parameter=node.name,
        hint="write percentile_cont(0.9) WITHIN GROUP (ORDER BY x), or quantile(x, 0.9), of a column x",
        position=head(node),
    )
