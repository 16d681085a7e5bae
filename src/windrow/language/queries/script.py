"""A query text as a whole: CREATE STREAM and queries, and what is wrong with a text that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from windrow.errors import Position, QueryError, WindrowError
from windrow.language.expressions.names import Scope
from windrow.language.expressions.positions import TEXT, find_name, pointing
from windrow.language.expressions.scalars import Scalars
from windrow.language.grammar.clauses import CreateStream, StreamDeclaration
from windrow.language.grammar.dialect import Misread, WindrowDialect, WindrowParser
from windrow.language.joins.conditions import condition_scope, read_condition, sides_of
from windrow.language.queries.relations import QueryContext
from windrow.language.queries.select import read_query, read_statement
from windrow.plan.build.joins import Both
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Node, Stream
from windrow.semantics.progress.policies import External, Ordered, Slack
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class ParsedScript:
    """A text that was read: its streams by name (given and declared) and its queries in order."""

    streams: dict[str, Stream] = field(default_factory=dict)
    queries: tuple[Node, ...] = ()


@contextmanager
def _not_too_deep() -> Iterator[None]:
    """What is read by functions that call themselves may be nested only so deep."""
    try:
        yield
    except RecursionError:
        raise QueryError(
            "must not be nested so deep",
            parameter="query",
            hint="write a long list of values as x IN (...), and leave out brackets that do nothing",
        ) from None


@_not_too_deep()
def parse(
    text: str, streams: Mapping[str, Stream] | None = None, open_stream: OpenStream | None = None
) -> ParsedScript:
    """The declarations and queries of a text, checked.

    `streams` are known by name beforehand; `open_stream` opens a source for a declaration that has a path or lacks
    columns.

    >>> script = parse('''
    ...     CREATE STREAM trades (symbol STRING, time TIMESTAMP) PROGRESS ON time SLACK 60 SECONDS;
    ...     SELECT symbol, count(*) AS number FROM trades [RANGE 10 MINUTES WATTR time] GROUP BY symbol
    ... ''')
    >>> script.queries[0].window
    Sliding(attribute='time', range=600000000, slide=600000000, origin=0)
    """
    given = dict(streams or {})
    known = dict(given)
    queries: list[Node] = []
    for statement in _statements(text):
        if isinstance(statement, CreateStream):
            stream = read_stream(statement, given, open_stream)
            replaced = find_name(stream.name, known)
            known = {name: old for name, old in known.items() if name != replaced} | {stream.name: stream}
        else:
            queries.append(read_statement(statement, QueryContext(known, read_query)))
    return ParsedScript(known, tuple(queries))


@dataclass(frozen=True)
class StreamNames:
    """The names of streams in a text, as it spells them: those it declares, by path if any, and those it reads."""

    declared: dict[str, str | None]
    read: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return *self.declared, *(name for name in self.read if find_name(name, self.declared) is None)


@_not_too_deep()
def stream_names(text: str) -> StreamNames:
    """Which streams a text names, before any of them is opened.

    >>> stream_names("CREATE STREAM a FROM 'a.csv' PROGRESS ON ts; SELECT ts FROM a UNION b")
    StreamNames(declared={'a': 'a.csv'}, read=('a', 'b'))
    """
    trees = _statements(text)
    declared = {tree.this.name: tree.this.path for tree in trees if isinstance(tree, CreateStream)}
    tables = [table for tree in trees for table in tree.find_all(exp.Table, bfs=False)]
    read = [table.name for table in tables if isinstance(table.this, exp.Identifier)]
    return StreamNames(declared, tuple(dict.fromkeys(read)))


@_not_too_deep()
def parse_expression(text: str, schema: pa.Schema, plan: Node | None = None) -> Expression:
    """The scalar expression of a text over the columns of a schema, checked; those of a join may bear its aliases.

    >>> print(parse_expression("symbol = 'UBSN'", pa.schema({"symbol": pa.string()})))
    (symbol = 'UBSN')
    """
    return Scalars(Scope(schema, sides_of(plan))).read(_one_tree(text))


@_not_too_deep()
def parse_condition(text: str, both: Both) -> Expression:
    """The condition of a join, over the columns of both sides: `a.key = b.key`."""
    return read_condition(_one_tree(text), condition_scope(both))


def _one_tree(text: str) -> exp.Expr:
    trees = _read(text, expression=True)
    if len(trees) != 1:
        raise QueryError("must be one expression", parameter="expression", value=text, hint="write price > 0")
    return trees[0]


def _statements(text: str) -> list[exp.Expr]:
    return [tree for tree in _read(text) if not isinstance(tree, exp.Semicolon)]


def _read(text: str, expression: bool = False) -> list[exp.Expr]:
    dialect = WindrowDialect()
    try:
        tokens = dialect.tokenize(text)
        parser = WindrowParser(dialect=dialect)
        trees = parser.parse_expression(tokens, text) if expression else parser.parse(tokens, text)
    except TokenError as error:
        raise _untokenized(error, text) from None
    except ParseError as error:
        raise _misread(error, text) from None
    found = [tree for tree in trees if tree is not None]
    for tree in found:
        tree.meta[TEXT] = text
    return found


def _untokenized(error: TokenError, text: str) -> QueryError:
    """A quote or comment that does not end: the cause names which and where the text ran out."""
    found = re.match(r"Missing (.+) from (\d+):", str(error.__cause__ or error))
    if not found:
        return QueryError("cannot be split into words", parameter="query", position=Position(text, 0, len(text)))
    quote = found.group(1)
    start = text.rfind("/*" if quote == "*/" else quote)
    return QueryError(
        f"has a {quote} that is not closed",
        parameter="query",
        hint=f"put the closing {quote} behind it",
        position=Position(text, start, start + len(quote)),
    )


_RULES = (
    (r"Expecting (.+)", r"needs \1 here"),
    (r"Expected table name.*", "needs the name of a stream here"),
    (r"Expected (.+)", r"needs \1 here"),
    (r"Required (argument|keyword).*", "is not complete here"),
    (r"Invalid expression / Unexpected token", "has text that does not belong here"),
    (r"(A window clause follows .+)", r"has a bracket here: a window clause follows a stream or an aggregate"),
)


def _misread(error: ParseError, text: str) -> QueryError:
    if not isinstance(error, Misread):
        return QueryError("cannot be read", parameter="query", hint=str(error), position=Position(text, 0, len(text)))
    rules = (found.expand(wording) for pattern, wording in _RULES if (found := re.match(pattern, error.description)))
    rule = next(rules, f"cannot be read here: {error.description}")
    return QueryError(rule, parameter="query", value=error.found, position=error.where)


OpenStream = Callable[[StreamDeclaration], Stream]

_CLAUSE_OF = {"time": "progress", "slack": "policy", "punctuated by": "policy", "per": "policy"}
"""The clause that is wrong where an error names another parameter."""


def read_stream(syntax: CreateStream, given: Mapping[str, Stream], open_stream: OpenStream | None) -> Stream:
    """The stream a statement declares.

    The schema is the declared one, else the one of the stream given under that name, else what `open_stream` finds.
    """
    places = syntax.args["places"]
    with pointing(places.get("path", places["name"])):
        stream = _spelled(_bound(syntax.this, given, open_stream))
    try:
        shape_of(stream)
    except WindrowError as error:
        clause = _CLAUSE_OF.get(error.parameter or "", error.parameter)
        raise error.at(places.get(clause, places["name"])) from None
    return stream


def _bound(declaration: StreamDeclaration, given: Mapping[str, Stream], open_stream: OpenStream | None) -> Stream:
    known = find_name(declaration.name, given)
    if known is not None and declaration.path is None:
        return declaration.stream(declaration.columns or given[known].schema, given[known].origin)
    if open_stream is not None and (declaration.path is not None or declaration.columns is None):
        return open_stream(declaration)
    if declaration.columns is not None:
        return declaration.stream(declaration.columns, declaration.path)
    raise QueryError(
        "must have columns or data",
        parameter=declaration.name,
        hint=f"write CREATE STREAM {declaration.name} (time TIMESTAMP, ...), name a file with FROM, or bind data to it",
    )


def _spelled(stream: Stream) -> Stream:
    """The stream with the names of its columns spelled as the schema has them."""
    names = stream.schema.names
    policy = stream.policy

    def spelled(name: str) -> str:
        return find_name(name, names) or name

    if isinstance(policy, External):
        policy = External(policy.column and spelled(policy.column), tuple(map(spelled, policy.per)))
    elif isinstance(policy, (Ordered, Slack)):
        policy = replace(policy, per=tuple(map(spelled, policy.per)))
    return replace(stream, time=spelled(stream.time), policy=policy)
