"""Rows too far ahead: the kernel, batch by batch, against its slow namesake."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.operators.base import Batch, EarlyRows
from windrow.operators.input.input import Input
from windrow.operators.input.policy import LeadLimit
from windrow.operators.input.times import to_units
from windrow.physical.nodes import Grid
from windrow.semantics.progress.lead import ahead
from windrow.semantics.progress.policies import LIMIT, Ordered, Policy, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount

END_OF_9999 = 253_402_300_799_999_999
TIMES = st.one_of(
    st.integers(0, 60), st.integers(0, 60), st.integers(-400, 400), st.sampled_from((END_OF_9999, LIMIT, (1 << 63) - 1))
)
POLICIES = st.sampled_from((Ordered(), Slack(Amount.of(5)), SlackRows(2)))


def fed(operator: Input, times: list[int], cuts: set[int]) -> list[Any]:
    places = [0, *sorted(cut for cut in cuts if 0 < cut < len(times)), len(times)]
    column = pa.array(times, pa.int64())
    return [
        element
        for start, end in pairwise(places)
        for element in operator.process(Batch.unread(pa.record_batch([column[start:end]], names=["ts"])))
    ]


@given(st.lists(TIMES, min_size=1, max_size=25), st.integers(1, 90), POLICIES, st.sets(st.integers(0, 25)))
def test_early_rows_leave_the_stream_wherever_batches_are_cut(
    times: list[int], lead: int, policy: Policy, cuts: set[int]
) -> None:
    slack = 5 if isinstance(policy, Slack) else 0
    found = fed(Input("s", "ts", policy, slack=slack, lead=LeadLimit(lead), grid=Grid()), times, cuts)
    by = list(ahead(times, lead))
    rest = [t for t, far in zip(times, by, strict=True) if far is None]
    assert rest == [t for e in found if isinstance(e, Batch) for t in e.times.tolist()]
    early = [(t, t - b) for e in found if isinstance(e, EarlyRows) for t, b in zip(*told(e.batch), strict=True)]
    assert [(t, far) for t, far in zip(times, by, strict=True) if far is not None] == early
    last = [e.value for e in found if isinstance(e, Punctuation)][-1:]
    assert [b for b in [*bounds([*rest, 0], policy, slack)][-1:] if b > -LIMIT] == last


def told(batch: Batch) -> tuple[list[int], list[int]]:
    assert batch.bounds is not None
    return batch.times.tolist(), batch.bounds.tolist()


def test_the_clock_says_what_is_ahead() -> None:
    now = [100.0]
    stage = Input("s", "ts", Ordered(), lead=LeadLimit(5_000_000, wall_clock=True, clock=lambda: now[0]), grid=Grid())
    first = fed(stage, [1, 105_000_000, 105_000_001], set())
    now[0] = 101.0
    second = fed(stage, [105_000_001, LIMIT], set())
    assert [[1, 105_000_000], [105_000_001]] == [e.times.tolist() for e in first + second if isinstance(e, Batch)]
    assert [(105_000_001, 100_000_000), (LIMIT, 101_000_000)] == [
        pair for e in first + second if isinstance(e, EarlyRows) for pair in zip(*told(e.batch), strict=True)
    ]
    assert 2 == stage.counters.early


def test_state_says_what_rows_are_measured_against() -> None:
    stage, again = (Input("s", "ts", Ordered(), lead=LeadLimit(5), grid=Grid()) for _ in range(2))
    fed(stage, [1, 3, 50], set())
    again.restore(stage.state())
    (early,) = fed(again, [9], set())
    assert isinstance(early, EarlyRows)
    assert ([9], [3]) == told(early.batch)


def test_an_early_row_does_not_say_how_far_its_source_is() -> None:
    stage = Input("s", "ts", Ordered(), lead=LeadLimit(5), grid=Grid())
    data = pa.record_batch([pa.array([LIMIT, 1, 900, 3, 901], pa.int64())], names=["ts"])
    assert [-LIMIT, 1, 1, 3, 3] == stage.places_of(data).tolist()
    assert [1, 2, 3] == stage.places_of(pa.record_batch([pa.array([1, 2, 3])], names=["ts"])).tolist()


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_times_beyond_all_limits_are_early_where_there_is_a_lead(unit: str) -> None:
    column = pa.array([5, (1 << 63) - 1], pa.int64()).cast(pa.timestamp(unit))
    with pytest.raises(DataError, match=r"^`ts` must lie within 2\^61 units of zero, got 9223372036854775807\."):
        to_units(column, "ts")
    stage = Input("s", "ts", Ordered(), lead=LeadLimit(5), grid=Grid())
    found = list(stage.process(Batch.unread(pa.record_batch([column], names=["ts"]))))
    assert [1] == [len(e) for e in found if isinstance(e, EarlyRows)]
    below = pa.array([-(1 << 62)], pa.int64()).cast(pa.timestamp(unit))
    with pytest.raises(DataError, match=r"^`ts` must lie within 2\^61 units of zero, got -4611686018427387904\."):
        stage.times_of(pa.record_batch([below], names=["ts"]))


def test_without_a_lead_nothing_is_judged() -> None:
    stage = Input("s", "ts", Ordered(), grid=Grid())
    assert [np.int64] == [e.times.dtype.type for e in fed(stage, [1, 900], set()) if isinstance(e, Batch)]
    assert 0 == stage.counters.early


def test_a_clock_that_is_set_back_makes_no_row_early() -> None:
    """Rows that are as the clock was would lie far ahead of what it is now."""
    now = [1000.0]
    limit = LeadLimit(5_000_000, wall_clock=True, clock=lambda: now[0])
    times = np.array([1_004_000_000, 1_006_000_000])
    for clock in (1000.0, 400.0, 999.0):
        now[0] = clock
        early, against = limit.judge(times, 0)
        assert ([False, True], [1_000_000_000] * 2) == (early.tolist(), against.tolist())
    now[0] = 1002.0
    assert [False, False] == limit.judge(times, 0)[0].tolist()
