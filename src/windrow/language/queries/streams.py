"""CREATE STREAM: a declaration to the stream it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from windrow.errors import QueryError, WindrowError
from windrow.language.expressions.positions import find_name, pointing
from windrow.language.grammar.clauses import CreateStream, StreamDeclaration
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import External

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
    return replace(stream, time=spelled(stream.time), policy=policy)
