"""Queries in Python: build them step by step or from SQL, then run them."""

from windrow.query.fluent import GroupedQuery, Query, stream
from windrow.query.running import Result
from windrow.query.text import Script, script, sql
from windrow.query.together import Results, explain, run

__all__ = ["GroupedQuery", "Query", "Result", "Results", "Script", "explain", "run", "script", "sql", "stream"]
