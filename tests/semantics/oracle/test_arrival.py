from __future__ import annotations

import math
from typing import Any

import pytest

from windrow.errors import DataError, UnsupportedError
from windrow.semantics.oracle.arrival import Arrival, ArrivalBounds, arrivals
from windrow.semantics.progress.lead import EarlyRow
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple, Sliding, Window

WINDOW = Sliding("ts", 10, 10)


def arrive(elements: list[Any], window: Window = WINDOW) -> tuple[list[Arrival], list[EarlyRow], int]:
    return arrivals(elements, window, (("k", Column("k")),), Call("<>", (Column("k"), Literal("x"))))


def test_rows_know_the_bound_as_they_arrived() -> None:
    arrived, _, _ = arrive([{"ts": 5, "k": "a"}, Punctuation(9), {"ts": 5, "k": "a"}])
    assert [START, 9] == [a.bound for a in arrived]


def test_a_row_whose_filter_is_not_true_is_filtered() -> None:
    arrived, _, filtered = arrive([{"ts": 5, "k": "x"}, {"ts": 5, "k": None}, {"ts": 5, "k": "a"}])
    assert (["a"], 2) == ([a.row["k"] for a in arrived], filtered)


def test_a_group_has_the_larger_of_both_bounds() -> None:
    bounds = ArrivalBounds().after(Punctuation(5)).after(Punctuation(9, ("a",))).after(Punctuation(3, ("b",)))
    assert (9, 5, 5) == (bounds.of(("a",)), bounds.of(("b",)), bounds.of(("c",)))
    assert 12 == bounds.after(Punctuation(12)).of(("a",))


def test_equal_keys_are_one_group() -> None:
    rows = [{"ts": 1, "k": value} for value in (math.nan, float("nan"), 0.0, -0.0, None)]
    arrived, _, _ = arrivals(rows, WINDOW, (("k", Column("k")),), None)
    assert 3 == len({a.group for a in arrived})


def test_rows_windows_count_arrivals() -> None:
    arrived, _, _ = arrive([{"k": "a"}, {"k": "x"}, {"k": "b"}], RowsWindow(2, 1))
    assert [0, 1] == [a.t for a in arrived]


def test_punctuations_never_go_back() -> None:
    for elements in ([Punctuation(5), Punctuation(4)], [Punctuation(5, ("a",)), Punctuation(4, ("a",))]):
        with pytest.raises(DataError, match=r"^`punctuation` must never go back \(the last one was 5\), got 4\."):
            arrive(elements)


@pytest.mark.parametrize("window", [SlideByTuple("ts", 5), RowsWindow(2, 1, (), "ts")])
def test_groups_need_a_window_of_their_own(window: Window) -> None:
    message = r"^`punctuation` of one group needs a window that rows of other groups say nothing about, got \('a',\)\. "
    with pytest.raises(UnsupportedError, match=message):
        arrive([Punctuation(5, ("a",))], window)
