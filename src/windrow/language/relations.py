"""What stands in FROM: streams, unions of streams, subqueries and window table functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from windrow.errors import QueryError, UnsupportedError
from windrow.language.clauses import CLAUSE, Clause, StreamUnion
from windrow.language.names import Scope
from windrow.language.places import did_you_mean, find_name, place, pointing
from windrow.language.table_functions import is_window_function, read_window_function
from windrow.language.windows import PlacedWindow, WindowReader
from windrow.plan.check import shape_of
from windrow.plan.nodes import Node, Union
from windrow.plan.schema import Shape


@dataclass(frozen=True)
class Context:
    """The text being read, and the streams and named subqueries it may use."""

    text: str
    relations: Mapping[str, Node]

    def shape(self, node: Node, syntax: exp.Expr) -> Shape:
        """The shape of a node; what is wrong with it is shown at the syntax it came from."""
        with pointing(place(self.text, syntax)):
            return shape_of(node)


@dataclass(frozen=True)
class Relation:
    """An input of a query: its node, the names that qualify its columns, the windows written next to it."""

    context: Context
    node: Node
    shape: Shape
    qualifiers: tuple[str, ...]
    windows: tuple[PlacedWindow, ...] = ()

    @property
    def scope(self) -> Scope:
        return Scope(self.context.text, self.shape.schema, self.qualifiers)

    @property
    def reader(self) -> WindowReader:
        return WindowReader(self.context.text, self.node, self.shape)

    def over(self, node: Node) -> Relation:
        """The same relation after a filter."""
        return replace(self, node=node)


ReadQuery = Callable[[exp.Expr, Context], Node]


def read_relation(syntax: exp.Expr, context: Context, read_query: ReadQuery) -> Relation:
    """The relation that FROM names, with its window clauses resolved."""
    function = _window_function(syntax)
    if function is not None:
        return _read_function(function, syntax, context, read_query)
    node, names, clauses = _read_source(syntax, context, read_query)
    relation = Relation(context, node, context.shape(node, syntax), names)
    windows = tuple(relation.reader.read(clause) for clause in clauses)
    return replace(relation, windows=windows)


def _read_source(
    syntax: exp.Expr, context: Context, read_query: ReadQuery
) -> tuple[Node, tuple[str, ...], tuple[Clause, ...]]:
    own: tuple[Clause, ...] = (syntax.meta[CLAUSE],) if CLAUSE in syntax.meta else ()
    names: tuple[str, ...] = (syntax.alias,) if syntax.alias else ()
    if isinstance(syntax, StreamUnion):
        parts = [_read_source(part, context, read_query) for part in syntax.expressions]
        node: Node = Union(tuple(inner for part in parts for inner in _opened(part[0])))
        names += tuple(name for part in parts for name in part[1])
        return node, names, own + tuple(clause for part in parts for clause in part[2])
    if isinstance(syntax, exp.Subquery):
        _refuse_joins(syntax, context.text)
        return read_query(syntax.this, context), names, own
    return _named(syntax, context), (*names, syntax.name), own


def _opened(node: Node) -> tuple[Node, ...]:
    """The inputs of a union of streams, so that `a union (b union c)` is one union."""
    return node.inputs if isinstance(node, Union) else (node,)


def _named(syntax: exp.Expr, context: Context) -> Node:
    if not isinstance(syntax, exp.Table) or not isinstance(syntax.this, exp.Identifier):
        raise UnsupportedError(
            "must be a stream, a subquery or a window function",
            parameter="FROM",
            hint="the window functions are TUMBLE, HOP, CUMULATE and SESSION",
            position=place(context.text, syntax),
        )
    found = find_name(syntax.name, context.relations)
    if found is None:
        raise QueryError(
            "is not a stream",
            parameter=syntax.name,
            hint=did_you_mean(syntax.name, context.relations, _what_there_is(context)),
            position=place(context.text, syntax.this),
        )
    return context.relations[found]


def _what_there_is(context: Context) -> str:
    if not context.relations:
        return "declare it first: CREATE STREAM name (...) PROGRESS ON time"
    return "the streams are " + ", ".join(context.relations)


def _refuse_joins(syntax: exp.Expr, text: str) -> None:
    for join in syntax.args.get("joins") or ():
        raise joins_unavailable(join, text)


def joins_unavailable(join: exp.Expr, text: str) -> UnsupportedError:
    """The error for a second relation in FROM."""
    return UnsupportedError(
        "joins are not available yet",
        hint="read one stream, or put streams together with FROM a UNION b",
        position=place(text, join.this),
    )


def _window_function(syntax: exp.Expr) -> exp.Expr | None:
    """The TUMBLE, HOP, CUMULATE or SESSION call that FROM holds, `TABLE(...)` around it or not."""
    call = syntax.this if isinstance(syntax, exp.Table) else None
    if isinstance(call, exp.Anonymous) and call.name.upper() == "TABLE" and len(call.expressions) == 1:
        call = call.expressions[0]
    return call if isinstance(call, exp.Anonymous) and is_window_function(call.name) else None


def _read_function(function: exp.Expr, syntax: exp.Expr, context: Context, read_query: ReadQuery) -> Relation:
    called = read_window_function(function, context.text)
    relation = read_relation(called.table, context, read_query)
    names = (*relation.qualifiers, *((syntax.alias,) if syntax.alias else ()))
    window = relation.reader.read(called.clause)
    return replace(relation, windows=(window,), qualifiers=names)
