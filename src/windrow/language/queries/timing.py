"""Which time of a join or of windows a query goes by: the one its window, its groups or its select list name."""

from __future__ import annotations

from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.expressions.calls import clauses_of
from windrow.language.expressions.items import group_targets, is_star, read_items, trees_of
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
    clauses = [clause for tree in trees_of(select) for clause in clauses_of(tree, relation.context.text)]
    if clauses:
        return relation.timed_for(clauses)
    if aggregates:
        return _timed_by_first(group_targets(select, read_items(select, relation.scope), relation.scope), relation)
    trees = [tree.unalias().unnest() for tree in select.expressions]
    names = [name for tree in trees if (name := relation.scope.find(tree))]
    keeps_time = relation.times is None and any(carries_progress(relation.node, name) for name in names)
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
