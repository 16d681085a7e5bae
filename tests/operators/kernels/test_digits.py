"""Exact sums of floats: what the digits hold is the sum, rounded once."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from windrow.operators.kernels import digits
from windrow.operators.state.keys import NO_VALIDITY
from windrow.semantics.oracle.reference import float_sum

BASE, WIDTH = -1088, 68
"""Digits for the whole range of doubles."""
TINY = 5e-324
LARGEST = math.ldexp((1 << 53) - 1, 971)
HALF = math.ldexp(1.0, -53)
"""Half of the last place of 1.0."""


def any_double(chance: random.Random) -> float:
    """A finite double of any magnitude, all exponents alike, subnormals among them."""
    return math.ldexp(chance.choice((-1, 1)) * chance.getrandbits(53), chance.randrange(-1074, 971))


def deposited(values: Sequence[float], slots: Sequence[int] = ()) -> Any:
    """The digits of one sum, or of several where slots are given."""
    bits = np.array(values, np.float64).view(np.int64)
    place = np.array(slots or [0] * len(values), np.int32)
    adds = np.zeros((int(place.max(initial=0)) + 1, WIDTH), np.int64)
    digits.add_floats(adds, 0, BASE, -1, place, bits, NO_VALIDITY)
    return adds


def rounded(adds: Any) -> list[float]:
    digits.carry(adds, 0, WIDTH)
    out = np.empty(len(adds))
    digits.round_sums(adds, 0, WIDTH, BASE, out)
    return out.tolist()


def exact(adds: Any, base: int) -> Fraction:
    """What the first row of digits stands for, by definition."""
    return sum((int(digit) * Fraction(2) ** (base + 32 * i) for i, digit in enumerate(adds[0])), Fraction())


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_doubles_of_all_magnitudes(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(200):
        values = [any_double(chance) for _ in range(chance.randrange(1, 12))]
        assert [float_sum(values)] == rounded(deposited(values))


def test_sums_that_cancel() -> None:
    chance = random.Random(5)
    for _ in range(200):
        values = [any_double(chance) for _ in range(6)]
        rest = chance.choice((0.0, TINY, -TINY, 1e-300, any_double(chance)))
        mixed = [*values, *(-value for value in values), rest]
        chance.shuffle(mixed)
        assert [rest] == rounded(deposited(mixed))


def test_subnormal_sums() -> None:
    chance = random.Random(6)
    for _ in range(200):
        values = [chance.choice((-1, 1)) * TINY * chance.getrandbits(52) for _ in range(5)]
        assert [math.fsum(values)] == rounded(deposited(values))


@pytest.mark.parametrize(
    "values",
    [
        [1.0, HALF],
        [1.0 + 2 * HALF, HALF],
        [1.0, HALF, TINY],
        [1.0, HALF, -TINY],
        [-1.0, -HALF],
        [-1.0, -HALF, -TINY],
        [2.0**53, 1.0],
        [2.0**53, 3.0],
        [2.0**-1022, -TINY],
        [LARGEST, math.ldexp(1.0, 969)],
    ],
    ids=repr,
)
def test_halfway_goes_to_even_unless_anything_is_left(values: list[float]) -> None:
    assert [math.fsum(values)] == rounded(deposited(values))


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_beyond_the_largest_double_are_infinite(sign: int) -> None:
    assert [sign * math.inf] == rounded(deposited([sign * LARGEST, sign * math.ldexp(1.0, 970)]))
    assert [sign * LARGEST] == rounded(deposited([sign * LARGEST, sign * LARGEST, -sign * LARGEST]))


def test_digits_of_one_sum_leave_the_others_alone() -> None:
    chance = random.Random(7)
    values = [any_double(chance) for _ in range(300)]
    slots = [chance.randrange(5) for _ in values]
    expected = [float_sum([v for v, s in zip(values, slots, strict=True) if s == slot]) for slot in range(5)]
    assert expected == rounded(deposited(values, slots))


def test_nulls_are_left_out_and_specials_counted() -> None:
    values = [1.5, math.nan, math.inf, -math.inf, math.inf, 2.5, math.nan]
    valid = np.array([1, 1, 1, 1, 1, 0, 0], np.uint8)
    adds = np.zeros((1, WIDTH + 3), np.int64)
    digits.add_floats(adds, 0, BASE, WIDTH, np.zeros(7, np.int32), np.array(values).view(np.int64), valid)
    assert [1, 2, 1] == adds[0, WIDTH:].tolist()
    assert Fraction(3, 2) == exact(adds[:, :WIDTH], BASE)


def test_carrying_changes_no_value() -> None:
    chance = random.Random(8)
    adds = deposited([any_double(chance) for _ in range(100)])
    before = exact(adds, BASE)
    digits.carry(adds, 0, WIDTH)
    assert before == exact(adds, BASE)
    assert all(0 <= digit < 1 << 32 for digit in adds[0, :-1].tolist())


def test_squares_of_doubles_are_exact() -> None:
    chance = random.Random(9)
    for _ in range(50):
        values = [any_double(chance) for _ in range(4)] + [TINY, -LARGEST, 0.0]
        adds = np.zeros((1, 136), np.int64)
        bits = np.array(values, np.float64).view(np.int64)
        digits.add_float_squares(adds, 0, -2176, np.zeros(len(values), np.int32), bits, NO_VALIDITY)
        assert sum((Fraction(value) ** 2 for value in values), Fraction()) == exact(adds, -2176)


def test_squares_of_integers_are_exact() -> None:
    chance = random.Random(10)
    values = [chance.randrange(-(1 << 63), 1 << 63) >> chance.randrange(64) for _ in range(500)]
    values += [-(1 << 63), (1 << 63) - 1, 0]
    adds = np.zeros((1, 5), np.int64)
    digits.add_integer_squares(adds, 0, np.zeros(len(values), np.int32), np.array(values, np.int64), NO_VALIDITY)
    assert sum(value * value for value in values) == exact(adds, 0)


@pytest.mark.parametrize(
    ("value", "fitting"),
    [
        (0.0, True),
        (math.ldexp(1 << 52, -128), True),
        (math.ldexp((1 << 53) - 1, 31), True),
        (math.ldexp(1 << 52, -129), False),
        (math.ldexp(1 << 52, 32), False),
        (TINY, False),
        (math.inf, False),
        (math.nan, False),
    ],
)
def test_which_values_fit_narrow_digits(value: float, fitting: bool) -> None:
    bits = np.array([1.0, value]).view(np.int64)
    assert fitting is digits.fits(bits, NO_VALIDITY, -128, 31)
    assert True is digits.fits(bits, np.array([1, 0], np.uint8), -128, 31)
