from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import Any

import pytest

from windrow.errors import DataError, QueryError
from windrow.semantics.scalars.casting import cast

NOON = datetime(2024, 2, 29, 12, 0, 0, 500_000, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("expected", "value", "target"),
    [
        (True, 2, "boolean"),
        (False, 0.0, "boolean"),
        (True, " TRUE ", "boolean"),
        (False, "0", "boolean"),
        (1, True, "bigint"),
        (-1, -1.9, "bigint"),
        (-12, " -12 ", "bigint"),
        (1_709_208_000_500_000, NOON, "bigint"),
        (3.0, 3, "double"),
        (1e-3, "1e-3", "double"),
        (-math.inf, "-Infinity", "double"),
        ("true", True, "string"),
        ("12", 12, "string"),
        ("1.0", 1.0, "string"),
        ("nan", math.nan, "string"),
        ("2024-02-29 12:00:00.5", NOON, "string"),
        ("1970-01-01 00:00:10", datetime(1970, 1, 1, 0, 0, 10), "string"),
        (NOON, "2024-02-29 12:00:00.500000", "timestamp"),
        (NOON, 1_709_208_000_500_000, "timestamp"),
        (NOON, NOON.replace(tzinfo=None), "timestamp"),
    ],
)
def test_cast(expected: Any, value: Any, target: str) -> None:
    actual = cast(value, target)
    assert (expected, type(expected)) == (actual, type(actual))


def test_text_can_be_nan() -> None:
    assert math.isnan(cast("NaN", "double"))


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("yes", "boolean"),
        ("1.5", "bigint"),
        ("1_000", "bigint"),
        (math.nan, "bigint"),
        (1e19, "bigint"),
        ("9223372036854775808", "bigint"),
        ("1_0.0", "double"),
        ("", "double"),
        (1.5, "timestamp"),
    ],
)
def test_what_does_not_fit(value: Any, target: str) -> None:
    given = re.escape(repr(value))
    message = rf"^`cast` must be a value that fits the type {target}, got {given}\. Hint: filter such rows out first"
    with pytest.raises(DataError, match=message):
        cast(value, target)


def test_an_unknown_type() -> None:
    with pytest.raises(
        QueryError, match=r"^`cast` must name a known type \(one of boolean, .*\), got money\. Hint: say"
    ):
        cast(1, "money")
