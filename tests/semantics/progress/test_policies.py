from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import DataError
from windrow.semantics.progress.policies import (
    START,
    AtEnd,
    External,
    Ordered,
    Policy,
    Slack,
    SlackRows,
    bounds,
    check_advance,
)
from windrow.semantics.scalars.amounts import Amount

VALUES = [10, 12, 11, 20, 5]


@pytest.mark.parametrize(
    ("expected", "policy"),
    [
        ([START, 10, 12, 12, 20], Ordered()),
        ([START, 7, 9, 9, 17], Slack(Amount.of(3))),
        ([START, START, START, 10, 12], SlackRows(2)),
        ([START] * 5, AtEnd()),
        ([START] * 5, External("p")),
    ],
)
def test_the_bound_before_each_row(expected: list[int], policy: Policy) -> None:
    assert expected == list(bounds(VALUES, policy, slack=3))


@given(st.lists(st.integers(-50, 50)), st.integers(0, 20), st.integers(0, 5))
def test_bounds_never_go_back(values: list[int], slack: int, rows: int) -> None:
    for policy in (Ordered(), Slack(Amount.of(slack)), SlackRows(rows)):
        found = list(bounds(values, policy, slack=slack))
        assert sorted(found) == found


def test_a_punctuation_may_stay_but_not_go_back() -> None:
    assert 5 == check_advance(5, 5)
    with pytest.raises(
        DataError, match=r"^`punctuation` must never go back \(the last one was 5\), got 4\. Hint: a so"
    ):
        check_advance(5, 4)
