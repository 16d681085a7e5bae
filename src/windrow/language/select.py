"""Queries: SELECT, UNION, subqueries and WITH to plan nodes."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.aggregation import Aggregation
from windrow.language.calls import has_aggregate, refuse_over
from windrow.language.clauses import ORDERED_OUTPUT, SUFFIXES
from windrow.language.items import Item, is_star, read_items, unique
from windrow.language.places import place, pointing, position
from windrow.language.relations import Context, Relation, joins_unavailable, read_relation
from windrow.language.scalars import Scalars
from windrow.plan.check import shape_of
from windrow.plan.nodes import Distinct, Filter, Node, OrderedOutput, Project, Union
from windrow.semantics.expressions import Column, Expression

_UNDERSTOOD = frozenset({"expressions", "from_", "where", "group", "having", "distinct", "with_", "joins"})
_WORDS = {"order": "ORDER BY", "limit": "LIMIT", "offset": "OFFSET", "windows": "WINDOW"}


def read_statement(syntax: exp.Expr, context: Context) -> Node:
    """The plan of a whole query, whose results may be wanted in order."""
    node = read_query(syntax, context)
    span = syntax.meta.get(ORDERED_OUTPUT)
    if span is None:
        return node
    node = OrderedOutput(node)
    with pointing(position(context.text, span)):
        shape_of(node)
    return node


def read_query(syntax: exp.Expr, context: Context) -> Node:
    """The plan of a query: a SELECT, a UNION of queries, or either in parentheses."""
    context = _with_named(syntax, context)
    if isinstance(syntax, exp.Select):
        return _select(syntax, context)
    if isinstance(syntax, exp.Union):
        return _union(syntax, context)
    if isinstance(syntax, exp.Subquery):
        _refuse_others(syntax, context.text, frozenset({"this", "alias", "with_"}))
        return read_query(syntax.this, context)
    raise UnsupportedError(
        "must be SELECT or UNION of SELECTs",
        parameter="query",
        hint="write SELECT ... FROM stream",
        position=place(context.text, syntax),
    )


def _with_named(syntax: exp.Expr, context: Context) -> Context:
    """The context with the subqueries of WITH under their names."""
    named = syntax.args.get("with_")
    for cte in named.expressions if named else ():
        node = read_query(cte.this, context)
        context = replace(context, relations={**context.relations, cte.alias: node})
    return context


def _union(syntax: exp.Union, context: Context) -> Node:
    _refuse_others(syntax, context.text, frozenset({"this", "expression", "distinct", "with_", "by_name"}))
    operands = _operands(syntax, bool(syntax.args.get("distinct")))
    nodes = [read_query(operand, context) for operand in operands]
    names = context.shape(nodes[0], operands[0]).schema.names
    union = Union(tuple(_renamed(node, names) for node in nodes))
    node: Node = Distinct(union) if syntax.args.get("distinct") else union
    context.shape(node, operands[-1])
    return node


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


def _select(select: exp.Select, context: Context) -> Node:
    for join in select.args.get("joins") or ():
        raise joins_unavailable(join, context.text)
    _refuse_others(select, context.text, _UNDERSTOOD)
    if not select.expressions:
        raise QueryError(
            "must name at least one column",
            parameter="select",
            hint="write SELECT *, or the columns you want",
            position=place(context.text, select),
        )
    refuse_over(select, context.text)
    relation = _filtered(_from(select, context), select)
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise UnsupportedError(
            "is not available", parameter="DISTINCT ON", position=place(context.text, distinct.args["on"])
        )
    node = Aggregation(select, relation).plan() if _is_aggregation(select, relation) else _plain(select, relation)
    if distinct is None:
        return node
    node = Distinct(node)
    context.shape(node, select.expressions[0])
    return node


def _refuse_others(syntax: exp.Expr, text: str, understood: frozenset[str]) -> None:
    """Refuse every clause that would otherwise be passed over in silence."""
    for word, value in syntax.args.items():
        part = value[0] if isinstance(value, list) and value else value
        if part and word not in understood:
            where = place(text, part) if isinstance(part, exp.Expr) else place(text, syntax)
            raise UnsupportedError(
                "is not available in queries over streams",
                parameter=_WORDS.get(word, word.rstrip("_").upper()),
                hint="results come window by window; sort or cut them where they are read",
                position=where,
            )


def _from(select: exp.Select, context: Context) -> Relation:
    source = select.args.get("from_")
    if source is None:
        raise QueryError(
            "must be given",
            parameter="FROM",
            hint="write SELECT ... FROM stream",
            position=place(context.text, select),
        )
    return read_relation(source.this, context, read_query)


def _filtered(relation: Relation, select: exp.Select) -> Relation:
    where = select.args.get("where")
    if where is None:
        return relation
    node = Filter(relation.node, Scalars(relation.scope).read(where.this))
    relation.context.shape(node, where.this)
    return relation.over(node)


def _is_aggregation(select: exp.Select, relation: Relation) -> bool:
    trees = [*select.expressions, *filter(None, [select.args.get("having")])]
    if select.args.get("group") or select.args.get("having") or any(has_aggregate(tree) for tree in trees):
        return True
    return bool(relation.windows and select.args.get("distinct"))


def _plain(select: exp.Select, relation: Relation) -> Node:
    """SELECT without aggregates: new columns from each row."""
    text = relation.context.text
    items = read_items(select, relation.scope)
    if relation.windows:
        # A misspelled aggregate is the likelier mistake, and reading the items says so.
        _projected(items, relation)
        raise QueryError(
            "needs an aggregate in the select list",
            parameter="window",
            hint="write SELECT count(*) ..., or leave the window out to get the rows themselves",
            position=relation.windows[0].where,
        )
    for suffix in select.meta.get(SUFFIXES, ()):
        raise QueryError(
            "belongs to a window, and this query has none",
            parameter=suffix.field,
            hint="leave it out, or put a window after the stream",
            position=position(text, suffix.span),
        )
    if len(items) == 1 and is_star(items[0].syntax):
        _refuse_others(items[0].syntax, text, frozenset({"this", "table"}))
        return relation.node
    return _projected(items, relation)


def _projected(items: list[Item], relation: Relation) -> Node:
    scalars = Scalars(relation.scope)
    columns: list[tuple[str, Expression]] = []
    for item in items:
        if is_star(item.syntax):
            _refuse_others(item.syntax, relation.context.text, frozenset({"this", "table"}))
            columns += [(name, Column(name)) for name in relation.shape.schema.names]
        else:
            taken = [name for name, _ in columns]
            columns.append((item.name or unique(item.default_name, taken), scalars.read(item.syntax)))
    node = Project(relation.node, tuple(columns))
    with pointing(place(relation.context.text, items[-1].syntax)):
        shape_of(node)
    return node
