"""The names under which queries know the aggregates."""

from __future__ import annotations

from windrow.aggregates import is_known

_SYNONYMS = {
    "mean": "avg",
    "var_samp": "variance",
    "stddev_samp": "stddev",
    "first_value": "first",
    "last_value": "last",
    "array_agg": "collect",
    "approx_count_distinct": "approx_distinct",
    "quantile_cont": "quantile",
    "percentile_cont": "quantile",
}


def canonical(name: str) -> str | None:
    """The aggregate a name in a query means; None when it is no aggregate."""
    for known in (_SYNONYMS.get(name.lower()), name.lower(), name):
        if known is not None and is_known(known):
            return known
    return None
