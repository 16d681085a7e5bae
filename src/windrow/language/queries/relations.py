"""What stands in FROM: streams, unions of streams, subqueries and window table functions; and which of its times a
query goes by: the one its window, its groups or its select list name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.calls import clauses_of
from windrow.language.expressions.items import group_targets, is_star, read_items, trees_of
from windrow.language.expressions.names import Scope, Side
from windrow.language.expressions.positions import did_you_mean, find_name, place, pointing
from windrow.language.grammar.clauses import CLAUSE, SUFFIXES, Attribute, Clause, StreamUnion
from windrow.language.queries.standard_windows import is_window_function, read_window_function
from windrow.language.queries.windows import PlacedWindow, WindowReader
from windrow.plan.build.joins import is_timed_by
from windrow.plan.build.queries import flatten_union
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.progress import carries_progress, timed_by
from windrow.plan.nodes import Node

_BOTH_TIMES = ("earlier", "later")
"""The columns that a join gives only where its progress is on them."""


@dataclass(frozen=True)
class QueryContext:
    """The streams and named subqueries that a query may use, and what reads a query inside another."""

    relations: Mapping[str, Node]
    read_query: Callable[[exp.Expr, QueryContext], Node]


@dataclass(frozen=True)
class Relation(WindowReader):
    """What a query reads, and the windows written next to it."""

    windows: tuple[PlacedWindow, ...] = ()

    def timed(self, name: str) -> Relation:
        """The relation with its progress on another time of a join below, where the column is one."""
        node = timed_by(self.node, name)
        shape = shape_of(node)
        return replace(self, node=node, shape=shape, scope=replace(self.scope, schema=shape.schema))

    def timed_for(self, clauses: Iterable[Clause]) -> Relation:
        """The relation with its progress on the time that window clauses name."""
        for clause in clauses:
            for keyword in ("WATTR", "RATTR", "ORDER BY"):
                for attribute in clause.attributes(keyword):
                    if not attribute.is_arrival:
                        return self.timed_as(attribute)
        return self

    def timed_as(self, attribute: Attribute) -> Relation:
        """The relation with its progress on a time that is named somewhere in the text."""
        with pointing(attribute.where):
            return self.timed(self.time_named(attribute))

    def time_named(self, attribute: Attribute) -> str:
        """The column that an attribute names, among them those that a join below could give."""
        word = attribute.name.lower()
        plain = attribute.function is attribute.qualifier is None
        is_time = plain and word in _BOTH_TIMES and self.scope.resolve(word) is None
        if is_time and carries_progress(timed_by(self.node, word), word):
            return word
        return self.scope.attribute(attribute)


def read_relation(syntax: exp.Expr, context: QueryContext) -> Relation:
    """The one relation that FROM names, with its window clauses resolved."""
    relation, clauses = read_input(syntax, context)
    relation = relation.timed_for(clauses)
    return replace(relation, windows=tuple(relation.read(clause) for clause in clauses))


def read_input(syntax: exp.Expr, context: QueryContext) -> tuple[Relation, tuple[Clause, ...]]:
    """A relation of FROM and the window clauses written next to it."""
    function = _window_function(syntax)
    if function is not None:
        table, clause = read_window_function(function)
        relation, _ = read_input(table, context)
        side = relation.scope.sides[0]
        names = (*((syntax.alias,) if syntax.alias else ()), *side.qualifiers)
        scope = replace(relation.scope, sides=(replace(side, qualifiers=names),))
        return replace(relation, scope=scope), (clause,)
    node, names, clauses = _read_source(syntax, context)
    with pointing(place(syntax)):
        shape = shape_of(node)
    side = Side(names, {name: name for name in shape.schema.names})
    return Relation(Scope(shape.schema, (side,)), node, shape), clauses


def _read_source(syntax: exp.Expr, context: QueryContext) -> tuple[Node, tuple[str, ...], tuple[Clause, ...]]:
    own: tuple[Clause, ...] = (syntax.meta[CLAUSE],) if CLAUSE in syntax.meta else ()
    names: tuple[str, ...] = (syntax.alias,) if syntax.alias else ()
    if isinstance(syntax, StreamUnion):
        parts = [_read_source(part, context) for part in syntax.expressions]
        node: Node = flatten_union(*(part[0] for part in parts))
        # In `a UNION b AS m` the name is that of the union.
        last = (parts[-1][1],) if syntax.expressions[-1].alias else ()
        names += tuple(name for group in (*last, *(part[1] for part in parts)) for name in group)
        return node, tuple(dict.fromkeys(names)), own + tuple(clause for part in parts for clause in part[2])
    if isinstance(syntax, exp.Subquery):
        for join in syntax.args.get("joins") or ():
            raise UnsupportedError(
                "joins in parentheses are not available",
                hint="write them as a subquery: (SELECT * FROM a JOIN b ON ...) AS q",
                position=place(join.this),
            )
        return context.read_query(syntax.this, context), names, own
    return _named(syntax, context), (*names, syntax.name), own


def _named(syntax: exp.Expr, context: QueryContext) -> Node:
    if not isinstance(syntax, exp.Table) or not isinstance(syntax.this, exp.Identifier):
        raise UnsupportedError(
            "must be a stream, a subquery or a window function",
            parameter="FROM",
            hint="the window functions are TUMBLE, HOP, CUMULATE and SESSION",
            position=place(syntax),
        )
    found = find_name(syntax.name, context.relations)
    if found is None:
        streams = f"the streams are {', '.join(context.relations)}"
        listed = streams if context.relations else "declare it first: CREATE STREAM name (...) PROGRESS ON time"
        raise QueryError(
            "is not a stream",
            parameter=syntax.name,
            hint=did_you_mean(syntax.name, context.relations, listed),
            position=place(syntax.this),
        )
    return context.relations[found]


def _window_function(syntax: exp.Expr) -> exp.Expr | None:
    """The TUMBLE, HOP, CUMULATE or SESSION call that FROM holds, `TABLE(...)` around it or not."""
    call = syntax.this if isinstance(syntax, exp.Table) else None
    if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE" and len(call.expressions) == 1:
        call = call.expressions[0]
    return call if isinstance(call, exp.Anonymous) and is_window_function(call.name) else None


def timed_for_query(select: exp.Select, relation: Relation, *, aggregates: bool) -> Relation:
    """The relation with its progress where the query needs it."""
    for suffix in select.meta.get(SUFFIXES, ()):
        if suffix.field == "time":
            return _timed_by(suffix.value, relation)
    if relation.windows:
        return relation
    clauses = [clause for tree in trees_of(select) for clause in clauses_of(tree)]
    if clauses:
        return relation.timed_for(clauses)
    if aggregates:
        return _timed_by_first(group_targets(select, read_items(select, relation.scope), relation.scope), relation)
    trees = [tree.unalias().unnest() for tree in select.expressions]
    names = [name for tree in trees if (name := relation.scope.find(tree))]
    keeps_time = relation.scope.times is None and any(carries_progress(relation.node, name) for name in names)
    return relation if keeps_time or any(map(is_star, trees)) else _timed_by_first(trees, relation)


def _timed_by(attribute: Attribute, relation: Relation) -> Relation:
    timed = relation.timed_as(attribute)
    if not is_timed_by(timed.node, timed.time_named(attribute)):
        raise QueryError(
            "must be a time of the join",
            parameter="timed by",
            value=attribute.name,
            hint="write TIMED BY a.ts, b.ts, least(a.ts, b.ts) or greatest(a.ts, b.ts)",
            position=attribute.where,
        )
    return timed


def _timed_by_first(trees: list[exp.Expr], relation: Relation) -> Relation:
    """The relation timed by the first of its times among some columns: the one it has already, if it can be."""
    scope = relation.scope
    names = [name for tree in trees if (name := scope.find(tree) or scope.time_of(tree)) is not None]
    for name in names:
        if is_timed_by(timed_by(relation.node, name), name):
            return relation.timed(name)
    return relation
