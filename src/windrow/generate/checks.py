"""Settings of a generated stream, checked when they are given."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeAlias

from windrow.errors import ConfigurationError, DataError
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.moments import in_utc, parse_moment
from windrow.semantics.scalars.moments import microseconds as since_epoch

Duration: TypeAlias = Amount | str | timedelta


def microseconds(value: Duration, parameter: str, *, least: int = 0) -> int:
    """A duration in microseconds, at least `least`."""
    units = Amount.of(value, parameter).resolve(Domain.TIME, parameter)
    if units < least:
        rule = "must be longer than no time" if least else "must not be negative"
        raise ConfigurationError(rule, parameter=parameter, value=str(value), hint="write it like '3 s'")
    return units


def above_zero(value: Any, parameter: str) -> None:
    """A number that must be positive and finite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise ConfigurationError(
            "must be a positive number", parameter=parameter, value=value, hint="give a number like 1000"
        )


def whole(value: Any, least: int, parameter: str) -> None:
    """A whole number that must not be below another."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigurationError(
            f"must be a whole number from {least} on", parameter=parameter, value=value, hint=f"give {least} or more"
        )


def instant(value: datetime | str, parameter: str) -> int:
    """A moment in microseconds since the epoch; without a zone it is UTC.

    >>> instant("1970-01-02", "start")
    86400000000
    """
    try:
        return since_epoch(parse_moment(value) if isinstance(value, str) else in_utc(value))
    except (AttributeError, DataError):
        raise ConfigurationError(
            "must be a moment in ISO 8601",
            parameter=parameter,
            value=value,
            hint="write it like '2024-01-01' or '2024-01-01T09:30:00Z'",
        ) from None
