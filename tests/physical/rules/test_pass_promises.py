"""What nodes are told of those above them."""

from __future__ import annotations

from windrow.physical.rules.pass_promises import reach_of
from windrow.semantics.joins import Between, SameWindow


def test_rows_that_meet_are_at_most_the_reach_apart() -> None:
    assert [reach_of(window) for window in (Between(-3, 5), Between(2, 9), Between(0, 0), SameWindow(7))] == [
        8,
        9,
        1,
        7,
    ]
