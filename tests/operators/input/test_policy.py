"""What a policy promises after rows is what its slow namesake promises before the next one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.operators.input.policy import implied, lead_among_rows, moved_by, settle, slack_of, slack_rows_of
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import (
    START,
    AtEnd,
    External,
    Lead,
    Ordered,
    Policy,
    Slack,
    SlackRows,
    bounds,
)
from windrow.semantics.scalars.amounts import Amount

POLICIES: list[Policy] = [AtEnd(), Ordered(), Slack(Amount.of(3)), SlackRows(1), SlackRows(4), External()]


def stream(policy: Policy, kind: pa.DataType = pa.int64()) -> Stream:  # noqa: B008 - never changed
    return Stream("s", pa.schema([("t", kind)]), "t", policy)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@given(batches=st.lists(st.lists(st.integers(-20, 20), max_size=4), max_size=6))
def test_the_bound_after_rows_in_any_batches(policy: Policy, batches: list[list[int]]) -> None:
    slack, rows = slack_of(stream(policy)), slack_rows_of(stream(policy))
    high, settled, seen = START, START, list[int]()
    recent = np.empty(0, np.int64)
    for batch in batches:
        seen += batch
        high = max([high, *batch])
        settled, recent = settle(np.concatenate([recent, np.array(batch, np.int64)]), rows, settled)
        *_, expected = bounds([*seen, 0], policy, slack)
        assert expected == implied(policy, slack, high=high, settled=settled)


def test_large_times_are_settled_exactly() -> None:
    large = (1 << 61) - 1
    assert (large, [5]) == settle([large, 5], rows=1, settled=START)
    assert (large, []) == settle(list[int](), rows=1, settled=large)


def test_what_moves_the_bound() -> None:
    known = {"high": 9, "settled": 7, "promised": 5}
    assert [9, 9, 7, 5] == [moved_by(p, **known) for p in (Ordered(), Slack(Amount.of(3)), SlackRows(2), External())]


def test_amounts_are_in_units_of_the_attribute() -> None:
    timed = stream(Slack(Amount.of("2 s"), Lead(Amount.of("1 min"))), pa.timestamp("us"))
    assert (2_000_000, 60_000_000) == (slack_of(timed), lead_among_rows(timed))
    assert (0, None) == (slack_of(stream(Ordered())), lead_among_rows(stream(Ordered())))
    by_clock = stream(Ordered(Lead(Amount.of("1 min"), wall_clock=True)), pa.timestamp("us"))
    assert lead_among_rows(by_clock) is None
