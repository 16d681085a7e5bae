from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from windrow.errors import DataError
from windrow.semantics.scalars.moments import microseconds, moment, parse_moment, value_of

NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


def test_one_moment_in_every_spelling() -> None:
    units = 1_709_208_000_000_000
    assert units == microseconds(NOON)
    assert units == microseconds(NOON.replace(tzinfo=None))
    assert units == microseconds(NOON.astimezone(timezone(timedelta(hours=5))))
    assert NOON == moment(units)
    assert NOON == moment(datetime(2024, 2, 29, 12))


@pytest.mark.parametrize("text", ["2024-02-29 12:00:00", "2024-02-29T12:00:00Z", "2024-02-29 14:00:00+02:00"])
def test_texts_of_one_moment(text: str) -> None:
    assert NOON == parse_moment(text)


def test_fractions_of_any_length() -> None:
    assert NOON + timedelta(milliseconds=500) == parse_moment("2024-02-29 12:00:00.5")
    assert NOON + timedelta(microseconds=123_456) == parse_moment("2024-02-29 12:00:00.123456000Z")


def test_before_the_epoch() -> None:
    assert -1 == microseconds(datetime(1969, 12, 31, 23, 59, 59, 999_999))


def test_rows_give_their_value() -> None:
    assert 7 == value_of({"ts": 7}, "ts")
    assert 1_000_000 == value_of({"ts": datetime(1970, 1, 1, 0, 0, 1)}, "ts")


def test_errors() -> None:
    with pytest.raises(DataError, match=r"^`timestamp` must be a date or a date and time, got noon\. Hint: write it"):
        parse_moment("noon")
    with pytest.raises(DataError, match=r"^`timestamp` must lie in the years 1 to 9999, got \d+ micro.* Hint: check"):
        moment(1 << 62)
    with pytest.raises(DataError, match=r"^`ts` is the progressing attribute and must not be null, got None\. Hint: "):
        value_of({"ts": None}, "ts")
