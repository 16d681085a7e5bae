"""What a name in a query refers to: a column by its spelling, its case, its hyphens or its qualifier."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from windrow.errors import Position, QueryError
from windrow.language.expressions.positions import did_you_mean, find_name, place, pointing, spelling
from windrow.language.grammar.clauses import Attribute
from windrow.plan.types.expressions import near_hint, nearest, unknown_column

_HYPHENATED = re.compile(r"[^\W\d]\w*(-\w+)+\Z")
_TIMES = {"least": "earlier", "greatest": "later"}
"""What the two times of a join are called together, and the column that a join gives them in."""


@dataclass(frozen=True)
class Side:
    """One input of FROM: the names that qualify its columns, its alias first, and what each column is called here."""

    qualifiers: tuple[str, ...]
    columns: Mapping[str, str]

    @property
    def alias(self) -> str:
        return self.qualifiers[0] if self.qualifiers else ""


@dataclass(frozen=True)
class Scope:
    """The columns an expression may read, and the inputs whose names may qualify them.

    `merged` are names that stand for one column although several inputs have it, by USING; `times` are the two
    times of a join, of which the earlier and the later one may be named; `hidden` are names of inputs whose rows do
    not come out of a join; `aliases` are what HAVING may name besides.
    """

    schema: pa.Schema
    sides: tuple[Side, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)
    times: tuple[str, str] | None = None
    hidden: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def find(self, node: exp.Expr) -> str | None:
        """The column a name means; None when it is no name, or a quoted word that is no column."""
        if isinstance(node, exp.Sub):
            return self._find_hyphenated(node)
        if isinstance(node, exp.Anonymous):
            time = self.time_of(node)
            return time if time in self.schema.names else None
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        if node.table:
            self.qualified(node.table, place(node.args["table"]))
        with pointing(place(node)):
            return self.resolve(node.name, node.table or None, exact=bool(node.this.quoted))

    def column(self, node: exp.Column) -> str:
        """The column a name means, or an error that names the nearest one."""
        found = self.find(node)
        if found is None:
            error = self.unknown(node.name, node.table)
            if self.is_word(node):
                error.hint = f"{error.hint}; as text it is written {exp.Literal.string(node.name).sql()}"
            raise error.at(place(node))
        return found

    def distinct_name(self, node: exp.Expr) -> str:
        """A column's name after that of its input, where a query reads several."""
        found = self.find(node)
        owners = [side for side in self.sides if found in side.columns.values()]
        return f"{owners[0].alias}_{node.name}" if len(self.sides) > 1 and owners else node.name

    def unknown(self, name: str, qualifier: str | None = None) -> QueryError:
        """The error for a name that is no column; those of several inputs are listed with their inputs."""
        if len(self.sides) < 2 or qualifier:
            return unknown_column(name, self.known(qualifier))
        spelled = {f"{side.alias}.{own}": own for side in self.sides for own in side.columns}
        near = nearest(name, [*spelled.values(), *self.aliases])
        meant = [full for full, own in spelled.items() if own == near] or [near or ""]
        hint = near_hint(near and " or ".join(meant), f"the columns are {', '.join([*spelled, *self.aliases])}")
        return QueryError("is not a column of the inputs", parameter=name, hint=hint)

    def known(self, qualifier: str | None) -> list[str]:
        """The columns that may be named, after a qualifier or without one."""
        if not qualifier or len(self.sides) == 1:
            return list(dict.fromkeys([*self.schema.names, *self.aliases]))
        return list(dict.fromkeys(name for side in self._qualified(qualifier) for name in side.columns))

    def is_word(self, node: exp.Expr) -> bool:
        """Whether a tree is a double-quoted word that is no column: text beside text, as the papers write it."""
        return (
            isinstance(node, exp.Column)
            and isinstance(node.this, exp.Identifier)
            and bool(node.this.quoted)
            and not node.table
            and self.find(node) is None
        )

    def is_text(self, node: exp.Expr) -> bool:
        """Whether a word may be text: not where it looks like a column that was misspelled."""
        return self.is_word(node) and nearest(node.name, [*self._own(), *self.known(None)]) is None

    def _own(self) -> list[str]:
        return [name for side in self.sides for name in side.columns]

    def attribute(self, attribute: Attribute) -> str:
        """The column that a window clause names, or an error that names the nearest one."""
        with pointing(attribute.where):
            name = self._both_named(attribute) if attribute.function in _TIMES else self._named(attribute)
            if name is None:
                raise self.unknown(attribute.name, attribute.qualifier)
            return name

    def _both_named(self, attribute: Attribute) -> str:
        parts = [part for part in (attribute, attribute.other) if part is not None]
        found = self._both_times(str(attribute.function), [self._named(part) for part in parts])
        if found is None:
            times = map(self._spelled, self.times) if self.times else ("a.ts", "b.ts")
            hint = f"write {attribute.function}({', '.join(times)})" + ("" if self.times else " over a join")
            raise QueryError("must be of the two times of a join", parameter=attribute.function, hint=hint)
        return found

    def _spelled(self, column: str) -> str:
        """A column as a query names it."""
        owners = ((side.alias, own) for side in self.sides for own, name in side.columns.items() if name == column)
        return ".".join(next(owners, (column,)))

    def _named(self, attribute: Attribute) -> str | None:
        # With one input a qualifier means nothing, and papers write those of streams that are named elsewhere.
        qualifier = attribute.qualifier if len(self.sides) > 1 or self.hidden else None
        if qualifier:
            self.qualified(qualifier, attribute.where)
        return self.resolve(attribute.name, qualifier) or self.resolve(attribute.name.replace("-", "_"), qualifier)

    def time_of(self, node: exp.Expr) -> str | None:
        """The name of the earlier or the later time of a join, where a call of least or greatest means it."""
        if not isinstance(node, exp.Anonymous) or node.name.lower() not in _TIMES or self.times is None:
            return None
        columns = [part for part in node.expressions if isinstance(part, exp.Column)]
        read = [self.find(column) for column in columns] if len(columns) == len(node.expressions) else []
        return self._both_times(node.name.lower(), read)

    def _both_times(self, function: str, read: list[str | None]) -> str | None:
        is_pair = self.times is not None and len(read) == len(self.times) and set(read) == set(self.times)
        return _TIMES[function] if is_pair else None

    def resolve(self, name: str, qualifier: str | None = None, *, exact: bool = False) -> str | None:
        """The column that a name, with the name of an input in front or not, stands for; None when there is none."""
        found: dict[str, str] = {}
        for side in self._qualified(qualifier) if qualifier else self.sides:
            own = _look(name, side.columns, exact)
            if own is not None:
                found.setdefault(side.columns[own], f"{side.alias}.{own}")
        if len(found) > 1:
            merged = None if qualifier else _look(name, self.merged, exact)
            if merged is None:
                raise QueryError(
                    "is ambiguous: several inputs of the join have it",
                    parameter=name,
                    value=", ".join(found.values()),
                    hint=f"write {' or '.join(found.values())}",
                )
            return self.merged[merged]
        if found or qualifier:
            return next(iter(found), None)
        if self.schema.get_all_field_indices(name):
            return name
        return None if exact else find_name(name, self.schema.names)

    def _qualified(self, qualifier: str) -> list[Side]:
        """The inputs that a qualifier means: the one of that alias, else all that hold a stream of that name."""
        aliased = [side for side in self.sides if find_name(qualifier, side.qualifiers[:1])]
        return aliased or [side for side in self.sides if find_name(qualifier, side.qualifiers)]

    def _find_hyphenated(self, node: exp.Sub) -> str | None:
        """`bid-price`, when there is such a column (or `bid_price`) and its parts are not columns themselves."""
        name = spelling(node)
        known = {*self._own(), *self.schema.names}
        if not _HYPHENATED.match(name) or all(find_name(part, known) for part in name.split("-")):
            return None
        with pointing(place(node)):
            return self.resolve(name) or self.resolve(name.replace("-", "_"))

    def qualified(self, qualifier: str, where: Position) -> list[Side]:
        """The inputs that a qualifier means, of which there must be one."""
        sides = self._qualified(qualifier)
        if not sides and find_name(qualifier, self.hidden):
            raise QueryError(
                "gives no columns: only left rows come out of a SEMI or ANTI join",
                parameter=qualifier,
                hint=f"name the columns of {self.sides[0].alias}, or use another kind of join",
                position=where,
            )
        if not sides:
            known = [name for side in self.sides for name in side.qualifiers]
            raise QueryError(
                "is not a stream of this query",
                parameter=qualifier,
                hint=did_you_mean(qualifier, known, f"FROM names {', '.join(known) or 'none'}"),
                position=where,
            )
        return sides


def _look(name: str, names: Collection[str], exact: bool) -> str | None:
    if exact:
        return name if name in names else None
    return find_name(name, names)


def attribute_at(syntax: exp.Expr) -> Attribute:
    """The column that a syntax tree names, as an attribute of a window."""
    if isinstance(syntax, exp.Column):
        return Attribute(syntax.name, place(syntax), qualifier=syntax.table or None)
    qualifier, _, name = spelling(syntax).rpartition(".")
    return Attribute(name, place(syntax), qualifier=qualifier or None)
