"""The conditions of a join: expressions over the columns of both sides, and which sides a condition reads."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from windrow.language.expressions.names import Scope, Side
from windrow.language.expressions.scalars import Scalars
from windrow.plan.build.joins import Both
from windrow.plan.nodes import Distinct, Filter, Join, Node
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.scalars.expressions import Column, Expression, Literal

_COMPARISONS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
"""Each comparison, and the one that means the same with its sides exchanged."""


def sides_of(node: Node | None) -> tuple[Side, ...]:
    """The inputs of the joins that a plan's columns come from, so that text written later can still name `a.x`."""
    if isinstance(node, (Filter, Distinct)):
        return sides_of(node.input)
    if not isinstance(node, Join):
        return ()
    found: list[Side] = []
    for side in (LEFT,) if node.kind.is_half else (LEFT, RIGHT):
        called = {source: name for name, source in node.names_of(side).items()}
        found += _named((node.left, node.right)[side], node.aliases[side], called)
    return tuple(found)


def condition_scope(both: Both) -> Scope:
    """What the condition of a join reads when it is written as text of its own."""
    children = enumerate((both.left, both.right))
    sides = [side for n, child in children for side in _named(child, both.aliases[n], both.called(n))]
    return Scope(both.schema, tuple(sides), {}, both.times)


def _named(child: Node, alias: str, called: dict[str, str]) -> Iterator[Side]:
    yield Side((alias,), called)
    for inner in sides_of(child):
        yield Side(inner.qualifiers, {own: called[name] for own, name in inner.columns.items() if name in called})


def parts_of(syntax: exp.Expr) -> Iterator[exp.Expr]:
    """The trees that must all hold for a tree to hold."""
    syntax = syntax.unnest()
    if isinstance(syntax, exp.And):
        yield from parts_of(syntax.this)
        yield from parts_of(syntax.expression)
    else:
        yield syntax


def columns_read(syntax: exp.Expr, scope: Scope) -> set[str] | None:
    """The columns that a tree reads; None when it names one that there is not."""
    if isinstance(syntax, (exp.Column, exp.Sub)):
        found = scope.find(syntax)
        if found is not None:
            return {found}
        if isinstance(syntax, exp.Column):
            return set() if scope.is_text(syntax) else None
    read: set[str] = set()
    for child in syntax.iter_expressions():
        below = columns_read(child, scope)
        if below is None:
            return None
        read |= below
    return read


def read_condition(syntax: exp.Expr, scope: Scope) -> Expression:
    """The condition that a tree means."""
    return _ConditionReader(scope).scalars.read(syntax)


class _ConditionReader:
    """Reads conditions in which `a.ts - b.ts <= 5` stands for `a.ts <= b.ts + 5`, as it holds for timestamps too."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.scalars = Scalars(scope, self._distance)

    def _distance(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Between):
            low = self._compared(node, ">=", node.this, node.args["low"])
            high = self._compared(node, "<=", node.this, node.args["high"])
            return None if low is None or high is None else self.scalars.call(node, "and", low, high)
        operators = _COMPARISONS.get(type(node))
        if operators is None:
            return None
        straight = self._compared(node, operators[0], node.this, node.expression)
        return straight or self._compared(node, operators[1], node.expression, node.this)

    def _compared(self, node: exp.Expr, operator: str, difference: exp.Expr, bound: exp.Expr) -> Expression | None:
        """A comparison of the difference of the two times, or of its size, with a constant."""
        is_size = isinstance(difference, exp.Anonymous) and difference.name.lower() == "abs"
        inner = difference.expressions[0] if is_size and difference.expressions else difference
        times = self._times(inner.unnest())
        if times is None or (is_size and operator not in ("<", "<=")):
            return None
        amount = self.scalars.read(bound)
        if not isinstance(amount, Literal):
            return None
        one, other = times
        call = self.scalars.call
        upper = call(node, operator, one, call(node, "+", other, amount))
        if not is_size:
            return upper
        opposite = {"<": ">", "<=": ">="}[operator]
        return call(node, "and", call(node, opposite, one, call(node, "-", other, amount)), upper)

    def _times(self, node: exp.Expr) -> tuple[Column, Column] | None:
        """The two times that a tree subtracts, in its order."""
        if not isinstance(node, exp.Sub) or self.scope.times is None or self.scope.find(node):
            return None
        names = self.scope.find(node.this), self.scope.find(node.expression)
        if None in names or set(names) != set(self.scope.times):
            return None
        return Column(str(names[0])), Column(str(names[1]))
