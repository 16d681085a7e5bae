"""SQL text to plans and plans to SQL text; sqlglot is the parser, the window clause is our dialect."""

from windrow.language.clauses import StreamDeclaration
from windrow.language.places import find_name
from windrow.language.render import to_sql
from windrow.language.render_windows import stream_sql
from windrow.language.script import Script, StreamNames, parse, parse_condition, parse_expression, stream_names

__all__ = [
    "Script",
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
