"""CAST: a value as another type. What does not fit is an error, never a silent NULL.

A double becomes a bigint by cutting off its fraction; a timestamp counts as microseconds since the epoch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from windrow.errors import DataError, QueryError
from windrow.semantics.scalars.arithmetic import INT64
from windrow.semantics.scalars.moments import in_utc, microseconds, moment, parse_moment

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?inf(inity)?|nan", re.IGNORECASE | re.ASCII)


def _refuse(value: Any, target: str) -> DataError:
    return DataError(
        f"must be a value that fits the type {target}",
        parameter="cast",
        value=repr(value),
        hint="filter such rows out first with WHERE",
    )


def _to_boolean(value: Any) -> bool:
    if not isinstance(value, str):
        return bool(value)
    if value.strip().lower() not in _TRUTH:
        raise _refuse(value, "boolean")
    return _TRUTH[value.strip().lower()]


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"[+-]?\d+", value.strip(), re.ASCII) is not None
    return math.isfinite(value)


def _to_bigint(value: Any) -> int:
    if isinstance(value, (datetime, timedelta)):
        return microseconds(value)
    if not _is_whole(value) or int(value) not in INT64:
        raise _refuse(value, "bigint")
    return int(value)


def _to_double(value: Any) -> float:
    if isinstance(value, (datetime, timedelta)):
        return float(microseconds(value))
    if isinstance(value, str) and not _FLOAT.fullmatch(value.strip()):
        raise _refuse(value, "double")
    return float(value)


def to_string(value: Any) -> str:
    """The value as text: `true`, `1.0`, `2024-02-29 12:00:00`.

    >>> to_string(True), to_string(1.0), to_string(datetime(2024, 2, 29, 12, 0, 0, 500000))
    ('true', '1.0', '2024-02-29 12:00:00.5')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        text = in_utc(value).replace(tzinfo=None).isoformat(" ")
        return text.rstrip("0") if "." in text else text
    return str(value)


def _to_timestamp(value: Any) -> datetime:
    if isinstance(value, str):
        return parse_moment(value)
    if isinstance(value, (bool, float)):
        raise _refuse(value, "timestamp")
    return moment(value)


CASTS: dict[str, Callable[[Any], Any]] = {
    "boolean": _to_boolean,
    "bigint": _to_bigint,
    "double": _to_double,
    "string": to_string,
    "timestamp": _to_timestamp,
}


def cast(value: Any, target: str) -> Any:
    """The value (not NULL) as the type of that name."""
    if target not in CASTS:
        raise QueryError(
            "must name a known type", parameter="cast", value=target, allowed=tuple(CASTS), hint="say CAST(x AS BIGINT)"
        )
    return CASTS[target](value)
