"""FROM with several inputs: joins, read from left to right, each with its window and its conditions.

Conditions of WHERE between the inputs become part of inner joins; those on one input alone are tried before it joins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError, WindrowError
from windrow.language.expressions.names import Scope, Side
from windrow.language.expressions.positions import checked, find_name, place, pointing
from windrow.language.grammar.clauses import SUFFIXES, Suffix
from windrow.language.joins.conditions import columns_read, parts_of, read_condition
from windrow.language.joins.windows import JoinInput, read_join_window
from windrow.language.queries.compress import compression_of_joins
from windrow.language.queries.relations import QueryContext, Relation, read_input
from windrow.physical.rules.choose_joins import choose_join
from windrow.plan.build.joins import Both, other_times, sliding
from windrow.plan.checks.nodes import shape_of
from windrow.plan.conditions import conjunction, split_interval
from windrow.plan.nodes import Filter, Join, JoinStrategy, JoinTime, Late
from windrow.plan.types.expressions import type_of
from windrow.semantics.joins import LEFT, RIGHT, AsOf, JoinKind, JoinWindow
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import Call, Column, Expression

_KINDS = {
    **dict.fromkeys((("", ""), ("", "INNER"), ("", "CROSS")), JoinKind.INNER),
    **dict.fromkeys((("LEFT", ""), ("LEFT", "OUTER")), JoinKind.LEFT),
    **dict.fromkeys((("RIGHT", ""), ("RIGHT", "OUTER")), JoinKind.RIGHT),
    **dict.fromkeys((("FULL", ""), ("FULL", "OUTER"), ("", "OUTER")), JoinKind.FULL),
    **dict.fromkeys((("", "SEMI"), ("LEFT", "SEMI")), JoinKind.SEMI),
    **dict.fromkeys((("", "ANTI"), ("LEFT", "ANTI")), JoinKind.ANTI),
}
_UNDERSTOOD = frozenset({"this", "side", "kind", "method", "on", "using"})


def is_for_joins(suffix: Suffix) -> bool:
    """Whether a setting after a query that joins is one of its joins: their results are never late for a window."""
    return isinstance(suffix.value, (Late, JoinStrategy))


def is_as_of(join: exp.Join) -> bool:
    return bool(join.method == "ASOF")


def kind_of(join: exp.Join) -> JoinKind:
    """The kind that a join asks for, or an error for what there is not."""
    where = place(join.this)
    words = " ".join(filter(None, (join.method, join.side, join.kind)))
    kind = _KINDS.get((join.side, join.kind))
    if is_as_of(join) and kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise QueryError(
            "must be ASOF JOIN or ASOF LEFT JOIN: each left row meets one right row",
            parameter="join",
            value=words,
            hint="exchange the sides, or use a join with a window",
            position=where,
        )
    if kind is None or join.method not in ("", "ASOF"):
        hint = "there are [INNER], LEFT, RIGHT and FULL JOIN, SEMI and ANTI JOIN, ASOF [LEFT] JOIN and CROSS JOIN"
        if join.method == "NATURAL":
            hint = "name the columns: JOIN b USING (key)"
        raise UnsupportedError("is not available", parameter=f"{words} JOIN", hint=hint, position=where)
    for word, value in join.args.items():
        if value and word not in _UNDERSTOOD:
            raise UnsupportedError("is not available in a join", parameter=word.upper(), position=where)
    return kind


@dataclass
class Joining:
    """The joins of one SELECT being read."""

    select: exp.Select
    context: QueryContext
    above: list[exp.Expr] = field(default_factory=list)
    """The conditions of WHERE that are left for the results of the joins."""

    def __post_init__(self) -> None:
        self.joins: list[exp.Join] = self.select.args["joins"]
        self.kinds = [kind_of(join) for join in self.joins]

    def read(self) -> Relation:
        inputs = [self._input(syntax) for syntax in (self.select.args["from_"].this, *(j.this for j in self.joins))]
        self._check_aliases(inputs)
        between = self._distribute(inputs)
        inputs = self._with_common_window(inputs)
        left = inputs[0]
        for number, (join, kind) in enumerate(zip(self.joins, self.kinds, strict=True), 1):
            left = self._joined(left, inputs[number], join, kind, between.get(number, []))
        return left.relation

    def _input(self, syntax: exp.Expr) -> JoinInput:
        relation, clauses = read_input(syntax, self.context)
        if not relation.scope.sides[0].qualifiers:
            raise QueryError(
                "must have a name in a join",
                parameter="subquery",
                hint="write (SELECT ...) AS q",
                position=place(syntax),
            )
        for clause in clauses[1:]:
            raise QueryError(
                "must be given only once for a side of a join",
                parameter="window",
                hint="write it after the last stream of a union",
                position=clause.where,
            )
        return JoinInput(relation, clauses[0] if clauses else None, syntax)

    def _check_aliases(self, inputs: Sequence[JoinInput]) -> None:
        for number, one in enumerate(inputs):
            if find_name(one.side.alias, [other.side.alias for other in inputs[:number]]):
                raise QueryError(
                    "names two sides of the join",
                    parameter=one.side.alias,
                    hint="give each a name of its own: FROM ... AS a JOIN ... AS b",
                    position=place(one.syntax),
                )

    def _with_common_window(self, inputs: list[JoinInput]) -> list[JoinInput]:
        """One tumbling window after the last input is for all of them."""
        last = inputs[-1].clause
        if last is None or not last.tumbling or any(one.clause is not None for one in inputs[:-1]):
            return inputs
        return [inputs[0], *(replace(one, clause=last) for one in inputs[1:])]

    # WHERE

    def _distribute(self, inputs: list[JoinInput]) -> dict[int, list[exp.Expr]]:
        """The conditions of WHERE for each join, by its number; others stay above, or are tried on their input."""
        where = self.select.args.get("where")
        if where is None:
            return {}
        if not all(kind is JoinKind.INNER and not is_as_of(j) for j, kind in zip(self.joins, self.kinds, strict=True)):
            self.above = [where.this]
            return {}
        between: defaultdict[int, list[exp.Expr]] = defaultdict(list)
        alone: defaultdict[int, list[exp.Expr]] = defaultdict(list)
        scope = self._owners(inputs)
        for part in parts_of(where.this):
            read = columns_read(part, scope)
            owners = sorted({int(name.partition(":")[0]) for name in read or ()})
            if len(owners) > 1:
                between[owners[-1]].append(part)
            elif owners and not self._counts_rows(inputs):
                alone[owners[0]].append(part)
            else:
                self.above.append(part)
        for number, parts in alone.items():
            inputs[number] = self._filtered(inputs[number], parts)
        return between

    def _owners(self, inputs: Sequence[JoinInput]) -> Scope:
        """A scope in which the name of a column begins with the number of its input."""
        own = (one.side for one in inputs)
        sides = [Side(side.qualifiers, {name: f"{n}:{name}" for name in side.columns}) for n, side in enumerate(own)]
        merged: dict[str, str] = {}
        for number, join in enumerate(self.joins, 1):
            for syntax in join.args.get("using") or ():
                for side in sides[: number + 1]:
                    name = find_name(syntax.name, side.columns)
                    if name is not None:
                        merged.setdefault(name, side.columns[name])
        return Scope(pa.schema([]), tuple(sides), merged)

    def _counts_rows(self, inputs: Sequence[JoinInput]) -> bool:
        """Whether windows hold the last rows: which those are must not depend on a filter."""
        return any(one.clause is not None and one.relation.counts_rows(one.clause) for one in inputs)

    def _filtered(self, one: JoinInput, parts: list[exp.Expr]) -> JoinInput:
        predicate = conjunction(read_condition(part, one.relation.scope) for part in parts)
        assert predicate is not None
        node = checked(Filter(one.relation.node, predicate), place(parts[0]))
        return replace(one, relation=replace(one.relation, node=node))

    # One join

    def _joined(
        self, left: JoinInput, right: JoinInput, join: exp.Join, kind: JoinKind, where: list[exp.Expr]
    ) -> JoinInput:
        aliases = "_".join(side.alias for side in left.relation.scope.sides), right.side.alias
        both = Both(left.relation.node, right.relation.node, aliases, kind)
        with pointing(place(right.syntax)):
            scope = self._scope(left.relation, right.relation, both)
        on = self._condition(join, where, scope, left.relation, right.relation)
        both, window, on = self._window(both, left, right, join, on)
        node = self._join(both, window, on, join, right)
        side = RIGHT if node.time is JoinTime.RIGHT else LEFT
        relation = self._relation(node, scope, left.relation, join)
        return JoinInput(relation, (left, right)[side].clause, right.syntax, is_join=True)

    def _scope(self, left: Relation, right: Relation, both: Both) -> Scope:
        """What the conditions of a join read."""
        names = both.called(LEFT), both.called(RIGHT)
        sides = [
            Side(side.qualifiers, {own: names[number][name] for own, name in side.columns.items()})
            for number, relation in enumerate((left, right))
            for side in relation.scope.sides
        ]
        merged = {own: names[LEFT][name] for own, name in left.scope.merged.items()}
        return Scope(both.schema, tuple(sides), merged, both.times, left.scope.hidden)

    def _condition(
        self, join: exp.Join, where: list[exp.Expr], scope: Scope, left: Relation, right: Relation
    ) -> Expression | None:
        on = join.args.get("on")
        parts = [self._equal(syntax, scope, left, right) for syntax in join.args.get("using") or ()]
        parts += [read_condition(part, scope) for part in (*(parts_of(on) if on else ()), *where)]
        return conjunction(parts)

    def _equal(self, syntax: exp.Expr, scope: Scope, left: Relation, right: Relation) -> Expression:
        """The equality that a name in USING stands for."""
        columns = []
        count = len(left.scope.sides)
        with pointing(place(syntax)):
            for relation, sides in ((left, scope.sides[:count]), (right, scope.sides[count:])):
                found = Scope(pa.schema([]), sides, scope.merged).resolve(syntax.name)
                if found is None:
                    raise QueryError(
                        "must be a column of both sides",
                        parameter="using",
                        value=f"{syntax.name}, which {relation.scope.sides[-1].alias} does not have",
                        hint="write ON a.key = b.other",
                    )
                columns.append(Column(found))
            call = Call("=", tuple(columns))
            type_of(call, scope.schema)
        return call

    def _window(
        self, both: Both, left: JoinInput, right: JoinInput, join: exp.Join, on: Expression | None
    ) -> tuple[Both, JoinWindow, Expression | None]:
        if left.is_join and (right.clause is None or is_as_of(join)):
            left = replace(left, clause=None)
        if is_as_of(join):
            return self._as_of(both, left, right, join, on)
        window = read_join_window(left, right, both.domain)
        if window is not None:
            return both, window, on
        ways = [(both.times, both)]  # the times an interval may be on: a join on the left has several
        for name, node in other_times(both.left):
            ways.append(((both.called(LEFT)[name], both.times[RIGHT]), replace(both, left=node)))
        for times, candidate in ways:
            found, rest = split_interval(on, times, both.schema)
            if found is not None:
                return candidate, found, rest
        raise self._unbounded(both, right)

    def _as_of(
        self, both: Both, left: JoinInput, right: JoinInput, join: exp.Join, on: Expression | None
    ) -> tuple[Both, JoinWindow, Expression | None]:
        window, rest = both.as_of(on)
        one, other = left.side.alias, right.side.alias
        if left.clause is not None:
            raise QueryError(
                "goes after the right side of an as-of join, where it says how far apart two rows may be",
                parameter="window",
                hint=f"write {other} [RANGE 5 MINUTES], or leave it out",
                position=left.where,
            )
        if window is None:
            times = [f"{alias}.{shape.time}" for alias, shape in zip((one, other), both.shapes, strict=True)]
            raise QueryError(
                "needs one comparison of the two times, to say which row is the nearest",
                parameter="asof",
                hint=f"add {times[0]} >= {times[1]} for the last row before, or <= for the first after",
                position=place(join.args.get("on") or join.this),
            )
        return both, self._limited(window, right, both), rest

    def _limited(self, window: AsOf, right: JoinInput, both: Both) -> AsOf:
        """The as-of window, no wider than the clause of its right side."""
        if right.clause is None:
            return window
        right.check()
        if right.is_tumbling:
            raise QueryError(
                "cannot be tumbling for an as-of join: the nearest row may lie in another window",
                parameter="window",
                hint=f"write {right.side.alias} [RANGE 5 MINUTES], which says how far apart two rows may be",
                position=right.part.where,
            )
        with pointing(right.part.where):
            reach = sliding(right.range, right.range, both.domain).high
        return replace(window, within=reach if window.within is None else min(reach, window.within))

    def _unbounded(self, both: Both, right: JoinInput) -> QueryError:
        one, other = both.aliases
        first, second = (shape.time for shape in both.shapes)
        amount, length = ("INTERVAL '5' SECOND", "3 MINUTES") if both.domain is Domain.TIME else ("5", "3")
        return QueryError(
            "must be bounded in time, or every row would be kept for ever",
            parameter="join",
            hint=f"write {one} [RANGE {length}] and {other} [RANGE {length}]; or {other} [RANGE TUMBLING {length}] for "
            f"both; or AND {other}.{second} BETWEEN {one}.{first} - {amount} AND {one}.{first} + {amount}",
            position=place(right.syntax),
        )

    def _join(self, both: Both, window: JoinWindow, on: Expression | None, join: exp.Join, right: JoinInput) -> Join:
        suffixes: tuple[Suffix, ...] = self.select.meta.get(SUFFIXES, ())
        settings = {s.field: s.value for s in suffixes if is_for_joins(s)}
        held = compression_of_joins(suffixes)
        node = checked(both.join(window, on, compression=held, **settings), place(right.syntax))
        try:
            choose_join(node)
        except WindrowError as error:
            asked = [s.where for s in suffixes if s.field == "strategy" == error.parameter]
            raise error.at([*asked, place(join.args.get("on") or join.this)][0]) from None
        return node

    def _relation(self, node: Join, scope: Scope, left: Relation, join: exp.Join) -> Relation:
        """What the rest of the query sees of a join: the sides whose rows come out."""
        sides = scope.sides[: len(left.scope.sides)] if node.kind.is_half else scope.sides
        merged = dict(scope.merged)
        for syntax in join.args.get("using") or ():
            known = find_name(syntax.name, merged)
            if known is not None and node.kind is JoinKind.FULL:
                del merged[known]
            elif known is None or node.kind is JoinKind.RIGHT:
                merged |= self._merged(syntax.name, scope, node.kind, len(left.scope.sides))
        times = None if node.kind.is_half else scope.times
        gone = [name for side in scope.sides[len(sides) :] for name in side.qualifiers]
        hidden = tuple(dict.fromkeys([*left.scope.hidden, *gone]))
        shape = shape_of(node)
        return Relation(Scope(shape.schema, sides, merged, times, hidden), node, shape)

    def _merged(self, name: str, scope: Scope, kind: JoinKind, count: int) -> dict[str, str]:
        """The column that a name of USING stands for: that of the side whose rows all come out."""
        if kind is JoinKind.FULL:
            return {}
        sides = scope.sides[count:] if kind is JoinKind.RIGHT else scope.sides[:count]
        found = [(own, side.columns[own]) for side in sides if (own := find_name(name, side.columns))]
        return dict(found[:1])
