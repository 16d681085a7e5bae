"""Scalar expressions: syntax trees to the nodes of `semantics.expressions`, checked as they are built."""

from __future__ import annotations

from collections.abc import Callable
from datetime import time, timedelta
from typing import Any, TypeAlias

import pyarrow as pa
from sqlglot import exp

from windrow.aggregates import names
from windrow.errors import QueryError, UnsupportedError, WindrowError
from windrow.language.expressions.constants import cast_name, interval_amount, moment
from windrow.language.expressions.function_names import canonical, instead
from windrow.language.expressions.names import Scope
from windrow.language.expressions.positions import did_you_mean, head, place, pointing, spelling
from windrow.plan.types.expressions import check_arity, type_of
from windrow.plan.types.kinds import Family, family_of
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.expressions import FUNCTIONS, Call, Column, Expression, Literal, columns_of

Special: TypeAlias = Callable[[exp.Expr], Expression | None]
"""Looks at a tree first; None leaves it to the ordinary rules."""

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.And: "and",
    exp.Or: "or",
    exp.Like: "like",
    exp.ILike: "like",
    exp.DPipe: "||",
}
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "like"})
_SYNONYMS = {
    "ceiling": "ceil",
    "pow": "power",
    **dict.fromkeys(("char_length", "character_length", "len"), "length"),
    "substr": "substring",
    **dict.fromkeys(("ifnull", "nvl"), "coalesce"),
    "startswith": "starts_with",
    "mod": "%",
    "dayofmonth": "day",
    **dict.fromkeys(("if", "iff"), "case"),
}
_UNCALLABLE = frozenset(name for name in FUNCTIONS if not name.replace("_", "").isalpha()) - {"%"}
_SYNTAX = frozenset({"and", "or", "not", "neg", "in", "case", "cast", "like", "is_null", "within"})


