from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from windrow.errors import DataError
from windrow.semantics.scalars import arithmetic

NAN, INF, TOP, BOTTOM = math.nan, math.inf, (1 << 63) - 1, -(1 << 63)
NOON = datetime(2024, 2, 29, 12, tzinfo=timezone.utc)


def same(expected: Any, actual: Any) -> bool:
    """Equal in value, type and sign, NaN included."""
    return type(expected) is type(actual) and repr(expected) == repr(actual)


@pytest.mark.parametrize(
    ("expected", "function", "arguments"),
    [
        (TOP, "add", (TOP - 1, 1)),
        (1.5, "add", (1, 0.5)),
        (NOON + timedelta(seconds=1), "add", (NOON, timedelta(seconds=1))),
        (1_000_005, "add", (5, timedelta(seconds=1))),
        (timedelta(0), "subtract", (NOON, NOON.replace(tzinfo=None))),
        (-1, "subtract", (1, 2)),
        (-6, "multiply", (2, -3)),
        (INF, "multiply", (1e308, 10.0)),
        (0.5, "divide", (1, 2)),
        (None, "divide", (1, 0)),
        (None, "divide", (NAN, -0.0)),
        (-1, "remainder", (-7, 3)),
        (1, "remainder", (7, -3)),
        (None, "remainder", (7, 0)),
        (-1.5, "remainder", (-7.5, 2)),
        (NAN, "remainder", (INF, 2.0)),
        (5.0, "remainder", (5.0, INF)),
        (None, "remainder", (1.0, 0.0)),
        (-3, "negate", (3,)),
        (3, "absolute", (-3,)),
        (-1, "sign", (-9,)),
        (0, "sign", (0,)),
        (1.0, "sign", (0.1,)),
        (NAN, "sign", (NAN,)),
        (3.0, "round_half_away", (2.5,)),
        (-3.0, "round_half_away", (-2.5,)),
        (0.0, "round_half_away", (0.49999999999999994,)),
        (2.68, "round_half_away", (2.675, 2)),
        (1200.0, "round_half_away", (1234.5, -2)),
        (-200, "round_half_away", (-150, -2)),
        (7, "round_half_away", (7, 3)),
        (1e300, "round_half_away", (1e300, 20)),
        (NAN, "round_half_away", (NAN,)),
        (-3.0, "floor", (-2.5,)),
        (-2.0, "ceil", (-2.5,)),
        (4, "floor", (4,)),
        (-4, "ceil", (-4,)),
        (INF, "floor", (INF,)),
        (2.0, "square_root", (4,)),
        (NAN, "square_root", (-1.0,)),
        (INF, "exponential", (1000,)),
        (1.0, "exponential", (0,)),
        (0.0, "natural_logarithm", (1,)),
        (-INF, "natural_logarithm", (0,)),
        (NAN, "natural_logarithm", (-1,)),
        (1024.0, "power", (2, 10)),
        (INF, "power", (0, -1)),
        (NAN, "power", (-8, 0.5)),
        (-INF, "power", (-10, 999)),
        (INF, "power", (10, 999)),
    ],
)
def test_arithmetic(expected: Any, function: str, arguments: tuple[Any, ...]) -> None:
    actual = getattr(arithmetic, function)(*arguments)
    assert same(expected, actual), f"{expected!r} != {actual!r}"


@pytest.mark.parametrize(
    ("sign", "function", "arguments"),
    [
        (r"\+", "add", (TOP, 1)),
        (r"-", "subtract", (BOTTOM, 1)),
        (r"\*", "multiply", (1 << 62, 2)),
        (r"-", "negate", (BOTTOM,)),
        (r"abs", "absolute", (BOTTOM,)),
        (r"round", "round_half_away", (TOP, -1)),
    ],
)
def test_whole_numbers_never_wrap(sign: str, function: str, arguments: tuple[Any, ...]) -> None:
    message = rf"^`{sign}` must give a whole number that fits into 64 bits, got -?\d+\. Hint: cast one side to DOUBLE"
    with pytest.raises(DataError, match=message):
        getattr(arithmetic, function)(*arguments)


def test_times_end_with_the_calendar() -> None:
    message = r"^`\+` must give a timestamp in the years 1 to 9999, got 9999-12-31 .* \+ 1 day.*\. Hint: check the unit"
    with pytest.raises(DataError, match=message):
        arithmetic.add(datetime(9999, 12, 31, tzinfo=timezone.utc), timedelta(days=1))
