"""SELECT with aggregates: keys, window, aggregates, HAVING and the columns of the answer.

The answer is the selected columns in their order; `window_start` and `window_end` are put in after the last group
column unless they are selected, so that every result carries both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeAlias, TypeGuard

import pyarrow as pa
from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.expressions.calls import called, calls_of, clauses_of, has_aggregate, is_aggregate, read_call
from windrow.language.expressions.items import Item, group_targets, is_star, read_items, trees_of, unique
from windrow.language.expressions.positions import checked, place, pointing, spelling
from windrow.language.expressions.scalars import Scalars
from windrow.language.grammar.clauses import SUFFIXES, Suffix
from windrow.language.joins.relations import is_for_joins
from windrow.language.queries.compress import check_bounds, resolved
from windrow.language.queries.relations import Relation
from windrow.language.queries.standard_windows import refuse_beside_over
from windrow.plan.build.queries import as_said
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.progress import KEEP_TIME, carries_progress
from windrow.plan.checks.windows import attribute_of
from windrow.plan.compression import LOSSLESS
from windrow.plan.nodes import AggregateCall, Filter, Late, Node, Project, WindowAggregate
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars.expressions import Column, Expression
from windrow.semantics.windows.kinds import Sliding, Window

BOUNDS = ("window_start", "window_end")
_GROUPING_SETS = (exp.Rollup, exp.Cube, exp.GroupingSets)
_RESERVED = (*BOUNDS, "revision", "kind")
Columns: TypeAlias = list[tuple[Item, str, Expression]]
"""Each item of the select list with its column's name and expression."""


