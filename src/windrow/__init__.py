"""Windrow answers window queries over data streams that arrive out of order.

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.aggregates import UserAggregate as UserAggregate
    from windrow.aggregates import register as register
    from windrow.errors import ConfigurationError as ConfigurationError
    from windrow.errors import DamagedCheckpointWarning as DamagedCheckpointWarning
    from windrow.errors import DataError as DataError
    from windrow.errors import LateRowsWarning as LateRowsWarning
    from windrow.errors import LostDatagramsWarning as LostDatagramsWarning
    from windrow.errors import QueryError as QueryError
    from windrow.errors import SourceError as SourceError
    from windrow.errors import UnavailableError as UnavailableError
    from windrow.errors import UnsupportedError as UnsupportedError
    from windrow.errors import WindrowError as WindrowError
    from windrow.functions import aggregate as aggregate
    from windrow.functions import approx_distinct as approx_distinct
    from windrow.functions import at_end as at_end
    from windrow.functions import avg as avg
    from windrow.functions import collect as collect
    from windrow.functions import count as count
    from windrow.functions import count_distinct as count_distinct
    from windrow.functions import first as first
    from windrow.functions import heavy_hitters as heavy_hitters
    from windrow.functions import idle as idle
    from windrow.functions import last as last
    from windrow.functions import lead as lead
    from windrow.functions import max as max
    from windrow.functions import mean as mean
    from windrow.functions import median as median
    from windrow.functions import min as min
    from windrow.functions import mode as mode
    from windrow.functions import ordered as ordered
    from windrow.functions import punctuated as punctuated
    from windrow.functions import quantile as quantile
    from windrow.functions import slack as slack
    from windrow.functions import stddev as stddev
    from windrow.functions import stddev_pop as stddev_pop
    from windrow.functions import sum as sum
    from windrow.functions import top_k as top_k
    from windrow.functions import var_pop as var_pop
    from windrow.functions import variance as variance
    from windrow.query import *  # noqa: F403
    from windrow.query.frames import spark_listener as spark_listener
    from windrow.query.frames import spark_session as spark_session
    from windrow.query.frames import spark_source as spark_source
    from windrow.query.frames import spark_watch as spark_watch
    from windrow.query.frames import transform as transform
    from windrow.semantics.progress.policies import Punctuation as Punctuation

__version__ = "0.1.0"

_HOMES = {
    "windrow.aggregates": "UserAggregate register",
    "windrow.errors": (
        "ConfigurationError DamagedCheckpointWarning DataError LateRowsWarning LostDatagramsWarning QueryError "
        "SourceError UnavailableError UnsupportedError WindrowError"
    ),
    "windrow.functions": (
        "aggregate approx_distinct at_end avg collect count count_distinct first heavy_hitters idle last lead max mean "
        "median min mode ordered punctuated quantile slack stddev stddev_pop sum top_k var_pop variance"
    ),
    "windrow.query": "GroupedQuery Query Result Results Run Script explain run script sql start stream",
    "windrow.query.frames": "spark_listener spark_session spark_source spark_watch transform",
    "windrow.semantics.progress.policies": "Punctuation",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


if not TYPE_CHECKING:  # hidden from type checkers, so that they still report names that are not there

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})


__all__ = ["__version__", *sorted(_HOME)]
