from __future__ import annotations

import math

from windrow.semantics.scalars.ordering import normal, null_last_key, order_key


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