@dataclass
class Aggregation:
    """One aggregate query being read."""

    select: exp.Select
    relation: Relation
    keys: list[tuple[str, Expression]] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)
    per_value: bool = False
    """Grouped by the progressing attribute itself: one window per value, reported by its start."""
    over: bool = False
    """Windows are SQL's own: each row has its result."""
    grouped: frozenset[str] = frozenset()
    """Times that are keys, beside a window of their own or another length."""

    def __post_init__(self) -> None:
        self.scope = self.relation.scope
        self.scalars = Scalars(self.scope)
        self.items = read_items(self.select, self.scope)
        self.trees = trees_of(self.select)
        self.above = Scalars(self.scope, self._above, above=self._answers)

    def plan(self) -> Node:
        """The plan of the query, without DISTINCT."""
        self._refuse_stars()
        self._refuse_grouping_sets()
        calls = [call for tree in self.trees for call in calls_of(tree)]
        refuse_beside_over(self.select, calls)
        self.over = any(isinstance(call, exp.Window) for call in calls)
        self.group = group_targets(self.select, self.items, self.scope)
        self.window, partition = self._read_window()
        if not self.per_value:
            self.grouped = frozenset(name for name in map(self.scope.find, self.group) if self._is_time(name))
        self._read_keys(partition)
        columns = self._read_columns()
        having = self._read_having(columns)
        if not self.calls:
            # The answer is only which groups there are; an operator needs something to compute.
            self._shared(called("count"))
        aggregate = self._node()
        node: Node = aggregate if having is None else Filter(aggregate, having)
        self._check(node, columns)
        return self._projected(node, aggregate, columns)

    def _refuse_stars(self) -> None:
        for item in self.items:
            if is_star(item.syntax):
                raise QueryError(
                    "does not go with aggregates or GROUP BY",
                    parameter="*",
                    hint="name the group columns and the aggregates",
                    position=place(item.syntax),
                )

    def _is_time(self, name: str | None) -> TypeGuard[str]:
        return name is not None and carries_progress(self.relation.node, name)

    # The window

    def _read_window(self) -> tuple[Window, tuple[str, ...]]:
        """The one window of the query, and the columns that partition it."""
        written = [clause for tree in self.trees for clause in clauses_of(tree)]
        windows = [*self.relation.windows, *(self.relation.read(clause) for clause in written)]
        if not windows:
            return self._window_per_value(), ()
        first = windows[0]
        for other in windows[1:]:
            if (first.window, first.partition) != (other.window, other.partition):
                raise QueryError(
                    "must be the same for all aggregates of a query",
                    parameter="window",
                    hint="write one query for each window",
                    position=other.where,
                )
        return first.window, first.partition

    def _window_per_value(self) -> Window:
        for name in map(self.scope.find, self.group):
            if self._is_time(name):
                self.per_value = True
                return Sliding(name, range=1, slide=1)
        aggregates = (part for tree in self.trees for part in tree.walk(bfs=False) if is_aggregate(part))
        otherwise: exp.Expr = self.select.args.get("group") or self.select.expressions[0]
        raise QueryError(
            "must be given: without one, state would be unbounded and no result would ever be final",
            parameter="window",
            hint=self._window_hint(),
            position=place(next(aggregates, otherwise)),
        )

    def _window_hint(self) -> str:
        time = self.relation.shape.time
        if time is None:
            return f"{KEEP_TIME}, then put a window on it"
        if self.select.args.get("joins"):
            clause = f"[RANGE 1 MINUTE WATTR {time}]"
            return f"write it after the aggregate: count(*) {clause}; those in FROM are of the join"
        return f"write FROM stream [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR {time}], or group by {time}"

    def _bound(self, syntax: exp.Expr) -> Column | None:
        """The bound of the window that a name stands for: its own names, or the windowing attribute that is no key."""
        name = self.scope.find(syntax)
        if self.per_value and self._is_time(name):
            return Column("window_start")
        if isinstance(syntax, exp.Column) and not syntax.table and syntax.name.lower() in BOUNDS:
            return Column(syntax.name.lower())
        if name in self.grouped:
            return None
        if attribute_of(self.window) is None:
            is_end = name is None and spelling(syntax).lower().replace("-", "_") == "row_num"
        else:
            is_end = self._is_time(name)
        return Column("window_end") if is_end else None

    # The keys

    def _read_keys(self, partition: tuple[str, ...]) -> None:
        args = self.select.args
        is_listed = args.get("distinct") and not args.get("group") and not any(map(has_aggregate, self.trees))
        for syntax in [item.syntax for item in self.items] if is_listed else self.group:
            if self._bound(syntax) is None:
                self._add_key(self.scalars.read(syntax), self._spelled(syntax))
        for name in partition:
            self._add_key(Column(name), name)

    def _refuse_grouping_sets(self) -> None:
        group: exp.Expr = self.select.args.get("group") or exp.Group()
        for word, value in group.args.items():
            if value and (word != "expressions" or any(isinstance(part, _GROUPING_SETS) for part in value)):
                raise UnsupportedError(
                    "must be a list of columns and expressions",
                    parameter="GROUP BY",
                    hint="write one query for each grouping and put UNION ALL between them",
                    position=place(group),
                )

    def _spelled(self, syntax: exp.Expr) -> str:
        if isinstance(syntax, exp.Column):
            return syntax.name
        return spelling(syntax) if self.scope.find(syntax) else f"key_{len(self.keys) + 1}"

    def _add_key(self, expression: Expression, otherwise: str) -> None:
        if all(expression != known for _, known in self.keys):
            name = self._selected_name(expression) or unique(otherwise, self._taken())
            self.keys.append((name, expression))

    def _taken(self) -> set[str]:
        return {*(name for name, _ in self.keys), *(item.name for item in self.items if item.name)}

    def _selected_name(self, expression: Expression) -> str | None:
        """The name under which the select list shows a key."""
        plain = (item for item in self.items if not has_aggregate(item.syntax) and self._bound(item.syntax) is None)
        return next((item.default_name for item in plain if self._over_input(item.syntax) == expression), None)

    def _over_input(self, syntax: exp.Expr) -> Expression | None:
        """The tree read over the input's columns; None when it reads anything else."""
        try:
            return self.scalars.read(syntax)
        except (QueryError, UnsupportedError):
            return None

    # The columns

    def _read_columns(self) -> Columns:
        """Plain aggregates first, so that others can share them."""
        taken = {*_RESERVED, *self._taken()}
        names: dict[int, str] = {}
        for item in self.items:
            if item.is_direct:
                call = read_call(item.syntax, self.scalars)
                name = names[item.number] = item.name or unique(call.name, taken)
                taken.add(name)
                self.calls.append(replace(call, name=name))
        return [
            (item, names[item.number], Column(names[item.number]))
            if item.is_direct
            else (item, item.default_name, self.above.read(item.syntax))
            for item in self.items
        ]

    def _above(self, syntax: exp.Expr) -> Expression | None:
        """What a tree means above the aggregation: an aggregate, a bound of the window, a key."""
        if is_aggregate(syntax):
            return Column(self._shared(read_call(syntax, self.scalars)))
        bound = self._bound(syntax)
        if bound is not None:
            return bound
        if self.scope.is_word(syntax):
            return None
        key = self._key(syntax)
        if key is None and (isinstance(syntax, exp.Column) or self.scope.find(syntax)):
            raise self._not_grouped(syntax)
        return key

    def _shared(self, call: AggregateCall) -> str:
        """The name of an aggregate that is not an item of its own: another's, or a hidden one."""
        for known in self.calls:
            if replace(known, name=call.name) == call:
                return known.name
        taken = {*(known.name for known in self.calls), *(name for name, _ in self.keys)}
        hidden = next(name for number in count(1) if (name := f"_{number}") not in taken)
        self.calls.append(replace(call, name=hidden))
        return hidden

    def _key(self, syntax: exp.Expr) -> Column | None:
        if has_aggregate(syntax):
            return None
        expression = self._over_input(syntax)
        return next((Column(name) for name, known in self.keys if expression == known), None)

    def _not_grouped(self, syntax: exp.Expr) -> QueryError:
        if isinstance(syntax, exp.Column):
            self.scope.column(syntax)  # raises when there is no such column at all
        name = spelling(syntax)
        if self.over:
            return QueryError(
                "must be in PARTITION BY, be the time, or stand inside an aggregate",
                parameter=name,
                hint=f"a result has its partition, its window, its aggregates: PARTITION BY {name}, or last({name})",
                position=place(syntax),
            )
        return QueryError(
            "must be in GROUP BY or inside an aggregate",
            parameter=name,
            hint=f"write GROUP BY {name}, or max({name})",
            position=place(syntax),
        )

    # HAVING and the answer

    def _read_having(self, columns: Columns) -> Expression | None:
        having = self.select.args.get("having")
        if having is None:
            return None
        named = [(name, expression) for item, name, expression in columns if item.is_alias or item.is_direct]
        aliases = {name.lower(): expression for name, expression in named}
        self.scope = replace(self.scope, aliases=tuple(name for name, _ in named))

        def special(syntax: exp.Expr) -> Expression | None:
            """An alias of the select list counts here, unless it is a key."""
            plain = isinstance(syntax, exp.Column) and not syntax.table
            meant = aliases.get(syntax.name.lower()) if plain else None
            return meant if meant is not None and self._key(syntax) is None else self._above(syntax)

        return Scalars(self.scope, special, above=self._answers).read(having.this)

    def _answers(self) -> pa.Schema:
        """The columns that the keys and the aggregates read so far give, whatever is asked of those to come."""
        return shape_of(replace(self._node(), compression=LOSSLESS)).schema

    def _node(self) -> WindowAggregate:
        settings = as_said({suffix.field: suffix.value for suffix in self._suffixes()})
        return WindowAggregate(self.relation.node, self.window, tuple(self.keys), tuple(self.calls), **settings)

    def _suffixes(self) -> tuple[Suffix, ...]:
        suffixes: tuple[Suffix, ...] = self.select.meta.get(SUFFIXES, ())
        joins = bool(self.select.args.get("joins"))
        own = (s for s in suffixes if s.field != "time" and not (joins and is_for_joins(s)))
        return tuple(resolved(suffix, self.relation.scope) for suffix in own)

    def _check(self, node: Node, columns: Columns) -> None:
        """Whether it all fits together, with each error at the part of the text that is to blame."""
        aggregate = node.input if isinstance(node, Filter) else node
        for suffix in self._suffixes():
            if suffix.field in ("within", "early", "most_empty"):
                checked(aggregate, suffix.where)
        for suffix in self.select.meta.get(SUFFIXES, ()):
            check_bounds(suffix, aggregate)
        schema = shape_of(checked(aggregate, place(self.select.expressions[0]))).schema
        if isinstance(node, Filter):
            checked(node, place(self.select.args["having"]))
        for item, _, expression in columns:
            with pointing(place(item.syntax)):
                type_of(expression, schema)

    def _projected(self, node: Node, aggregate: WindowAggregate, columns: Columns) -> Node:
        """The selected columns above the node, or the node itself when its columns are what was asked for."""
        asked = [(name, expression) for _, name, expression in columns]
        groups = [Column(name) for name, _ in self.keys]
        groups += [Column("window_start")] if self.per_value else []
        last = max((number for number, (_, read) in enumerate(asked, 1) if read in groups), default=0)
        names = [name for name, _ in asked]
        behind = {"revision": aggregate.late is Late.REVISE, "kind": aggregate.early is not None}
        asked[last:last] = [(name, Column(name)) for name in BOUNDS if name not in names]
        asked += [(name, Column(name)) for name, is_given in behind.items() if is_given and name not in names]
        if asked == [(name, Column(name)) for name in shape_of(aggregate).schema.names]:
            return node
        return checked(Project(node, tuple(asked)), place(self.select.expressions[-1]))
