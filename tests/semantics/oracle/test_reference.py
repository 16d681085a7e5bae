from __future__ import annotations

import math
import statistics
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import comparable, xs, ys
from windrow.errors import SumOverflowError
from windrow.semantics.oracle.reference import REFERENCE

NAN, INF, TOP = math.nan, math.inf, (1 << 63) - 1
PARAMETERS: dict[str, tuple[Any, ...]] = {"quantile": (0.25,), "top_k": (2,), "heavy_hitters": (0.3,)}


def compute(function: str, values: list[Any], *parameters: Any) -> Any:
    return REFERENCE[function](list(enumerate(values)), parameters or PARAMETERS.get(function, ()))


def pairs(ranked: list[dict[str, Any]]) -> list[tuple[Any, int]]:
    return [(item["value"], item["count"]) for item in ranked]


@pytest.mark.parametrize(
    ("expected", "function", "values"),
    [
        (2, "count", [1, None, 1]),
        (3, "count_distinct", [1.0, None, NAN, float("nan"), -0.0, 0.0]),
        (TOP, "sum", [TOP, TOP, -TOP]),
        (1.0, "sum", [*[0.1] * 10, None]),
        (1e308, "sum", [1e308, 1e308, -1e308]),
        (INF, "sum", [1e308, 1e308]),
        (INF, "sum", [INF, -1.0]),
        (2.5, "avg", [1, 4, None]),
        (float(Fraction(2 * TOP, 3)), "avg", [TOP, TOP, 0]),
        (1.5, "avg", [1.0, 2.0]),
        (-1.0, "min", [NAN, -1.0, None]),
        (2, "max", [1, 2, None]),
        ("b", "max", ["a", "b"]),
        (False, "min", [True, False]),
        (2.0, "variance", [1, 3]),
        (None, "variance", [1, None]),
        (1.0, "var_pop", [1, 3]),
        (0.0, "var_pop", [7]),
        (2.0, "variance", [10**18 + 1, 10**18 + 3]),
        (math.sqrt(2.0), "stddev", [1, 3]),
        (1.0, "stddev_pop", [1, 3]),
        (None, "stddev", [1]),
        (1, "first", [None, 1, 2]),
        (2, "last", [1, 2, None]),
        (1.5, "median", [2, 1, None]),
        (2.0, "median", [2, 1, 10]),
        (1.0, "median", [1.0, NAN, 0.0]),
        (1.75, "quantile", [1, 2, 3, 4]),
        (-INF, "quantile", [-INF, -INF, 1.0]),
        (1, "mode", [2, 1, 2, 1, 3]),
        ([1, 3, 2], "collect", [1, None, 3, 2]),
    ],
)
def test_aggregates(expected: Any, function: str, values: list[Any]) -> None:
    actual = compute(function, values)
    assert (expected, type(expected)) == (actual, type(actual))


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("sum", [INF, -INF]),
        ("sum", [1.0, NAN]),
        ("avg", [NAN]),
        ("max", [INF, NAN]),
        ("variance", [1.0, INF]),
        ("var_pop", [NAN]),
        ("median", [1.0, NAN]),
        ("mode", [1.0, NAN, float("nan")]),
    ],
)
def test_nan(function: str, values: list[float]) -> None:
    assert math.isnan(compute(function, values))


def test_ties_in_time_do_not_depend_on_arrival() -> None:
    tied = [(5, 2), (5, 1), (5, 3)]
    assert [1, 3, [1, 2, 3]] == [REFERENCE[name](tied, ()) for name in ("first", "last", "collect")]


def test_most_frequent_first_ties_by_the_smaller_value() -> None:
    values = ["c", "b", "b", "c", "a", None]
    assert [("b", 2), ("c", 2)] == pairs(compute("top_k", values, 2))
    assert [("b", 2), ("c", 2), ("a", 1)] == pairs(compute("top_k", values, 9))
    assert [("b", 2), ("c", 2)] == pairs(compute("heavy_hitters", values, 0.4))
    assert 3 == len(compute("heavy_hitters", values, 0.2))


@pytest.mark.parametrize("function", REFERENCE)
@pytest.mark.parametrize("values", [[], [None, None]])
def test_over_nothing(function: str, values: list[None]) -> None:
    lists: dict[str, Any] = {"collect": [], "top_k": [], "heavy_hitters": []}
    empty = {"count": 0, "count_distinct": 0, "approx_distinct": 0, **lists}
    assert empty.get(function) == compute(function, values)


@pytest.mark.parametrize("function", sorted(set(REFERENCE) - {"first", "last", "collect"}))
def test_the_order_of_rows_does_not_matter(function: str) -> None:
    @given(st.lists(ys()), st.randoms(use_true_random=False))
    def check(values: list[float | None], random: Any) -> None:
        shuffled = random.sample(values, len(values))
        expected, actual = compute(function, values), compute(function, shuffled)
        assert comparable([{"a": expected}]) == comparable([{"a": actual}])

    check()


@given(st.lists(xs(extremes=False).filter(lambda x: x is not None), min_size=2))
def test_variance_agrees_with_the_standard_library(values: list[int]) -> None:
    assert float(statistics.variance(map(Fraction, values))) == compute("variance", values)
    assert float(statistics.pvariance(map(Fraction, values))) == compute("var_pop", values)


@given(st.lists(st.integers(-1000, 1000), min_size=1), st.sampled_from((0.0, 0.1, 0.5, 0.9, 1.0)))
def test_quantile_agrees_with_duckdb(values: list[int], q: float) -> None:
    found = duckdb.execute("SELECT quantile_cont(x::DOUBLE, ?) FROM (SELECT unnest(?) AS x)", [q, values]).fetchone()
    assert found is not None
    assert math.isclose(found[0], compute("quantile", values, q), rel_tol=1e-12, abs_tol=1e-12)


def test_zero_has_no_sign() -> None:
    for function in ("sum", "min", "max", "first", "last", "median", "mode", "avg"):
        assert 1.0 == math.copysign(1.0, compute(function, [-0.0]))


def test_an_integer_sum_beyond_64_bits() -> None:
    with pytest.raises(
        SumOverflowError, match=r"^`sum` must fit into 64 bits, got 9223372036854775808\. Hint: sum a do"
    ):
        compute("sum", [TOP, 1])


def test_an_unknown_aggregate() -> None:
    with pytest.raises(KeyError, match=r"^'entropy'$"):
        compute("entropy", [1])
