"""What the aliases of a plan's joins stand for, so that text written later can still say `a.x`."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.language.expressions.names import Scope, Side
from windrow.plan.build.joins import Both
from windrow.plan.nodes import Distinct, Filter, Join, Node
from windrow.semantics.joins import LEFT, RIGHT


def sides_of(node: Node | None) -> tuple[Side, ...]:
    """The inputs of the joins that a plan's columns come from."""
    if isinstance(node, (Filter, Distinct)):
        return sides_of(node.input)
    if not isinstance(node, Join):
        return ()
    found: list[Side] = []
    for side in (LEFT,) if node.kind.is_half else (LEFT, RIGHT):
        called = {source: name for name, source in node.names_of(side).items()}
        found += _named((node.left, node.right)[side], node.aliases[side], called)
    return tuple(found)


def condition_scope(text: str, both: Both) -> Scope:
    """What the condition of a join reads when it is written as text of its own."""
    sides = [
        side
        for number, child in enumerate((both.left, both.right))
        for side in _named(child, both.aliases[number], both.called(number))
    ]
    return Scope(text, both.schema, tuple(sides), {}, both.times)


def _named(child: Node, alias: str, called: dict[str, str]) -> Iterator[Side]:
    yield Side((alias,), called)
    for inner in sides_of(child):
        yield Side(inner.qualifiers, {own: called[name] for own, name in inner.columns.items() if name in called})
