from __future__ import annotations

import numpy as np
import pytest

from windrow.errors import ConfigurationError
from windrow.generate.skew import Skew, SkewedGroups, Uniform, Zipf, parse_skew


def sample(skew: Skew, rows: int, keys: int = 10) -> list[int]:
    sampler = skew.sampler(keys, np.random.default_rng(3))
    return [*sampler(rows // 2).tolist(), *sampler(rows - rows // 2).tolist()]


def shares(keys: list[int]) -> list[float]:
    counts: list[float] = (np.bincount(keys) / len(keys)).tolist()
    return counts


def test_uniform_keys_are_equally_likely() -> None:
    assert [0.1] * 10 == pytest.approx(shares(sample(Uniform(), 200_000)), abs=0.005)


def test_zipf_shares_fall_with_the_rank() -> None:
    weights = np.arange(1, 11) ** -1.5
    expected = (weights / weights.sum()).tolist()
    assert expected == pytest.approx(shares(sample(Zipf(1.5), 200_000)), abs=0.005)


@pytest.mark.parametrize(
    ("small", "expected"),
    [
        (0.01, (39, 51, 10)),
        (0.03, (66, 28, 6)),
        (0.05, (77, 19, 4)),
        (0.07, (82, 15, 3)),
        (0.09, (87, 11, 2)),
    ],
)
def test_groups_have_the_shares_of_table_6_2(small: float, expected: tuple[int, int, int]) -> None:
    kinds = np.unique(sample(SkewedGroups(small), 400_000)) % 3
    assert expected == pytest.approx([100 * np.mean(kinds == kind) for kind in range(3)], abs=2)


def test_group_sizes_are_1_and_15_and_300_on_average() -> None:
    keys, sizes = np.unique(sample(SkewedGroups(), 400_000), return_counts=True)
    means = [sizes[keys % 3 == kind].mean() for kind in range(3)]
    assert [1, 15, 300] == pytest.approx(means, rel=0.06)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uniform", Uniform()), ("zipf", Zipf()), ("zipf 1.2", Zipf(1.2)), ("groups", SkewedGroups()),
        ("groups 9%", SkewedGroups(0.09)),
    ],
)  # fmt: skip
def test_parse_skew(text: str, expected: Skew) -> None:
    assert expected == parse_skew(text)


@pytest.mark.parametrize("text", ["", "even", "zipf x", "uniform 3"])
def test_other_text_is_refused(text: str) -> None:
    pattern = (
        rf"^`skew` must be 'uniform', 'zipf EXPONENT' or 'groups PERCENT', got {text}\. "
        r"Hint: write it like 'zipf 1\.2' or 'groups 5'\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        parse_skew(text)


def test_an_exponent_must_be_positive() -> None:
    with pytest.raises(
        ConfigurationError, match=r"^`s` must be a positive number, got 0\.0\. Hint: give a number like 1000\.$"
    ):
        parse_skew("zipf 0")


def test_shares_must_add_up() -> None:
    pattern = (
        r"^`small, medium` must be shares of the rows that add up to at most 1, got \(0\.9, 0\.2\)\. "
        r"Hint: write 5 percent as 0\.05\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        SkewedGroups(0.9)
