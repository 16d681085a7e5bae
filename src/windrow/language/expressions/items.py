"""The select list: its items, the names of the columns they give."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.language.expressions.calls import is_aggregate
from windrow.language.expressions.names import Scope, spelling


@dataclass(frozen=True)
class Item:
    """One item of a select list: its expression, and the name it was given or is spelled with."""

    syntax: exp.Expr
    name: str | None
    number: int
    is_alias: bool = False

    @property
    def is_direct(self) -> bool:
        """Whether the item is an aggregate and nothing around it."""
        return is_aggregate(self.syntax)

    @property
    def is_column(self) -> bool:
        """Whether the item is a column under its own name."""
        return isinstance(self.syntax, exp.Column) and not self.is_alias

    @property
    def default_name(self) -> str:
        return self.name or f"column_{self.number}"


def read_items(select: exp.Select, scope: Scope) -> list[Item]:
    """The items in order; stars stay stars."""
    items = [_item(syntax, scope, number) for number, syntax in enumerate(select.expressions, 1)]
    return [_told_apart(item, items, scope) for item in items]


def _told_apart(item: Item, items: list[Item], scope: Scope) -> Item:
    """The item, called as in the join where columns of two inputs would have the same name."""
    alike = [other for other in items if other.name == item.name]
    if item.name is None or not item.is_column or len(alike) < 2:
        return item
    assert isinstance(item.syntax, exp.Column)
    return replace(item, name=scope.told_apart(item.syntax))


def _item(syntax: exp.Expr, scope: Scope, number: int) -> Item:
    if isinstance(syntax, exp.Alias):
        return Item(_unwrapped(syntax.this), syntax.alias, number, is_alias=True)
    syntax = _unwrapped(syntax)
    if isinstance(syntax, exp.Column) and not is_star(syntax):
        return Item(syntax, syntax.name, number)
    if isinstance(syntax, exp.Sub) and scope.find(syntax):
        return Item(syntax, spelling(scope.text, syntax), number)
    if isinstance(syntax, exp.Anonymous) and scope.find(syntax):
        return Item(syntax, scope.find(syntax), number)
    return Item(syntax, None, number)


def _unwrapped(syntax: exp.Expr) -> exp.Expr:
    return _unwrapped(syntax.this) if isinstance(syntax, exp.Paren) else syntax


def is_star(syntax: exp.Expr) -> bool:
    """`*` or `t.*`."""
    return isinstance(syntax, exp.Star) or (isinstance(syntax, exp.Column) and isinstance(syntax.this, exp.Star))


def unique(name: str, taken: Iterable[str]) -> str:
    """The name, with a number behind it when it is taken.

    >>> unique("count", {"count", "count_2"})
    'count_3'
    """
    taken = set(taken)
    numbers = (number for number in range(2, len(taken) + 3) if f"{name}_{number}" not in taken)
    return name if name not in taken else f"{name}_{next(numbers)}"
