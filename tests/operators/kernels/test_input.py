"""Where batches are cut: every row meets the bound that `semantics.progress.bounds` says, rounded to the grid."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from windrow.operators.input.policy import Disorder
from windrow.operators.kernels import input as kernels
from windrow.semantics.progress.policies import START, Policy, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount


def disordered(chance: random.Random, size: int) -> list[int]:
    now, times = chance.randrange(-300, 300), []
    for _ in range(size):
        now += chance.choice((0, 1, 2, 30 if chance.random() < 0.1 else 0))
        times.append(now - (chance.randrange(60) if chance.random() < 0.3 else 0))
    return times


def on_grid(bound: int, origin: int, step: int) -> int:
    return START if bound == START else origin + (bound - origin) // step * step


def late_by_definition(times: Sequence[int], policy: Policy, slack: int, origin: int, step: int) -> list[int]:
    """For each row the bound it falls below, or START when it is in time."""
    found = [on_grid(bound, origin, step) for bound in bounds(times, policy, slack)]
    return [bound if time < bound else START for time, bound in zip(times, found, strict=True)]


def late_by_cuts(times: Sequence[int], cuts: Sequence[int], told: Sequence[int], bound: int = START) -> list[int]:
    """The same when the punctuation `told[j]` comes before row `cuts[j]`."""
    said, found = dict(zip(cuts, told, strict=True)), []
    for i, time in enumerate(times):
        bound = said.get(i, bound)
        found.append(bound if time < bound else START)
    return found


@pytest.mark.parametrize("size", [1, 40, kernels.BLOCK, 3 * kernels.BLOCK + 7])
@pytest.mark.parametrize("slack", [0, 5, 40])
def test_slack_in_time(slack: int, size: int) -> None:
    chance = random.Random(slack + size)
    for _ in range(10):
        origin, step = chance.randrange(-20, 20), chance.choice((1, 7, 50))
        times = disordered(chance, size)
        cuts, told = np.empty(size, np.int64), np.empty(size, np.int64)
        count, high, least = kernels.cut_points(
            np.array(times), START, slack, START, origin, step, cuts, told, 0, Disorder().notes
        )
        expected = late_by_definition(times, Slack(Amount.of(slack)), slack, origin, step)
        assert expected == late_by_cuts(times, cuts[:count].tolist(), told[:count].tolist())
        assert (max(times), min(times)) == (high, least)
        assert sorted(set(told[:count].tolist())) == told[:count].tolist()


def test_a_stream_in_two_batches_is_cut_as_in_one() -> None:
    chance = random.Random(3)
    for _ in range(30):
        times, middle = disordered(chance, 200), chance.randrange(1, 199)
        expected = late_by_definition(times, Slack(Amount.of(5)), 5, 3, 10)
        found, high, bound = [], START, START
        for part in (times[:middle], times[middle:]):
            cuts, told = np.empty(200, np.int64), np.empty(200, np.int64)
            count, high, _ = kernels.cut_points(np.array(part), high, 5, bound, 3, 10, cuts, told, 0, Disorder().notes)
            found += late_by_cuts(part, cuts[:count].tolist(), told[:count].tolist(), bound)
            bound = max([bound, on_grid(high - 5, 3, 10)])
        assert expected == found


@pytest.mark.parametrize("rows", [0, 1, 6])
def test_slack_in_rows(rows: int) -> None:
    chance = random.Random(rows)
    for _ in range(30):
        origin, step = chance.randrange(-20, 20), chance.choice((1, 7, 50))
        times = disordered(chance, 100)
        highs = np.array(list(bounds(times, SlackRows(rows))))
        cuts, told = np.empty(100, np.int64), np.empty(100, np.int64)
        count = kernels.cut_points_rows(np.array(times), highs, START, origin, step, cuts, told)
        expected = late_by_definition(times, SlackRows(rows), 0, origin, step)
        assert expected == late_by_cuts(times, cuts[:count].tolist(), told[:count].tolist())


def test_too_little_room_for_the_cuts_is_said() -> None:
    times, none = np.array([0, 10, 0, 20, 0]), np.empty(0, np.int64)
    assert -1 == kernels.cut_points(times, START, 0, START, 0, 1, none, none, 0, Disorder().notes)[0]
    highs = np.array(list(bounds(times.tolist(), SlackRows(0))))
    assert -1 == kernels.cut_points_rows(times, highs, START, 0, 1, none, none)
