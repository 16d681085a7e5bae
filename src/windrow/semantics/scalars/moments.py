"""Timestamps as microseconds since the epoch, and back.

Rows may carry timestamps as `datetime` (naive means UTC) or as whole microseconds; both mean the same moment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from typing import Any

from windrow.errors import DataError

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_FRACTION = re.compile(r"\.(\d+)", re.ASCII)
"""Older Pythons read fractions of three or six digits only."""
TOO_FINE = "must be a whole number of microseconds, the unit in which times are computed"


def in_utc(moment: datetime) -> datetime:
    """The moment in UTC; a naive one is taken as UTC."""
    return moment.replace(tzinfo=timezone.utc) if moment.tzinfo is None else moment.astimezone(timezone.utc)


def microseconds(value: datetime | timedelta | int) -> int:
    """Whole microseconds: since the epoch for a moment, of length for a duration.

    >>> microseconds(datetime(1970, 1, 1, 0, 0, 1)), microseconds(timedelta(milliseconds=-2)), microseconds(7)
    (1000000, -2000, 7)
    """
    if isinstance(value, datetime):
        return (in_utc(value) - EPOCH) // _MICROSECOND
    return value // _MICROSECOND if isinstance(value, timedelta) else value


def moment_of(value: Any) -> datetime | None:
    """The moment that a datetime, a date (its midnight) or numpy's datetime64 is; None for anything else.

    >>> moment_of(date(2024, 1, 2)).isoformat(), moment_of(7)
    ('2024-01-02T00:00:00+00:00', None)
    """
    if type(value).__name__ == "datetime64":  # numpy's, which is not imported here
        value = value.astype("datetime64[us]").item()
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return in_utc(value) if isinstance(value, datetime) else None


def moment(value: datetime | int) -> datetime:
    """The moment in UTC for microseconds since the epoch, or an error when the calendar does not reach that far."""
    if isinstance(value, datetime):
        return in_utc(value)
    try:
        return EPOCH + value * _MICROSECOND
    except OverflowError:
        raise DataError(
            "must lie in the years 1 to 9999",
            parameter="timestamp",
            value=f"{value} microseconds since 1970",
            hint="check the unit of the column; timestamps given as integers are microseconds",
        ) from None


def too_fine(value: str, parameter: str | None = None) -> DataError:
    """The error for a time with digits below a microsecond: cut off, they would change which of two comes first."""
    return DataError(
        TOO_FINE,
        parameter=parameter,
        value=value,
        hint="round it before the query: .dt.floor('us') in pandas, .dt.truncate('1us') in Polars, "
        "pyarrow.compute.floor_temporal(column, unit='microsecond') in Arrow",
    )


def with_nanoseconds(nanoseconds: int) -> str:
    """A time since the epoch with all of its digits.

    >>> with_nanoseconds(1_000_000_001), with_nanoseconds(-1)
    ('1970-01-01 00:00:01.000000001', '1969-12-31 23:59:59.999999999')
    """
    whole, rest = divmod(nanoseconds, 10**9)
    return f"{EPOCH + timedelta(seconds=whole):%Y-%m-%d %H:%M:%S}.{rest:09d}"


def parse_moment(text: str) -> datetime:
    """The moment an ISO 8601 text names; without a zone it is UTC. It may be no finer than a microsecond.

    >>> parse_moment("2024-02-29 12:00:00Z").isoformat()
    '2024-02-29T12:00:00+00:00'
    """
    stripped = text.strip()
    iso = stripped[:-1] + "+00:00" if stripped[-1:] in ("Z", "z") else stripped
    iso = _FRACTION.sub(lambda found: "." + found[1][:6].ljust(6, "0"), iso)
    try:
        parsed = in_utc(datetime.fromisoformat(iso))
    except ValueError:
        raise DataError(
            "must be a date or a date and time",
            parameter="timestamp",
            value=text,
            hint="write it like '2024-02-29 12:00:00'",
        ) from None
    if any(set(digits[6:]) - {"0"} for digits in _FRACTION.findall(stripped)):
        raise too_fine(text, "timestamp")
    return parsed


def value_of(row: Mapping[str, Any], attribute: str) -> int:
    """A row's value of the progressing attribute in units of the attribute; it must have one."""
    value = row[attribute]
    if value is None:
        raise DataError(
            "is the progressing attribute and must not be null",
            parameter=attribute,
            value=None,
            hint=f"leave such rows out with WHERE {attribute} IS NOT NULL",
        )
    return microseconds(value)
