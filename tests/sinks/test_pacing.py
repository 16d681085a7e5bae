"""A pace: rows a second as asked for, whatever a clock that stumbles does."""

from __future__ import annotations

import random

import pytest

from windrow.sinks.pacing import Pace


class Clock:
    def __init__(self, stumbles: float = 0.0) -> None:
        self.now, self.stumbles, self.draw = 100.0, stumbles, random.Random(5)

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds + self.draw.random() * self.stumbles


@pytest.mark.parametrize("rate", [0.5, 3.0, 1000.0, 123_456.0, 5e7])
@pytest.mark.parametrize("stumbles", [0.0, 0.01])
def test_the_rate_is_kept(rate: float, stumbles: float) -> None:
    clock = Clock(stumbles)
    pace = Pace(rate, clock, clock.wait)
    sent, largest = 0, 0
    while clock.now < 104.0:
        rows = pace.due(1 << 20)
        sent, largest = sent + rows, max(largest, rows)
        clock.now += 1e-6
    assert abs(sent - rate * (clock.now - 100)) <= 0.02 * rate + 2
    assert largest <= 0.02 * rate + 2


def test_who_was_away_for_long_does_not_flood() -> None:
    clock = Clock()
    pace = Pace(1000.0, clock, clock.wait)
    pace.due(10)
    clock.now += 60
    assert pace.due(1 << 20) <= 101


def test_without_a_rate_all_rows_are_due() -> None:
    assert 7 == Pace(None).due(7)
