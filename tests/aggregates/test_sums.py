"""Float sums are exact and rounded once, in any order, under every strategy; integer sums are exact or an error."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import SumOverflowError
from windrow.semantics.oracle.reference import float_sum

STRATEGIES = ("panes", "wid", "buffer")
NASTY = {
    "cancelling": [1e16, 1.0, -1e16, 1e-9],
    "beyond the largest and back": [1.7e308, 1.7e308, -1.7e308, 0.1],
    "beyond the largest": [1.7e308, 1.7e308],
    "subnormal": [5e-324, 5e-324, -5e-324, 2.2250738585072014e-308],
    "all scales": [2.0**e for e in range(-1074, 1000, 37)],
    "infinite": [math.inf, 1.0],
    "both infinities": [math.inf, -math.inf],
    "not a number": [math.nan, 1.0],
    "negative zero": [-0.0, -0.0],
    "tenths": [0.1] * 10,
    "halfway": [1.0, 2.0**-53, 2.0**-54],
}


def answers(values: list[Any], kind: pa.DataType, strategy: str, **window: Any) -> list[Any]:
    data = pa.table({"t": pa.array(range(len(values)), pa.int64()), "x": pa.array(values, kind)})
    query = wr.stream(data, time="t").window(**window).agg(total=wr.sum("x"))
    return query.strategy(strategy).collect(batch_rows=3)["total"].to_pylist()


def same(expected: list[Any], found: list[Any]) -> None:
    assert list(map(repr, expected)) == list(map(repr, found))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("case", NASTY)
def test_one_window(case: str, strategy: str) -> None:
    values = NASTY[case]
    for seed in range(3):
        random.Random(seed).shuffle(values)
        same([float_sum(values)], answers(values, pa.float64(), strategy, range=1000))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_sliding_windows_leave_nothing_behind(strategy: str) -> None:
    """Whatever left the window, even infinities, does not show in later ones."""
    chance = random.Random(1)
    pool = [value for values in NASTY.values() for value in values] + [None, 0.1, 3.5]
    values = [chance.choice(pool) if chance.random() < 0.3 else chance.uniform(-1, 1) for _ in range(200)]
    windows = [[v for v in values[max(0, end - 6) : end] if v is not None] for end in range(2, 206, 2)]
    expected = [float_sum(window) if window else None for window in windows]
    same(expected, answers(values, pa.float64(), strategy, range=6, slide=2))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_single_precision_is_summed_in_double(strategy: str) -> None:
    values = [float(np.float32(v)) for v in (0.1, 3e38, 3e38, -1e-40)]
    same([math.fsum(values)], answers(values, pa.float32(), strategy, range=10))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_integers_that_fit_in_the_end(strategy: str) -> None:
    high, low = (1 << 63) - 1, -(1 << 63)
    assert [-1] == answers([high, high, low, low, 1], pa.int64(), strategy, range=10)
    assert [None] == answers([None, None], pa.int64(), strategy, range=10)
    assert [(1 << 63) - 1] == answers([high], pa.uint64(), strategy, range=10)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("values", [[(1 << 63) - 1, 1], [-(1 << 63), -1], [1 << 62] * 2])
def test_integers_that_do_not_fit(values: list[int], strategy: str) -> None:
    pattern = (
        rf"\A`sum` of integers must fit into 64 bits, got {sum(values)}\. Hint: sum\(CAST\(column AS DOUBLE\)\), or "
    )
    with pytest.raises(SumOverflowError, match=pattern):
        answers(values, pa.int64(), strategy, range=10)


def test_the_mean_of_integers_never_overflows() -> None:
    data = pa.table({"t": [0, 1, 2], "x": [(1 << 63) - 1] * 3})
    found = wr.stream(data, time="t").window(range=10).agg(mean=wr.avg("x")).collect()
    assert [2.0**63] == found["mean"].to_pylist()
