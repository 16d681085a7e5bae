from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given

from tests.strategies import ys
from windrow.semantics.scalars.ordering import COMPARISONS, compare, normal, null_last_key, order_key

NOON = datetime(1970, 1, 1, 12, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("expected", "left", "right"),
    [
        (0, math.nan, math.nan),
        (1, math.nan, math.inf),
        (-1, 3, math.nan),
        (0, -0.0, 0.0),
        (0, (1 << 53) + 1, float(1 << 53)),
        (-1, (1 << 53), (1 << 53) + 1),
        (-1, False, True),
        (-1, "a", "b"),
        (0, NOON, NOON.replace(tzinfo=None)),
        (0, NOON, 43_200_000_000),
        (0, NOON, "1970-01-01 12:00:00"),
        (1, "1970-01-01 12:00:01", NOON),
        (1, timedelta(seconds=1), 999_999),
    ],
)
def test_compare(expected: int, left: Any, right: Any) -> None:
    assert expected == compare(left, right)
    assert -expected == compare(right, left)


@given(ys().filter(lambda y: y is not None), ys().filter(lambda y: y is not None))
def test_comparisons_agree_with_each_other(left: float, right: float) -> None:
    holds = {name: test(left, right) for name, test in COMPARISONS.items()}
    assert 1 == holds["<"] + holds["="] + holds[">"]
    assert (holds["<="], holds[">="], holds["<>"]) == (not holds[">"], not holds["<"], not holds["="])


def test_nan_is_the_greatest_and_equals_itself() -> None:
    assert order_key(math.nan) == order_key(-math.nan)
    assert [-math.inf, 0.0, math.inf] == sorted([math.inf, math.nan, 0.0, -math.inf], key=order_key)[:3]


def test_zeros_are_one() -> None:
    assert order_key(-0.0) == order_key(0.0)
    assert 1.0 == math.copysign(1.0, normal(-0.0))


def test_equal_values_share_one_group() -> None:
    assert 2 == len({(normal(math.nan),), (normal(float("nan")),), (normal(-0.0),), (normal(0.0),)})


def test_null_comes_last() -> None:
    assert [1.0, None] == sorted([None, 1.0], key=null_last_key)
    assert ["", "a", None] == sorted(["a", None, ""], key=null_last_key)
