"""Which time of a join or of windows a query goes by: the one its window, its groups or its select list name."""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.expressions.calls import clauses_of
from windrow.language.expressions.items import is_star
from windrow.language.expressions.positions import position
from windrow.language.grammar.clauses import SUFFIXES, Attribute
from windrow.language.queries.relations import Relation
from windrow.plan.build.joins import is_timed_by
from windrow.plan.checks.progress import carries_progress, timed_by


def timed_for_query(select: exp.Select, relation: Relation, *, aggregates: bool) -> Relation:
    """The relation with its progress where the query needs it."""
    for suffix in select.meta.get(SUFFIXES, ()):
        if suffix.field == "time":
            return _timed_by(suffix.value, relation)
    if relation.windows:
        return relation
    having = select.args.get("having")
    trees = [*select.expressions, *([having] if having else [])]
    clauses = [clause for tree in trees for clause in clauses_of(tree, relation.context.text)]
    if clauses:
        return relation.timed_for(clauses)
    group = select.args.get("group")
    if aggregates:
        return _timed_by_first(_targets(group, select) if group else [], relation)
    trees = [_unaliased(tree) for tree in select.expressions]
    if any(is_star(tree) for tree in trees) or (not relation.is_join and _keeps_time(trees, relation)):
        return relation
    return _timed_by_first(trees, relation)


def _keeps_time(trees: list[exp.Expr], relation: Relation) -> bool:
    """Whether the time that a relation goes by is among some columns."""
    return any(carries_progress(relation.node, name) for tree in trees if (name := relation.scope.find(tree)))


def _timed_by(attribute: Attribute, relation: Relation) -> Relation:
    timed = relation.timed_as(attribute)
    if not is_timed_by(timed.node, timed.time_named(attribute)):
        raise QueryError(
            "must be a time of the join",
            parameter="timed by",
            value=attribute.name,
            hint="write TIMED BY a.ts, b.ts, least(a.ts, b.ts) or greatest(a.ts, b.ts)",
            position=position(relation.context.text, attribute.span),
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


def _targets(group: exp.Expr, select: exp.Select) -> list[exp.Expr]:
    """What GROUP BY lists, aliases and positions of the select list resolved."""
    named = {tree.alias: tree.this for tree in select.expressions if isinstance(tree, exp.Alias)}
    listed = [_unaliased(tree) for tree in select.expressions]
    found = []
    for syntax in group.expressions:
        number = int(syntax.name) if isinstance(syntax, exp.Literal) and syntax.name.isdigit() else 0
        if 1 <= number <= len(listed):
            found.append(listed[number - 1])
        else:
            plain = isinstance(syntax, exp.Column) and not syntax.table
            found.append(named.get(syntax.name, syntax) if plain else syntax)
    return found


def _unaliased(tree: exp.Expr) -> exp.Expr:
    while isinstance(tree, (exp.Alias, exp.Paren)):
        tree = tree.this
    return tree
