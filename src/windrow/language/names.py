"""What a name in a query refers to: a column by its spelling, its case, its hyphens or its qualifier."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from windrow.errors import QueryError
from windrow.language.places import did_you_mean, find_name, place, span_of
from windrow.plan.types import unknown_column

_HYPHENATED = re.compile(r"[^\W\d]\w*(-\w+)+\Z")


@dataclass(frozen=True)
class Scope:
    """The columns an expression may read, and the names that may qualify them."""

    text: str
    schema: pa.Schema
    qualifiers: tuple[str, ...] = ()

    def find(self, node: exp.Expr) -> str | None:
        """The column a name means; None when it is no name, or a quoted word that is no column."""
        if isinstance(node, exp.Sub):
            return self._find_hyphenated(node)
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
            return None
        self._check_qualifier(node)
        if node.this.quoted:
            return node.name if node.name in self.schema.names else None
        return find_name(node.name, self.schema.names)

    def column(self, node: exp.Column) -> str:
        """The column a name means, or an error that names the nearest one."""
        found = self.find(node)
        if found is None:
            raise unknown_column(node.name, self.schema.names).at(place(self.text, node))
        return found

    def is_string(self, node: exp.Column) -> bool:
        """Whether a double-quoted word is no column and therefore a string, as the papers write them."""
        return (
            isinstance(node.this, exp.Identifier)
            and bool(node.this.quoted)
            and not node.table
            and node.name not in self.schema.names
        )

    def _find_hyphenated(self, node: exp.Sub) -> str | None:
        """`bid-price`, when there is such a column (or `bid_price`) and its parts are not columns themselves."""
        name = spelling(self.text, node)
        if not _HYPHENATED.match(name) or all(find_name(part, self.schema.names) for part in name.split("-")):
            return None
        names = self.schema.names
        return find_name(name, names) or find_name(name.replace("-", "_"), names)

    def _check_qualifier(self, node: exp.Column) -> None:
        if node.table and not find_name(node.table, self.qualifiers):
            raise QueryError(
                "is not a stream of this query",
                parameter=node.table,
                hint=did_you_mean(node.table, self.qualifiers, f"FROM names {', '.join(self.qualifiers) or 'none'}"),
                position=place(self.text, node.args["table"]),
            )


def spelling(text: str, node: exp.Expr) -> str:
    """The text a syntax tree was read from.

    For a tree whose end has no place of its own (a closing parenthesis) the text stops before it.
    """
    span = span_of(node)
    return text[span.start : span.end]
