"""Queries in Python: build them step by step or from SQL, then run them."""

from windrow.query.fluent import GroupedQuery, Query, stream
from windrow.query.running import Result
from windrow.query.text import Script, script, sql

__all__ = ["GroupedQuery", "Query", "Result", "Script", "script", "sql", "stream"]
