"""The select list: its items, the names of the columns they give, and what GROUP BY means by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.expressions.calls import is_aggregate
from windrow.language.expressions.names import Scope
from windrow.language.expressions.positions import place, spelling


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
    names = Counter(item.name for item in items)
    # Where columns of two inputs would have the same name, they are called as in the join.
    alike = [item for item in items if item.is_column and item.name and names[item.name] > 1]
    return [replace(item, name=scope.distinct_name(item.syntax)) if item in alike else item for item in items]


def _item(syntax: exp.Expr, scope: Scope, number: int) -> Item:
    if isinstance(syntax, exp.Alias):
        return Item(syntax.this.unnest(), syntax.alias, number, is_alias=True)
    syntax = syntax.unnest()
    if isinstance(syntax, exp.Column) and not is_star(syntax):
        return Item(syntax, syntax.name, number)
    if isinstance(syntax, exp.Sub) and scope.find(syntax):
        return Item(syntax, spelling(syntax), number)
    return Item(syntax, scope.find(syntax) if isinstance(syntax, exp.Anonymous) else None, number)


def trees_of(select: exp.Select) -> list[exp.Expr]:
    """Where aggregates may stand: the select list and HAVING."""
    return [*select.expressions, *filter(None, [select.args.get("having")])]


def group_targets(select: exp.Select, items: list[Item], scope: Scope) -> list[exp.Expr]:
    """What GROUP BY lists, positions and aliases of the select list resolved; a column of the input goes first."""
    group = select.args.get("group")
    return [_group_target(syntax, items, scope) for syntax in (group.expressions if group else ())]


def _group_target(syntax: exp.Expr, items: list[Item], scope: Scope) -> exp.Expr:
    if isinstance(syntax, exp.Literal) and not syntax.is_string:
        number = int(syntax.name) if syntax.name.isdigit() else 0
        if not 1 <= number <= len(items):
            raise QueryError(
                f"must be a position in the select list, from 1 to {len(items)}",
                parameter="GROUP BY",
                value=syntax.name,
                position=place(syntax),
            )
        return items[number - 1].syntax
    if isinstance(syntax, exp.Column) and not syntax.table and scope.find(syntax) is None:
        return next((item.syntax for item in items if item.is_alias and item.name == syntax.name), syntax)
    return syntax


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
