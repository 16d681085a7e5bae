"""The names under which queries know the aggregates, and functions of other systems: how these are written here."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.aggregates import names

_SYNONYMS = {
    "mean": "avg",
    "var_samp": "variance",
    "stddev_samp": "stddev",
    "first_value": "first",
    "last_value": "last",
    "array_agg": "collect",
    "approx_count_distinct": "approx_distinct",
    **dict.fromkeys(("quantile_cont", "percentile_cont"), "quantile"),
}
INSTEAD: dict[str, str] = {
    **dict.fromkeys(("count_if", "countif"), "count(*) FILTER (WHERE {0})"),
    **dict.fromkeys(("sum_if", "sumif"), "sum({0}) FILTER (WHERE {1})"),
    **dict.fromkeys(("avg_if", "avgif"), "avg({0}) FILTER (WHERE {1})"),
    **dict.fromkeys(("uniq", "nunique"), "count(DISTINCT {0})"),
    **dict.fromkeys(("percentile", "percentile_approx", "approx_percentile", "approx_quantile"), "quantile({0}, 0.9)"),
    **dict.fromkeys(("string_agg", "listagg", "group_concat", "collect_list", "collect_set"), "collect({0})"),
    **dict.fromkeys(("any_value", "arbitrary", "earliest"), "first({0})"),
    "latest": "last({0})",
    **dict.fromkeys(("approx_top_k", "approx_top_count", "topk"), "top_k({0}, 3)"),
    **dict.fromkeys(("std", "stdev"), "stddev({0})"),
    **dict.fromkeys(("isnull", "is_null"), "{0} IS NULL"),
    **dict.fromkeys(("try_cast", "to_number"), "CAST({0} AS DOUBLE)"),
    **dict.fromkeys(("to_timestamp", "from_unixtime", "from_iso8601_timestamp"), "CAST({0} AS TIMESTAMP)"),
    "to_char": "CAST({0} AS STRING)",
    **dict.fromkeys(("date_part", "datepart"), "EXTRACT(HOUR FROM {1})"),
    **dict.fromkeys(("timestamp_add", "date_add", "dateadd"), "{0} + INTERVAL '1' MINUTE"),
    **dict.fromkeys(("timestamp_sub", "date_sub"), "{0} - INTERVAL '1' MINUTE"),
}
"""By name; braces stand for the arguments."""
_WINDOWS = "a window after the stream does that: FROM s [RANGE 1 HOUR]"
_ROWS = "what rows came before or will come is not known while they come; see slide-by-tuple windows in the reference"
_CLOCK = "answers do not depend on the clock; compare times of the data"
_SAID: dict[str, str] = {
    **dict.fromkeys(("date_trunc", "time_bucket", "date_bin", "tumble_start", "tumble_end"), _WINDOWS),
    **dict.fromkeys(("lag", "lead", "row_number", "rank", "dense_rank", "ntile", "percent_rank"), _ROWS),
    **dict.fromkeys(("now", "current_timestamp", "getdate", "sysdate", "current_date", "unix_timestamp"), _CLOCK),
}


def canonical(name: str) -> str | None:
    """The aggregate a name in a query means; None when it is no aggregate."""
    for known in (_SYNONYMS.get(name.lower()), name.lower(), name):
        if known is not None and known in names():
            return known
    return None


def instead(name: str, arguments: Sequence[str]) -> str | None:
    """What a call of another system's function is here, as a hint; None for one that is not known.

    >>> instead("count_if", ["price > 5"])
    'write count(*) FILTER (WHERE price > 5)'
    """
    if name in INSTEAD:
        return "write " + INSTEAD[name].format(*arguments, *("x", "c")[len(arguments) :])
    return _SAID.get(name)
