"""Where a command's SQL comes from: a file, standard input or the command line itself."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from windrow.errors import ConfigurationError

if TYPE_CHECKING:
    from windrow.query import Query
    from windrow.query.places import Outputs

_Command: TypeAlias = Callable[..., Any]


def text_options(function: _Command) -> _Command:
    """The parameters that name the SQL and the data its streams are bound to."""
    bound = "Read stream NAME from PATH instead; the text must name it."
    function = click.option("--set", "bindings", multiple=True, metavar="NAME=PATH", help=bound)(function)
    written = "SQL on the command line, instead of FILE."
    function = click.option("-e", "--execute", "text", metavar="TEXT", help=written)(function)
    return click.argument("file", required=False)(function)


def compress_option(function: _Command) -> _Command:
    """Sets how rows are kept by everything that keeps rows."""
    kept = "How kept rows are held, whatever the text says; answers are the same."
    return click.option("--compress", type=click.Choice(["auto", "off", "blocks"]), help=kept)(function)


def compressed(query: Query, mode: str | None) -> Query:
    """The query with all its windows and joins keeping rows in the mode that a command was given."""
    from dataclasses import replace

    from windrow.plan.build.queries import change_mode
    from windrow.plan.compression import CompressionMode

    return query if mode is None else replace(query, plan=change_mode(query.plan, CompressionMode(mode)))


def read_queries(
    file: str | None,
    text: str | None,
    bindings: tuple[str, ...],
    outputs: Outputs | None = None,
    *,
    in_process: bool = False,
) -> tuple[Query, ...]:
    """The queries of the SQL a command was given; nothing is opened that one of its outputs would be written over.

    With `in_process` streams are refused that only Spark reads.
    """
    from windrow.query.text import bound_script
    from windrow.sources.live.standard_input import STANDARD_INPUT

    content, given = read_text(file, text), _bound(bindings)
    if outputs is not None:
        outputs.refuse_text(file)
        outputs.refuse_streams(_paths(content, given))
    queries = bound_script(content, given, in_process=in_process).queries
    described = {source.describe() for query in queries for source in query.sources.values()}
    if file == "-" and STANDARD_INPUT in described:
        raise ConfigurationError(
            "must be a file here, because a stream is read from standard input",
            parameter="FILE",
            value="-",
            hint="put the query into a file, or give it with -e TEXT",
        )
    if outputs is not None:
        outputs.refuse_sources(one for query in queries for one in query.sources.items())
    if not queries:
        raise ConfigurationError(
            "must hold a query", parameter="FILE", value=file or "TEXT", hint="add a SELECT after the declarations"
        )
    return queries


def _paths(text: str, given: dict[str, str]) -> dict[str, list[str]]:
    """Where the streams are read from: what is given for them, else what the text declares."""
    from windrow.language import stream_names

    instead = {name.lower() for name in given}
    declared = stream_names(text).declared.items()
    paths = {name: path for name, path in declared if path is not None and name.lower() not in instead}
    return {name: [path] for name, path in {**paths, **given}.items()}


def read_text(file: str | None, text: str | None) -> str:
    """The SQL of a file, of standard input or of the command line."""
    if (file is None) == (text is None):
        given = "neither" if file is None else "both"
        raise ConfigurationError(
            "must be given, or -e TEXT instead", parameter="FILE", value=given, hint="windrow run query.sql"
        )
    if text is not None:
        return text
    try:
        return sys.stdin.read() if file == "-" else Path(str(file)).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(
            f"cannot be read ({reason})", parameter="FILE", value=file, hint="give a SQL file, - or -e TEXT"
        ) from None


def _bound(bindings: tuple[str, ...]) -> dict[str, str]:
    pairs = [binding.partition("=") for binding in bindings]
    for name, sign, path in pairs:
        if not (name and sign and path):
            raise ConfigurationError("must be NAME=PATH", parameter="--set", value=f"{name}{sign}{path}")
    names = [name for name, _, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(
                "must name each stream once",
                parameter="--set",
                value=f"{name} {names.count(name)} times",
                hint=f"one stream of several files has a pattern or a folder: --set '{name}=*.parquet'",
            )
    return {name: path for name, _, path in pairs}
