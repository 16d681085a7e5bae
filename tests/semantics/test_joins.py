from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.semantics.join_definitions import extents_join, match, three_step, three_step_in_time
from windrow.semantics.joins import (
    LEFT,
    RIGHT,
    AsOf,
    Between,
    JoinKind,
    LastRows,
    Pair,
    Row,
    SameWindow,
    TimeWindow,
    join,
)


def _always(_left: Row, _right: Row) -> bool:
    return True


def _same(left: Row, right: Row) -> bool | None:
    if left["k"] is None or right["k"] is None:
        return None
    return bool(left["k"] == right["k"])


def _rows(*times: int) -> list[tuple[int, Row]]:
    return [(t, {"ts": t}) for t in times]


def _times(pairs: list[Pair]) -> list[tuple[int | None, int | None]]:
    return [(None if one is None else one["ts"], None if other is None else other["ts"]) for one, other in pairs]


def test_a_left_window_of_three_and_a_right_one_of_two() -> None:
    # a left row is in its window for 3 units: right rows at 10, 11, 12 meet it; it meets right rows since 9
    window = Between.of_ranges(3, 2)
    met = _times(join(_rows(10), _rows(8, 9, 10, 11, 12, 13), window, JoinKind.INNER, _always))
    assert [(10, 9), (10, 10), (10, 11), (10, 12)] == met


def test_the_same_tumbling_window_also_below_zero() -> None:
    met = _times(join(_rows(-1, 0), _rows(-5, -1, 0, 4, 5), SameWindow(5), JoinKind.INNER, _always))
    assert [(-1, -5), (-1, -1), (0, 0), (0, 4)] == met


@pytest.mark.parametrize(
    ("expected", "kind"),
    [
        ([(1, 1)], JoinKind.INNER),
        ([(1, 1), (9, None)], JoinKind.LEFT),
        ([(1, 1), (None, 5)], JoinKind.RIGHT),
        ([(1, 1), (9, None), (None, 5)], JoinKind.FULL),
        ([(1, None)], JoinKind.SEMI),
        ([(9, None)], JoinKind.ANTI),
    ],
)
def test_kinds(expected: list[tuple[int | None, int | None]], kind: JoinKind) -> None:
    assert expected == _times(join(_rows(1, 9), _rows(1, 5), Between(0, 0), kind, _always))


def test_null_meets_nothing() -> None:
    left: list[tuple[int, Row]] = [(0, {"ts": 0, "k": None}), (0, {"ts": 0, "k": 1})]
    assert [(0, 0)] == _times(join(left, left, Between(0, 0), JoinKind.INNER, _same))


@pytest.mark.parametrize(
    ("expected", "window"),
    [
        (5, AsOf()),
        (3, AsOf(strict=True)),
        (5, AsOf(forward=True)),
        (8, AsOf(forward=True, strict=True)),
        (None, AsOf(strict=True, within=1)),
        (3, AsOf(strict=True, within=2)),
    ],
)
def test_as_of(expected: int | None, window: AsOf) -> None:
    met = _times(join(_rows(5), _rows(8, 3, 1, 5), window, JoinKind.LEFT, _always))
    assert [(5, expected)] == met


def test_of_several_right_rows_of_the_same_time_the_greatest_is_meant() -> None:
    right: list[tuple[int, Row]] = [
        (1, {"ts": 1, "x": 2}),
        (1, {"ts": 1, "x": None}),
        (1, {"ts": 1, "x": 7}),
        (1, {"ts": 1, "x": 3}),
    ]
    ((_, met),) = join(_rows(1), right, AsOf(), JoinKind.INNER, _always)
    assert met is not None
    assert met["x"] == 7


def test_three_steps_with_the_last_rows() -> None:
    # l1 l2 l3 r1: the window holds two left rows, so r1 meets l2 and l3; then l4 meets r1
    arrived = [(LEFT, {"ts": 1}), (LEFT, {"ts": 2}), (LEFT, {"ts": 3}), (RIGHT, {"ts": 4}), (LEFT, {"ts": 5})]
    met = _times(three_step(arrived, LastRows(2, 1), JoinKind.FULL, _always))
    assert [(2, 4), (3, 4), (5, 4), (1, None)] == met


_SIDES = st.lists(st.tuples(st.integers(0, 1), st.integers(-20, 20)), max_size=30)
_RANGES = st.tuples(st.integers(1, 12), st.integers(1, 12))


def _split(rows: list[tuple[int, int]]) -> tuple[list[tuple[int, Row]], list[tuple[int, Row]]]:
    left, right = ([(t, {"ts": t, "id": i}) for i, (s, t) in enumerate(rows) if s == side] for side in (LEFT, RIGHT))
    return left, right


@given(_SIDES, _RANGES)
def test_windows_extents_and_match_define_the_same_join(rows: list[tuple[int, int]], ranges: tuple[int, int]) -> None:
    left, right = _split(rows)
    met = join(left, right, Between.of_ranges(*ranges), JoinKind.INNER, _always)
    by_extents = {(left[i][1]["id"], right[j][1]["id"]) for i, j in extents_join(left, right, ranges)}
    by_match = {(a["id"], b["id"]) for t, a in left for u, b in right if match(t, ranges[0], ranges[1], u)}
    assert by_match == by_extents == {(a["id"], b["id"]) for a, b in _whole(met)}
    assert len(met) == len(by_extents)


@given(_SIDES, _RANGES)
def test_three_steps_give_the_same_where_rows_come_in_order(
    rows: list[tuple[int, int]], ranges: tuple[int, int]
) -> None:
    arrived = sorted(((s, t, {"ts": t, "id": i}) for i, (s, t) in enumerate(rows)), key=lambda row: row[1])
    left, right = _split(rows)
    met = join(left, right, Between.of_ranges(*ranges), JoinKind.INNER, _always)
    assert _bag(three_step_in_time(arrived, ranges, _always)) == _bag(met)


def test_three_steps_give_another_answer_where_one_side_is_behind() -> None:
    # the left side comes 5 units late: by arrival, 3 would join with 10
    arrived: list[tuple[int, int, Row]] = [(RIGHT, 10, {"ts": 10}), (LEFT, 3, {"ts": 3})]
    assert [(3, 10)] == _times(three_step_in_time(arrived, (3, 3), _always))
    assert [] == join(_rows(3), _rows(10), Between.of_ranges(3, 3), JoinKind.INNER, _always)


def _whole(pairs: list[Pair]) -> list[tuple[Row, Row]]:
    return [(one, other) for one, other in pairs if one is not None and other is not None]


def _bag(pairs: list[Pair]) -> Counter[Any]:
    return Counter((one["id"], other["id"]) for one, other in _whole(pairs))


@given(
    st.one_of(
        st.builds(lambda low, more: Between(low, low + more), st.integers(-9, 9), st.integers(0, 9)),
        st.builds(SameWindow, st.integers(1, 9), st.integers(-9, 9)),
        st.builds(AsOf, st.booleans(), st.booleans(), st.integers(0, 9)),
    ),
    st.integers(-20, 20),
    st.integers(-20, 20),
)
def test_both_sides_tell_the_same_and_reach_further_with_time(window: TimeWindow, t: int, u: int) -> None:
    low, high = window.right_of(t)
    first, last = window.left_of(u)
    assert (low <= u <= high) == (first <= t <= last)
    assert window.right_of(t + 1) >= (low, high)
    assert window.left_of(u + 1) >= (first, last)
