from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from windrow.errors import QueryError
from windrow.semantics.scalars.amounts import Amount, Domain, render


@pytest.mark.parametrize(
    ("expected", "written"),
    [
        (600_000_000, "10 min"),
        (250_000, "250 ms"),
        (1_500_000, "1.5 s"),
        (-3_000_000, "-3 seconds"),
        (7, timedelta(microseconds=7)),
        (3_600_000_000, " 1H "),
    ],
)
def test_times_are_microseconds(expected: int, written: Any) -> None:
    assert expected == Amount.of(written).resolve(Domain.TIME, "range")


def test_plain_numbers_count_the_attribute() -> None:
    assert 500 == Amount.of(500).resolve(Domain.INTEGER, "range")
    assert Amount(Fraction(1, 2)) == Amount.of(0.5)
    assert Amount.of("5 rows").is_rows
    assert not Amount.of("5 s").is_rows


@pytest.mark.parametrize(("expected", "units"), [("10 min", 600_000_000), ("1500 ms", 1_500_000), ("0 us", 0)])
def test_times_render_in_the_largest_unit(expected: str, units: int) -> None:
    assert expected == render(units, Domain.TIME)


def test_integers_render_plain() -> None:
    assert "60" == render(60, Domain.INTEGER)


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (r"^`range` must be a number with a unit, got True\. Hint: write it like '10 min' or 500\.$", True),
        (
            r"^`range` must be a number with a unit \(us, ms, .* or rows\), got ten\. Hint: write it like '10 min'",
            "ten",
        ),
        (r"^`range` must be a number with a unit \(us, ms, .* or rows\), got 3 moons\. Hint: ", "3 moons"),
        (r"^`range` must be finite, got nan\. Hint: write it like '10 min' or 500\.$", float("nan")),
    ],
)
def test_what_is_no_amount(message: str, written: Any) -> None:
    with pytest.raises(QueryError, match=message):
        Amount.of(written, "range")


@pytest.mark.parametrize(
    ("message", "written", "domain"),
    [
        (r"^`slide` needs a time unit because .* timestamp, got 0\.5\. Hint: write 0\.5 SECONDS", 0.5, Domain.TIME),
        (r"^`slide` must be a plain number .* got 5 s\. Hint: write 5 without a unit", "5 s", Domain.INTEGER),
        (r"^`slide` must be a whole number, got 0\.5\. Hint: use a smaller unit", 0.5, Domain.INTEGER),
        (r"^`slide` must be a whole number of microseconds, got 0\.5 us\. Hint: ", "0.5 us", Domain.TIME),
        (r"^`slide` must be below 2\^62 units, got 4611686018427387904\. Hint: ", 1 << 62, Domain.INTEGER),
    ],
)
def test_what_does_not_fit_the_attribute(message: str, written: Any, domain: Domain) -> None:
    with pytest.raises(QueryError, match=message):
        Amount.of(written).resolve(domain, "slide")