class Scalars:
    """Reads expressions over the columns of one scope.

    `special` sees every tree first: above an aggregation it knows aggregates and group columns, and `above` gives
    their types. Otherwise each call is checked against the scope's schema at once, so that an error points
    at the innermost expression that is wrong.

    A double-quoted word that is no column is text where it is compared with an expression of text, unless it looks
    like a column; anywhere else it is a column that is not there.
    """

    def __init__(
        self, scope: Scope, special: Special = lambda _: None, *, above: Callable[[], pa.Schema] | None = None
    ) -> None:
        self.scope = scope
        self.special = special
        self.above = above

    def read(self, node: exp.Expr) -> Expression:
        found = self.special(node)
        if found is not None:
            return found
        reader = _READERS.get(type(node))
        if reader is not None:
            return reader(self, node)
        if type(node) not in _OPERATORS:
            raise self._unavailable(node)
        return self._operator(_OPERATORS[type(node)], node)

    def _unavailable(self, node: exp.Expr) -> UnsupportedError:
        return UnsupportedError(
            "is not available in expressions",
            parameter=spelling(node) or node.key,
            hint="see the functions and operators in the language reference",
            position=place(node),
        )

    def call(self, node: exp.Expr, function: str, *arguments: Expression) -> Call:
        """A call, with the number and the types of its arguments checked."""
        call = Call(function, arguments)
        with pointing(place(node)):
            check_arity(call)
            if self.above is None:
                type_of(call, self.scope.schema)
        return call

    def _operator(self, operator: str, node: exp.Expr) -> Expression:
        found = self.scope.find(node) if isinstance(node, exp.Sub) else None
        if found is not None:
            return Column(found)
        both = [node.this, node.expression]
        read = self.compared(*both) if operator in _COMPARISONS else [self.read(side) for side in both]
        if isinstance(node, exp.ILike):
            read = [self.call(side, "lower", one) for side, one in zip(both, read, strict=True)]
        call = self.call(node, operator, *read)
        return self.call(node, "not", call) if node.args.get("negate") else call

    def compared(self, *sides: exp.Expr) -> list[Expression]:
        """What stands on the sides of a comparison, where words may be text."""
        read = [None if self._may_be_text(side) else self.read(side) for side in sides]
        families = {self._family(one) for one in read if one is not None}
        return [self._beside(families, side, one) for side, one in zip(sides, read, strict=True)]

    def _beside(self, families: set[Family | None], side: exp.Expr, read: Expression | None) -> Expression:
        """A side of a comparison with columns of these families: a word may be text, `DATE '...'` a date."""
        if read is None:
            return Literal(side.unnest().name) if Family.STRING in families else self.read(side)
        if Family.DATE in families and isinstance(read, Literal) and _is_date(side.unnest()):
            return Literal(read.value.date()) if read.value.time() == time() else read
        return read

    def _may_be_text(self, node: exp.Expr) -> bool:
        node = node.unnest()
        return self.scope.is_text(node) and self.special(node) is None

    def _family(self, expression: Expression) -> Family | None:
        """What an expression that reads a column gives."""
        if not any(columns_of(expression)):
            return None
        try:
            return family_of(type_of(expression, self.scope.schema if self.above is None else self.above()))
        except WindrowError:  # which is raised where the whole is checked
            return None

    def _column(self, node: exp.Column) -> Expression:
        if not isinstance(node.this, exp.Identifier):
            raise self._unavailable(node)
        return Column(self.scope.column(node))

    def _literal(self, node: exp.Literal) -> Literal:
        if node.is_string:
            return Literal(node.name)
        return Literal(int(node.name) if node.name.isdigit() else float(node.name))

    def _interval(self, node: exp.Interval) -> Literal:
        units = interval_amount(node).resolve(Domain.TIME, "interval")
        return Literal(timedelta(microseconds=units))

    def _neg(self, node: exp.Neg) -> Expression:
        inner = self.read(node.this)
        if isinstance(inner, Literal) and isinstance(inner.value, (int, float)) and not isinstance(inner.value, bool):
            return Literal(-inner.value)
        return self.call(node, "neg", inner)

    def _is(self, node: exp.Is) -> Expression:
        """`IS NULL`, `IS TRUE`, `IS FALSE`."""
        inner = self.read(node.this)
        if isinstance(node.expression, exp.Null):
            return self.call(node, "is_null", inner)
        wanted = inner if node.expression.this is True else self.call(node, "not", inner)
        return self.call(node, "coalesce", wanted, Literal(False))

    def _in(self, node: exp.In) -> Expression:
        needle, *values = self.compared(node.this, *node.expressions)
        if not values or not all(isinstance(value, Literal) for value in values):
            raise UnsupportedError(
                "must be a list of constants",
                parameter="in",
                hint="write x IN (1, 2, 3); lists from another query are not available",
                position=place(node),
            )
        return self.call(node, "in", needle, *values)

    def _between(self, node: exp.Between) -> Expression:
        value, low, high = self.compared(node.this, node.args["low"], node.args["high"])
        return self.call(node, "and", self.call(node, ">=", value, low), self.call(node, "<=", value, high))

    def _case(self, node: exp.Case) -> Expression:
        arguments: list[Expression] = []
        for branch in node.args["ifs"]:
            is_equal = node.this and self.call(branch, "=", *self.compared(node.this, branch.this))
            arguments.append(is_equal or self.read(branch.this))
            arguments.append(self.read(branch.args["true"]))
        if node.args.get("default"):
            arguments.append(self.read(node.args["default"]))
        return self.call(node, "case", *arguments)

    def _cast(self, node: exp.Cast) -> Expression:
        target = cast_name(node.to)
        if (target == "timestamp" and node.this.is_string) or _is_date(node):
            return Literal(moment(node.this))
        if target is None:
            raise QueryError(
                "must be a type that CAST can make",
                parameter="type",
                value=node.to.sql(),
                allowed=("BOOLEAN", "BIGINT", "DOUBLE", "STRING", "TIMESTAMP"),
                position=place(node),
            )
        return self.call(node, "cast", self.read(node.this), Literal(target))

    def _substring(self, node: exp.Substring) -> Expression:
        parts = [node.this, node.args.get("start"), node.args.get("length")]
        return self._named(node, "substring", [part for part in parts if part])

    def _trim(self, node: exp.Trim) -> Expression:
        if node.expression or node.args.get("position"):
            raise UnsupportedError("takes one argument and trims spaces", parameter="trim", position=place(node))
        return self._named(node, "trim", [node.this])

    def _function(self, node: exp.Anonymous) -> Expression:
        found = self.scope.find(node)
        return self._named(node, node.name.lower(), node.expressions) if found is None else Column(found)

    def _named(self, node: exp.Expr, name: str, arguments: list[exp.Expr]) -> Expression:
        function = _SYNONYMS.get(name, name)
        if function not in FUNCTIONS or name in _SYNTAX or name in _UNCALLABLE:
            raise self._unknown(node, name)
        return self.call(node, function, *(self.read(argument) for argument in arguments))

    def _unknown(self, node: exp.Expr, name: str) -> QueryError:
        if canonical(name):
            return QueryError(
                "is an aggregate and has no place here",
                parameter=name,
                hint="aggregates stand in the select list and in HAVING",
                position=head(node),
            )
        known = sorted({*(set(FUNCTIONS) - _SYNTAX - _UNCALLABLE - {"%"}), *names(), *_SYNONYMS})
        usual = did_you_mean(name, known, "see the functions and aggregates in the language reference")
        return QueryError(
            "is not a function",
            parameter=name,
            hint=instead(name, [spelling(argument) for argument in node.expressions]) or usual,
            position=head(node),
        )


def _is_date(node: exp.Expr) -> bool:
    """Whether a tree is a date written out, `DATE '2024-01-31'`: the midnight it begins with, but beside a date."""
    return isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.DATE and node.this.is_string


_READERS: dict[type[exp.Expr], Callable[[Scalars, Any], Expression]] = {
    exp.Paren: lambda scalars, node: scalars.read(node.this),
    exp.Column: Scalars._column,
    exp.Literal: Scalars._literal,
    exp.Null: lambda _, __: Literal(None),
    exp.Boolean: lambda _, node: Literal(bool(node.this)),
    exp.Interval: Scalars._interval,
    exp.Neg: Scalars._neg,
    exp.Not: lambda scalars, node: scalars.call(node, "not", scalars.read(node.this)),
    exp.Is: Scalars._is,
    exp.In: Scalars._in,
    exp.Between: Scalars._between,
    exp.Case: Scalars._case,
    exp.Cast: Scalars._cast,
    exp.Extract: lambda scalars, node: scalars._named(node, node.name.lower(), [node.expression]),
    exp.Substring: Scalars._substring,
    exp.Trim: Scalars._trim,
    exp.Anonymous: Scalars._function,
}
