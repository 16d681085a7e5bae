"""Queries in Python: build them step by step or from SQL, then run them."""

from windrow.engines.run import Run
from windrow.query.fluent import GroupedQuery, Query, stream
from windrow.query.running import Result
from windrow.query.text import Script, script, sql
from windrow.query.together import Results, explain, run, start

__all__ = [
    "GroupedQuery",
    "Query",
    "Result",
    "Results",
    "Run",
    "Script",
    "explain",
    "run",
    "script",
    "sql",
    "start",
    "stream",
]
