"""SQL text to plans and plans to SQL text; sqlglot is the parser, the window clause is our dialect."""

from windrow.language.expressions.positions import find_name
from windrow.language.grammar.clauses import StreamDeclaration
from windrow.language.queries.script import (
    ParsedScript,
    StreamNames,
    parse,
    parse_condition,
    parse_expression,
    stream_names,
)
from windrow.language.render.queries import to_sql
from windrow.language.render.windows import stream_sql

__all__ = [
    "ParsedScript",
    "StreamDeclaration",
    "StreamNames",
    "find_name",
    "parse",
    "parse_condition",
    "parse_expression",
    "stream_names",
    "stream_sql",
    "to_sql",
]
