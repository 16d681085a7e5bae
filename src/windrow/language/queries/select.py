"""Queries: SELECT, UNION, subqueries and WITH to plan nodes."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.calls import has_aggregate, refuse_over
from windrow.language.expressions.items import Item, is_star, read_items, unique
from windrow.language.expressions.names import Side
from windrow.language.expressions.positions import checked, find_name, place
from windrow.language.expressions.scalars import Scalars
from windrow.language.grammar.clauses import ORDERED_OUTPUT, SUFFIXES
from windrow.language.joins.relations import Joining, is_for_joins
from windrow.language.queries.aggregation import Aggregation
from windrow.language.queries.compress import is_compress, refuse_bounds
from windrow.language.queries.relations import QueryContext, Relation, read_relation, timed_for_query
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import conjunction
from windrow.plan.nodes import Distinct, Filter, JoinStrategy, Node, OrderedOutput, Project, Strategy, Union
from windrow.semantics.scalars.expressions import Column, Expression

_UNDERSTOOD = frozenset({"expressions", "from_", "where", "group", "having", "distinct", "with_", "joins"})
_AFTER_STAR = ("except_", "replace", "rename")
_WORDS = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "windows": "WINDOW"}


def read_statement(syntax: exp.Expr, context: QueryContext) -> Node:
    """The plan of a whole query, whose results may be wanted in order."""
    node = read_query(syntax, context)
    where = syntax.meta.get(ORDERED_OUTPUT)
    return node if where is None else checked(OrderedOutput(node), where)


def read_query(syntax: exp.Expr, context: QueryContext) -> Node:
    """The plan of a query: a SELECT, a UNION of queries, or either in parentheses."""
    context = _with_named(syntax, context)
    if isinstance(syntax, exp.Select):
        return _select(syntax, context)
    if isinstance(syntax, exp.Union):
        return _union(syntax, context)
    if isinstance(syntax, exp.Subquery):
        _refuse_others(syntax, frozenset({"this", "alias", "with_"}))
        return read_query(syntax.this, context)
    raise UnsupportedError(
        "must be SELECT or UNION of SELECTs",
        parameter="query",
        hint="write SELECT ... FROM stream",
        position=place(syntax),
    )


def _with_named(syntax: exp.Expr, context: QueryContext) -> QueryContext:
    """The context with the subqueries of WITH under their names."""
    named = syntax.args.get("with_")
    for cte in named.expressions if named else ():
        node = read_query(cte.this, context)
        context = replace(context, relations={**context.relations, cte.alias: node})
    return context


def _union(syntax: exp.Union, context: QueryContext) -> Node:
    _refuse_others(syntax, frozenset({"this", "expression", "distinct", "with_", "by_name"}))
    operands = _operands(syntax, bool(syntax.args.get("distinct")))
    nodes = [read_query(operand, context) for operand in operands]
    names = shape_of(nodes[0]).schema.names
    union = Union(tuple(_renamed(node, names) for node in nodes))
    return checked(Distinct(union) if syntax.args.get("distinct") else union, place(operands[-1]))


def _operands(syntax: exp.Expr, distinct: bool) -> list[exp.Expr]:
    """The queries of a chain of the same union; one in parentheses is an operand of its own."""
    if isinstance(syntax, exp.Union) and bool(syntax.args.get("distinct")) == distinct:
        return [*_operands(syntax.this, distinct), syntax.expression]
    return [syntax]


def _renamed(node: Node, names: list[str]) -> Node:
    """The node under the first query's column names, by position, as SQL's UNION has it."""
    own = shape_of(node).schema.names
    if own == names or len(own) != len(names) or sorted(own) == sorted(names):
        return node
    return Project(node, tuple((name, Column(other)) for name, other in zip(names, own, strict=True)))


def _select(select: exp.Select, context: QueryContext) -> Node:
    _refuse_others(select, _UNDERSTOOD)
    if not select.expressions:
        raise QueryError(
            "must name at least one column",
            parameter="select",
            hint="write SELECT *, or the columns you want",
            position=place(select),
        )
    refuse_over(select)
    relation = _read_from(select, context)
    aggregates = _is_aggregation(select, relation)
    relation = timed_for_query(select, relation, aggregates=aggregates)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise UnsupportedError("is not available", parameter="DISTINCT ON", position=place(distinct.args["on"]))
    node = Aggregation(select, relation).plan() if aggregates else _plain(select, relation)
    return node if distinct is None else checked(Distinct(node), place(select.expressions[0]))


def _refuse_others(syntax: exp.Expr, understood: frozenset[str]) -> None:
    """Refuse every clause that would otherwise be passed over in silence."""
    for word, value in syntax.args.items():
        part = value[0] if isinstance(value, list) and value else value
        if part and word not in understood:
            where = place(part) if isinstance(part, exp.Expr) else place(syntax)
            raise UnsupportedError(
                "is not available in queries over streams",
                parameter=_WORDS.get(word, word.rstrip("_").upper()),
                hint="results come window by window; sort or cut them where they are read",
                position=where,
            )


def _read_from(select: exp.Select, context: QueryContext) -> Relation:
    """What FROM names, with WHERE above it."""
    source, where = select.args.get("from_"), select.args.get("where")
    if source is None:
        raise QueryError("must be given", parameter="FROM", hint="write SELECT ... FROM stream", position=place(select))
    if not select.args.get("joins"):
        _refuse_settings_of_joins(select)
        return _filtered(read_relation(source.this, context), [where.this] if where else [])
    joining = Joining(select, context)
    return _filtered(joining.read(), joining.above)


def _refuse_settings_of_joins(select: exp.Select) -> None:
    for suffix in select.meta.get(SUFFIXES, ()):
        if isinstance(suffix.value, JoinStrategy):
            raise QueryError(
                "is for joins, and this query has none",
                parameter="strategy",
                value=suffix.value.value,
                hint="leave it out",
                position=suffix.where,
            )


def _filtered(relation: Relation, conditions: list[exp.Expr]) -> Relation:
    scalars = Scalars(relation.scope)
    predicate = conjunction([scalars.read(condition) for condition in conditions])
    if predicate is None:
        return relation
    return replace(relation, node=checked(Filter(relation.node, predicate), place(conditions[0])))


def _is_aggregation(select: exp.Select, relation: Relation) -> bool:
    if select.args.get("group") or select.args.get("having") or any(map(has_aggregate, select.expressions)):
        return True
    return bool(relation.windows and select.args.get("distinct"))


def _plain(select: exp.Select, relation: Relation) -> Node:
    """SELECT without aggregates: new columns from each row."""
    items = read_items(select, relation.scope)
    if relation.windows:
        # A misspelled aggregate is the likelier mistake, and reading the items reports it.
        _projected(items, relation)
        raise QueryError(
            "needs an aggregate in the select list",
            parameter="window",
            hint="write SELECT count(*) ..., or leave the window out to get the rows themselves",
            position=relation.windows[0].where,
        )
    _refuse_settings_of_windows(select)
    first = items[0].syntax
    if len(items) == 1 and is_star(first) and len(_meant(first, relation)) == len(relation.scope.sides):
        _refuse_after_star(first, relation)
        return relation.node
    return _projected(items, relation)


def _refuse_settings_of_windows(select: exp.Select) -> None:
    for suffix in select.meta.get(SUFFIXES, ()):
        joins = select.args.get("joins")
        if joins and is_compress(suffix):
            refuse_bounds(suffix)
            continue
        if suffix.field == "time" or (joins and (is_for_joins(suffix) or suffix.value is Strategy.AUTO)):
            continue
        if joins and suffix.field == "strategy":
            raise QueryError(
                "must be one of joins",
                parameter="strategy",
                value=suffix.value.value,
                allowed=tuple(strategy.value for strategy in JoinStrategy),
                position=suffix.where,
            )
        raise QueryError(
            "belongs to a window, and this query has none",
            parameter=suffix.field,
            hint="leave it out, or put a window after the stream",
            position=suffix.where,
        )


def _projected(items: list[Item], relation: Relation) -> Node:
    scalars = Scalars(relation.scope)
    columns: list[tuple[str, Expression]] = []
    shared = _shared_names(items, relation)
    for item in items:
        if is_star(item.syntax):
            _refuse_after_star(item.syntax, relation)
            columns += _starred(item.syntax, relation, shared)
        else:
            taken = [name for name, _ in columns]
            name = relation.scope.distinct_name(item.syntax) if item.name in shared and item.is_column else item.name
            columns.append((name or unique(item.default_name, taken), scalars.read(item.syntax)))
    return checked(Project(relation.node, tuple(columns)), place(items[-1].syntax))


def _refuse_after_star(star: exp.Expr, relation: Relation) -> None:
    """Refuse EXCLUDE, REPLACE and the like after a star, and name the columns to write instead."""
    inner = star.this if isinstance(star, exp.Column) else star
    for word in _AFTER_STAR:
        parts = inner.args.get(word) or []
        if not parts:
            continue
        gone = [part.name for part in parts] if word == "except_" else []
        kept = [name for side in _meant(star, relation) for name in side.columns if find_name(name, gone) is None]
        where = place(parts[0])
        written = re.search(r"(\w+)\s*\(?\s*\Z", where.text[: where.start])
        raise UnsupportedError(
            "is not available after *",
            parameter=written[1].upper() if written else word,
            hint=f"name the columns: SELECT {', '.join(kept)}",
            position=where,
        )


def _meant(star: exp.Expr, relation: Relation) -> list[Side]:
    """The inputs whose columns a star stands for."""
    table = star.args.get("table") if isinstance(star, exp.Column) else None
    scope = relation.scope
    return scope.qualified(table.name, place(table)) if table else [*scope.sides]


def _shared_names(items: list[Item], relation: Relation) -> set[str]:
    """Names that stars after an input (`a.*`) and other items would give to two columns."""
    stars = [_meant(item.syntax, relation) for item in items if is_star(item.syntax)]
    parts = [sides for sides in stars if len(sides) < len(relation.scope.sides)]
    own = [name for sides in parts for side in sides for name in side.columns]
    names = Counter([*own, *(item.name for item in items if item.name is not None)])
    return {name for name in own if names[name] > 1}


def _starred(star: exp.Expr, relation: Relation, shared: set[str]) -> list[tuple[str, Expression]]:
    """The columns that a star stands for: those of one input under their own names, unless another has the name."""
    sides = _meant(star, relation)
    if len(sides) == len(relation.scope.sides):
        return [(name, Column(name)) for name in relation.shape.schema.names]
    return [
        (f"{side.alias}_{own}" if own in shared else own, Column(name))
        for side in sides
        for own, name in side.columns.items()
    ]
