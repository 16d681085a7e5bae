"""CREATE STREAM: a declaration to the stream it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pyarrow as pa

from windrow.errors import Position, QueryError, WindrowError
from windrow.language.expressions.positions import find_name, pointing, position
from windrow.language.grammar.clauses import CreateStream, StreamDeclaration
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import External

OpenStream = Callable[[StreamDeclaration], Stream]

_CLAUSE_OF = {
    "time": "progress",
    "slack": "policy",
    "punctuated by": "policy",
    "per": "policy",
    "idle": "idle",
    "lead": "lead",
}


def read_stream(syntax: CreateStream, text: str, given: Mapping[str, Stream], open_stream: OpenStream | None) -> Stream:
    """The stream a statement declares.

    The schema is the declared one, else the one of the stream given under that name, else what `open_stream` finds.
    """
    declaration: StreamDeclaration = syntax.this
    spans = syntax.args["spans"]
    with pointing(position(text, spans.get("path", spans["name"]))):
        stream = _bound(declaration, given, open_stream)
    stream = _spelled(stream)
    try:
        shape_of(stream)
    except WindrowError as error:
        clause = _CLAUSE_OF.get(error.parameter or "", "name")
        raise error.at(_where(text, spans, clause)) from None
    return stream


def _where(text: str, spans: Mapping[str, object], clause: str) -> Position:
    span = spans.get(clause, spans["name"])
    return position(text, span)  # type: ignore[arg-type]


def _bound(declaration: StreamDeclaration, given: Mapping[str, Stream], open_stream: OpenStream | None) -> Stream:
    known = find_name(declaration.name, given)
    if known is not None and declaration.path is None:
        return _stream(declaration, declaration.columns or given[known].schema, given[known].origin)
    if open_stream is not None and (declaration.path is not None or declaration.columns is None):
        return open_stream(_with_known_names(declaration))
    if declaration.columns is not None:
        return _stream(declaration, declaration.columns, declaration.path)
    raise QueryError(
        "must have columns or data",
        parameter=declaration.name,
        hint=f"write CREATE STREAM {declaration.name} (time TIMESTAMP, ...), name a file with FROM, or bind data to it",
    )


def _stream(declaration: StreamDeclaration, schema: pa.Schema, origin: str | None) -> Stream:
    return Stream(declaration.name, schema, declaration.time, declaration.policy, declaration.idle, origin)


def _with_known_names(declaration: StreamDeclaration) -> StreamDeclaration:
    """The declaration with its columns spelled as declared, before a source is opened with them."""
    if declaration.columns is None:
        return declaration
    names = declaration.columns.names
    return replace(declaration, time=find_name(declaration.time, names) or declaration.time)


def _spelled(stream: Stream) -> Stream:
    """The stream with the names of its columns spelled as the schema has them."""
    names = stream.schema.names
    policy = stream.policy

    def spelled(name: str) -> str:
        return find_name(name, names) or name

    if isinstance(policy, External):
        policy = External(policy.column and spelled(policy.column), tuple(map(spelled, policy.per)))
    return replace(stream, time=spelled(stream.time), policy=policy)
