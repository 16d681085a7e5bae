from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from windrow.semantics.progress.lateness import Account, Verdict, judge
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Landmark, Sliding

#        0    10   20   30
# bound            |            t = 12: [0, 20) is closed, [10, 30) is open
WINDOW = Sliding("ts", range=20, slide=10)


def judge_value(window: Sliding, t: int, **how: Any) -> Verdict:
    return judge(window, window.wids_at(t), **how)


def test_a_window_is_closed_by_the_punctuation_at_its_end() -> None:
    assert Verdict(missed=(), counted=(2, 3)) == judge_value(WINDOW, 12, bound=19)
    assert Verdict(missed=(2,), counted=(3,)) == judge_value(WINDOW, 12, bound=20)
    assert Verdict(missed=(2, 3), counted=()) == judge_value(WINDOW, 12, bound=END)


def test_a_row_below_the_bound_with_all_windows_open_is_not_late() -> None:
    assert () == judge_value(WINDOW, 12, bound=19).missed
    assert judge_value(WINDOW, 12, bound=20).missed


def test_consistent_forgoes_the_open_windows() -> None:
    assert Verdict((2,), ()) == judge_value(WINDOW, 12, bound=20, lateness="consistent")
    assert Verdict((), (2, 3)) == judge_value(WINDOW, 12, bound=19, lateness="consistent")


def test_landmark_windows_up_to_the_last() -> None:
    assert Verdict((1, 2), (3, 4)) == judge(Landmark("ts", slide=10), range(1, 5), bound=20)
    assert Verdict((1,), ()) == judge(Landmark("ts", slide=10), [1], bound=20)


def test_a_row_in_no_window_is_never_late() -> None:
    assert Verdict((), ()) == judge(WINDOW, [], bound=END)


@given(
    strategies.sliding(), st.integers(-100, 100), st.integers(-100, 200), st.sampled_from(("generous", "consistent"))
)
def test_a_verdict_parts_the_windows(window: Sliding, t: int, bound: int, lateness: str) -> None:
    verdict = judge_value(window, t, bound=bound, lateness=lateness)
    left_out = set(window.wids_at(t)) - {*verdict.missed, *verdict.counted}
    assert not left_out or (verdict.missed and lateness == "consistent")
    assert not {*verdict.missed} & {*verdict.counted}
    assert Verdict((), tuple(window.wids_at(t))) == judge_value(window, t, bound=START, lateness=lateness)


def test_every_row_is_accounted_for() -> None:
    assert 6 == Account(used=3, late=1, filtered=2).rows_in
