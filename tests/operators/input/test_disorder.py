"""What an input notes of rows below its bound: by definition, however batches are cut, and which row it names."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests.operators.kernels.test_input import disordered, on_grid
from windrow.operators.base import Batch
from windrow.operators.input.input import Input
from windrow.operators.input.policy import Disorder
from windrow.operators.kernels.input import BLOCK
from windrow.physical.nodes import Grid
from windrow.pipeline.metrics import Metrics
from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.policies import START, External, Ordered, Policy, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount

POLICIES = (Ordered(), Slack(Amount.of(5)), Slack(Amount.of(40)), SlackRows(0), SlackRows(3))


def furthest_behind(values: Iterable[int], bounds: Iterable[int]) -> int:
    """The most that a value below the bound in force is behind the largest before it; 0 when none is below its bound.

    It is the least slack in time under which none of these values would have been below its bound.
    """
    most, high = 0, START
    for value, bound in zip(values, bounds, strict=True):
        if value < bound:
            most = max(most, high - value)
        high = max(high, value)
    return most


def slack_of(policy: Policy) -> int:
    return int(policy.amount.number) if isinstance(policy, Slack) else 0


def noted(times: Sequence[int], policy: Policy, grid: Grid, cuts: Sequence[int] = ()) -> Disorder:
    """The notes of an input after these rows, in batches cut there."""
    source = Input("s", "t", policy, slack=slack_of(policy), grid=grid)
    for start, end in pairwise([0, *sorted(cuts), len(times)]):
        data = pa.record_batch({"t": pa.array(times[start:end], pa.int64())})
        list(source.process(Batch.unread(data)))
    again = Input("s", "t", policy)
    again.restore(source.state())
    assert source.disorder.notes.tolist() == again.disorder.notes.tolist()
    return source.disorder


@settings(deadline=None, max_examples=50)
@given(
    st.integers(0, 1 << 30),
    st.sampled_from(POLICIES),
    st.sampled_from((1, 7, 50)),
    st.integers(-20, 20),
    st.booleans(),
    st.sampled_from((1, 5, 100, 3 * BLOCK)),
    st.lists(st.floats(0, 1), max_size=4),
)
def test_by_definition_however_batches_are_cut(
    seed: int, policy: Policy, step: int, origin: int, together: bool, size: int, cuts: list[float]
) -> None:
    times = disordered(random.Random(seed), size)
    grid = Grid() if together else Grid(origin, step)
    found = noted(times, policy, replace(grid, together=together), [int(cut * size) for cut in cuts])
    told = [on_grid(bound, grid.origin, grid.step) for bound in bounds(times, policy, slack_of(policy))]
    below = sum(time < bound for time, bound in zip(times, told, strict=True))
    assert (furthest_behind(times, told) if below else None) == found.behind
    assert noted(times, policy, replace(grid, together=together)).notes.tolist() == found.notes.tolist()


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 1 << 30), st.sampled_from(POLICIES))
def test_with_the_slack_that_it_tells_no_row_is_late(seed: int, policy: Policy) -> None:
    table = pa.table({"t": disordered(random.Random(seed), 60)})
    for window in ({"range": 12, "slide": 4}, {"gap": 3}):
        metrics = counted(table, policy, **window)
        if metrics.rows_late:
            behind = metrics.sources["stream"].behind
            assert behind is not None
            assert 0 == counted(table, Slack(Amount.of(behind)), **window).rows_late


def counted(table: pa.Table, policy: Policy, **window: int) -> Metrics:
    stream = wr.stream(table, time="t", progress=policy)
    return stream.window(**window).agg(n=wr.count()).run().metrics  # type: ignore[arg-type]


def jump(times: Sequence[int], policy: Policy, step: int = 1) -> Jump | None:
    return noted(times, policy, Grid(0, step)).jump(len(times), slack_of(policy), "row")


STEADY = list(range(0, 3000, 10))
FAR = 1 << 50


@pytest.mark.parametrize("policy", [Ordered(), Slack(Amount.of(30)), SlackRows(3)])
@pytest.mark.parametrize("place", [1, 100, 298])
def test_a_row_far_ahead_is_named(policy: Policy, place: int) -> None:
    times = [*STEADY[:place], FAR, *STEADY[place:]]
    after = len(STEADY) - place - (3 if isinstance(policy, SlackRows) else 0)
    expected = Jump(place, FAR, FAR - STEADY[place - 1], after) if after >= 10 else None
    assert expected == jump(times, policy)


def test_the_first_row_is_as_far_ahead_as_all_others_are_behind() -> None:
    assert Jump(0, FAR, FAR - STEADY[-1], len(STEADY)) == jump([FAR, *STEADY], Ordered())


def test_of_several_rows_far_ahead_the_first_is_named() -> None:
    """A device with a broken clock sends on: what is late is late by its first row."""
    times = [*STEADY[:50], FAR, FAR + 100, FAR + 200, *STEADY[50:100], FAR + 1000, *STEADY[100:]]
    assert Jump(50, FAR, FAR - STEADY[49], 250) == jump(times, Ordered())


def test_a_clock_that_is_wrong_for_a_while() -> None:
    """The stream catches up with the row; what is late later is not its fault."""
    rest = list(range(3000, 30_000, 10))
    times = [*STEADY[:100], STEADY[99] + 1000, *STEADY[100:], *rest, STEADY[105]]
    assert Jump(100, 1990, 1000, 97) == jump(times, Slack(Amount.of(20)))


def test_of_two_such_rows_the_one_that_made_more_late() -> None:
    times = [*STEADY[:100], STEADY[99] + 400, *STEADY[100:200], FAR, *STEADY[200:]]
    assert Jump(201, FAR, FAR - STEADY[199], 100) == jump(times, Ordered())


@pytest.mark.parametrize(
    ("times", "policy"),
    [
        pytest.param([*STEADY, *STEADY], Ordered(), id="one file after another"),
        pytest.param(STEADY[::-1], Ordered(), id="backwards"),
        pytest.param([*STEADY[:150], *(t + FAR for t in STEADY[150:]), FAR, FAR + 10], Ordered(), id="a lull"),
        pytest.param(disordered(random.Random(1), 400), Ordered(), id="disorder"),
        pytest.param([10, 3, 5, 50, 44, 45], Ordered(), id="few rows"),
        pytest.param([*STEADY[:100], STEADY[100] + 250, *STEADY[100:]], Slack(Amount.of(30)), id="near the slack"),
        pytest.param(STEADY, Ordered(), id="in order"),
    ],
)
def test_no_row_is_named_where_none_is_to_blame(times: list[int], policy: Policy) -> None:
    assert jump(times, policy) is None


def test_punctuations_far_ahead() -> None:
    source = Input("s", "t", External(), grid=Grid())
    for element in (*STEADY[:20], Punctuation(STEADY[20]), Punctuation(FAR), *STEADY[20:]):
        if isinstance(element, Punctuation):
            list(source.punctuate(element))
        else:
            list(source.process(Batch.unread(pa.record_batch({"t": pa.array([element], pa.int64())}))))
    assert FAR - STEADY[20] == source.disorder.behind
    assert Jump(20, FAR, FAR - STEADY[20], 280) == source.disorder.jump(300, 0, "row")


def test_furthest_behind() -> None:
    assert 7 == furthest_behind([10, 12, 11, 20, 13], bounds=[START, 9, 11, 11, 19])
