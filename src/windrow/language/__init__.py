"""SQL text to plans and plans to SQL text; sqlglot is the parser, the window clause is our dialect."""

from windrow.language.clauses import StreamDeclaration
from windrow.language.render import to_sql
from windrow.language.render_windows import stream_sql
from windrow.language.script import Script, declared_paths, parse, parse_condition, parse_expression

__all__ = [
    "Script",
    "StreamDeclaration",
    "declared_paths",
    "parse",
    "parse_condition",
    "parse_expression",
    "stream_sql",
    "to_sql",
]
