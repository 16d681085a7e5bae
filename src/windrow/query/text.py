"""Queries from SQL text, with data bound to the streams it names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.nodes import Node, Stream, walk
from windrow.plan.types.expressions import near_hint, nearest
from windrow.query.fluent import Query
from windrow.query.opening import by_partition, open_data, timed, watermark_slack
from windrow.semantics.progress.policies import AtEnd
from windrow.sources.addresses import is_pipe, scheme_of, without_secrets

if TYPE_CHECKING:
    from windrow.language import StreamDeclaration, StreamNames
    from windrow.sources.base import Source


@dataclass(frozen=True)
class Script:
    """The queries of a text, in order."""

    queries: tuple[Query, ...]


def sql(text: str, **streams: Any) -> Query:
    """The one query of a text; streams it names are declared in it, or given here as queries or as data.

    Data without a declaration needs exactly one timestamp column, which becomes its progressing attribute; its
    windows close at the end of the input. `wr.stream(...)` or `CREATE STREAM` says more.
    """
    queries = script(text, **streams).queries
    if len(queries) != 1:
        hint = "wr.script(text) gives all the queries of a text" if queries else "add a SELECT after the declarations"
        raise QueryError("must hold exactly one SELECT", parameter="text", value=f"{len(queries)} of them", hint=hint)
    return queries[0]


def script(text: str, **streams: Any) -> Script:
    """All queries of a text, sharing its streams."""
    return bound_script(text, streams)


def bound_script(text: str, streams: Mapping[str, Any], *, in_process: bool = False) -> Script:
    """The same; with `in_process` streams are refused that only Spark reads."""
    from windrow.language import parse, stream_names

    if not isinstance(text, str):
        raise QueryError("must be text", parameter="text", value=type(text).__name__, hint="wr.sql('SELECT ...')")
    binder = _Binder(stream_names(text), streams, in_process)
    parsed = parse(text, binder.streams(), binder.open)
    return Script(tuple(Query(plan, binder.sources_of(plan)) for plan in parsed.queries))


class _Binder:
    """Opens the data behind stream names, each once."""

    def __init__(self, names: StreamNames, given: Mapping[str, Any], in_process: bool) -> None:
        self.given = dict(given)
        self.in_process = in_process
        self._check(names)
        self.declared = {self._spelled(name) for name in names.declared}
        self.sources: dict[str, Source] = {}

    def _check(self, names: StreamNames) -> None:
        """Refuse data for a stream that the text does not name: a name that was mistyped would change nothing."""
        known = {self._spelled(name) for name in names.all}
        for name in self.given:
            if name not in known:
                streams = f"the streams of the text are {', '.join(names.all)}"
                raise QueryError(
                    "is not a stream of the text, so the data given for it would not be read",
                    parameter=name,
                    hint=near_hint(nearest(name, names.all), streams if names.all else "the text names no stream"),
                )

    def _spelled(self, name: str) -> str | None:
        """The name under which data was given for a stream, in any case of letters."""
        from windrow.language import find_name

        return find_name(name, self.given)

    def streams(self) -> dict[str, Stream]:
        """The streams given from Python that the text does not declare itself."""
        return {name: self._stream(name, data) for name, data in self.given.items() if name not in self.declared}

    def _stream(self, name: str, data: Any) -> Stream:
        source = self._open(name, data)
        if isinstance(data, Query):
            assert isinstance(data.plan, Stream)
            return replace(data.plan, name=name)
        time = _only_timestamp(name, source.schema)
        return Stream(name, source.schema, time, watermark_slack(source, time) or AtEnd())

    def open(self, declaration: StreamDeclaration) -> Stream:
        """A declared stream bound to the data given under its name, else to its path."""
        data = as_read(self._data(declaration.name, declaration.path), declaration)
        if data is None:
            raise QueryError(
                "has neither columns nor data",
                parameter=declaration.name,
                hint=f"say FROM 'path', or give it as sql(text, {declaration.name}=data)",
            )
        source = self._open(declaration.name, data, declaration.columns)
        origin = without_secrets(str(data)) if isinstance(data, (str, Path)) else None
        self.sources[declaration.name], stream = by_partition(source, declaration.stream(source.schema, origin))
        return stream

    def _data(self, name: str, path: str | None = None) -> Any:
        """What was given under a name."""
        found = self._spelled(name)
        return path if found is None else self.given[found]

    def _open(self, name: str, data: Any, schema: pa.Schema | None = None) -> Source:
        if isinstance(data, Query):
            self.sources[name] = _source_of(name, data)
        else:
            self.sources[name] = open_data(data, name=name, schema=schema, in_process=self.in_process)
        return self.sources[name]

    def sources_of(self, plan: Node) -> dict[str, Source]:
        """The data of every stream of a plan that has any; a schema without data is enough to explain a query."""
        streams = {node.name: node for node in walk(plan) if isinstance(node, Stream)}
        for name, node in streams.items():
            if name not in self.sources and self._data(name) is not None:
                self._open(name, self._data(name), node.schema)
            if name in self.sources:
                self.sources[name], _ = by_partition(timed(self.sources[name], node.time), node)
        return {name: source for name, source in self.sources.items() if name in streams}


def as_read(data: Any, declaration: StreamDeclaration) -> Any:
    """A path or an address with what FOLLOW and FORMAT say of it."""
    if not (declaration.follow or declaration.format):
        return data
    follows = isinstance(data, (str, Path)) and (declaration.follow or scheme_of(str(data)) == "follow")
    if not follows and not is_pipe(data) and not (isinstance(data, str) and scheme_of(data)):
        word = "FOLLOW" if declaration.follow else "FORMAT"
        raise QueryError(
            "is for files that grow, pipes and addresses",
            parameter=word,
            value=data if isinstance(data, (str, Path)) else type(data).__name__,
            hint="say FOLLOW behind a path; a file that is complete tells its format by its ending",
        )
    text = str(data)
    if declaration.follow and scheme_of(text) not in (None, "follow"):
        raise QueryError(
            "is for files and folders", parameter="FOLLOW", value=text, hint="leave it out: others never end anyway"
        )
    if declaration.follow and scheme_of(text) is None and not is_pipe(data):
        text = f"follow:{text}"
    sign = "&" if "?" in text else "?"
    return f"{text}{sign}format={declaration.format}" if declaration.format else text


def _source_of(name: str, query: Query) -> Source:
    if not isinstance(query.plan, Stream):
        raise QueryError(
            "must be data or wr.stream(...)",
            parameter=name,
            value=type(query.plan).__name__,
            hint="write the rest of it in the SQL text, as a subquery in FROM",
        )
    return query.sources[query.plan.name]


def _only_timestamp(name: str, schema: pa.Schema) -> str:
    times = [field.name for field in schema if pa.types.is_timestamp(field.type)]
    if len(times) != 1:
        raise QueryError(
            "must have exactly one timestamp column to be used without a declaration",
            parameter=name,
            value=", ".join(times) or "none",
            hint=f"give {name}=wr.stream(data, time=...), or CREATE STREAM {name} PROGRESS ON ... in the text",
        )
    return times[0]
