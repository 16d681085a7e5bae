from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from tests.strategies import AggregateCall, calls, comparable
from windrow.semantics.oracle.answers import OracleAnswer, answer
from windrow.semantics.progress.lateness import Account
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

COUNT = [AggregateCall("n", "count")]
BY_K = (("k", Column("k")),)
TEN = Sliding("ts", range=10, slide=10)


def ts(*values: int) -> list[Any]:
    return [{"ts": t} for t in values]


def spans(found: OracleAnswer) -> list[tuple[Any, ...]]:
    """(start, end, count) of every result."""
    return [(r["window_start"], r["window_end"], r["n"]) for r in found.results]


def test_groups_windows_and_aggregates() -> None:
    rows: list[Any] = [
        {"ts": 12, "k": "b", "x": 1},
        {"ts": 3, "k": "a", "x": None},
        {"ts": 4, "k": None, "x": 7},
        {"ts": 5, "k": "a", "x": 9},
    ]
    found = answer(rows, TEN, keys=BY_K, aggregates=[*COUNT, AggregateCall("s", "sum", Column("x"))])
    assert [
        {"k": "a", "window_start": 0, "window_end": 10, "n": 2, "s": 9},
        {"k": None, "window_start": 0, "window_end": 10, "n": 1, "s": 7},
        {"k": "b", "window_start": 10, "window_end": 20, "n": 1, "s": 1},
    ] == found.results
    assert Account(used=4) == found.account


def test_nan_keys_are_one_group_and_so_are_zeros() -> None:
    rows: list[Any] = [{"ts": 1, "k": value} for value in (math.nan, float("nan"), -0.0, 0.0)]
    found = answer(rows, TEN, keys=BY_K, aggregates=COUNT)
    assert [2, 2] == [result["n"] for result in found.results]
    assert math.isnan(found.results[1]["k"])


def test_the_filter_comes_before_lateness() -> None:
    rows: list[Any] = [Punctuation(10), {"ts": 1, "k": "x"}, {"ts": 1, "k": "a"}]
    found = answer(rows, TEN, where=Call("=", (Column("k"), Literal("a"))))
    assert Account(used=0, late=1, filtered=1) == found.account


#      0         10        20        30
# bound                    |                 t = 12 missed [0, 20), counts in [10, 30) when generous
LATE: list[Any] = [{"ts": 13}, Punctuation(20), {"ts": 12}]
OVERLAP = Sliding("ts", range=20, slide=10)


@pytest.mark.parametrize(
    ("expected", "lateness"),
    [([(0, 20, 1), (10, 30, 2)], "generous"), ([(0, 20, 1), (10, 30, 1)], "consistent")],
)
def test_a_late_row_and_its_open_windows(expected: list[Any], lateness: str) -> None:
    found = answer(LATE, OVERLAP, aggregates=COUNT, lateness=lateness)
    assert expected == spans(found)
    assert Account(used=1, late=1) == found.account
    assert [({"ts": 12}, 8, [(0, 20)])] == found.missed


@pytest.mark.parametrize(
    ("expected", "missed", "lateness", "within"),
    [
        ([(0, 20, 2), (10, 30, 2)], 0, "generous", None),
        ([(0, 20, 2), (10, 30, 2)], 0, "consistent", 1),
        ([(0, 20, 1), (10, 30, 2)], 1, "generous", 0),
        ([(0, 20, 1), (10, 30, 1)], 1, "consistent", 0),
    ],
)
def test_revisions(expected: list[Any], missed: int, lateness: str, within: int | None) -> None:
    found = answer(LATE, OVERLAP, aggregates=COUNT, late="revise", lateness=lateness, within=within)
    assert expected == spans(found)
    assert Account(used=1, late=1) == found.account
    assert missed == len(found.missed)


def test_rows_between_windows_are_used() -> None:
    found = answer([Punctuation(100), *ts(2)], Sliding("ts", range=2, slide=5), aggregates=COUNT)
    assert ([], Account(used=1)) == (found.results, found.account)


def test_after_the_end_everything_is_late() -> None:
    assert Account(late=1) == answer([Punctuation(END), *ts(5)], TEN).account


def test_a_group_may_be_ahead_of_the_stream() -> None:
    rows: list[Any] = [Punctuation(10, ("a",)), {"ts": 5, "k": "a"}, {"ts": 5, "k": "b"}]
    found = answer(rows, TEN, keys=BY_K, aggregates=COUNT)
    assert ["b"] == [result["k"] for result in found.results]
    assert [({"ts": 5, "k": "a"}, 5, [(0, 10)])] == found.missed


def test_landmark_windows_grow() -> None:
    found = answer([*ts(5), Punctuation(20), *ts(12, 25)], Landmark("ts", slide=10), aggregates=COUNT)
    assert [(None, 10, 1), (None, 20, 1), (None, 30, 3)] == spans(found)
    assert [({"ts": 12}, 8, [(None, 20)])] == found.missed


def test_landmark_windows_of_every_group_run_to_the_same_end() -> None:
    rows: list[Any] = [{"ts": 5, "k": "a"}, {"ts": 15, "k": "b"}]
    found = answer(rows, Landmark("ts", slide=10), keys=BY_K, aggregates=COUNT)
    assert [(10, "a"), (20, "a"), (20, "b")] == [(r["window_end"], r["k"]) for r in found.results]


SESSION = Session("ts", gap=5)


@pytest.mark.parametrize(
    ("expected", "elements"),
    [
        ([(1, 11, 2), (12, 17, 1)], ts(12, 1, 6)),
        # reported strictly after its end: 6 joins the session that ends at 6
        ([(1, 11, 2)], [*ts(1), Punctuation(6), *ts(6)]),
        # a row that belongs to a reported session is late for it, and one beyond it is not
        ([(1, 6, 1)], [*ts(1), Punctuation(7), *ts(6)]),
        ([(1, 6, 1), (7, 12, 1)], [*ts(1), Punctuation(7), *ts(7)]),
        # also when it would join an open session: both cannot be reported
        ([(1, 6, 1), (9, 14, 1)], [*ts(1, 9), Punctuation(7), *ts(5)]),
        # a row below the bound counts if it would not be over by itself, or belongs to an open session
        ([(4, 9, 1)], [Punctuation(8), *ts(4)]),
        ([(1, 9, 2)], [*ts(4), Punctuation(8), *ts(1)]),
        # between two bounds order does not matter: 4 came after the bound and does not save 1
        ([(4, 9, 1)], [Punctuation(8), *ts(1, 4)]),
        ([(4, 9, 1)], [Punctuation(8), *ts(4, 1)]),
        # a punctuation that does not advance changes nothing
        ([(4, 9, 1)], [Punctuation(8), *ts(4), Punctuation(8), *ts(1)]),
        # what came below the bound makes no room for more: -3 belongs to 1, which belongs to 4
        ([(1, 9, 2)], [*ts(4), Punctuation(8), *ts(1), Punctuation(9), *ts(-3)]),
        ([(-1, 9, 3)], [*ts(4), Punctuation(8), *ts(1), Punctuation(9), *ts(-1)]),
        # a chain of late rows that reaches down to a session reported long ago
        ([(1, 6, 1), (16, 21, 1)], [*ts(1), Punctuation(20), *ts(6, 11, 16)]),
    ],
)
def test_sessions(expected: list[Any], elements: list[Any]) -> None:
    assert expected == spans(answer(elements, SESSION, aggregates=COUNT))


def test_a_late_row_missed_the_reported_session_or_the_one_it_is_by_itself() -> None:
    found = answer([Punctuation(20), *ts(1, 4, 30)], SESSION, aggregates=COUNT)
    assert [(30, 35, 1)] == spans(found)
    assert [({"ts": 1}, 19, [(1, 6)]), ({"ts": 4}, 16, [(4, 9)])] == found.missed
    assert Account(used=1, late=2) == found.account
    found = answer([*ts(7, 10), Punctuation(16), *ts(1, 2, 15, 16)], SESSION, aggregates=COUNT)
    assert [(7, 15, 2), (16, 21, 1)] == spans(found)
    assert [({"ts": 1}, 15, [(1, 6)]), ({"ts": 2}, 14, [(7, 15)]), ({"ts": 15}, 1, [(7, 15)])] == found.missed
    # two gaps past its last row a reported session is forgotten
    found = answer([*ts(10), Punctuation(20), *ts(12), Punctuation(21), *ts(12)], SESSION, aggregates=COUNT)
    assert [({"ts": 12}, 8, [(10, 15)]), ({"ts": 12}, 9, [(12, 17)])] == found.missed


def test_a_revised_session_grows() -> None:
    elements = [*ts(1), Punctuation(11), *ts(5)]
    assert [(1, 6, 1)] == spans(answer(elements, SESSION, aggregates=COUNT))
    assert [(1, 10, 2)] == spans(answer(elements, SESSION, aggregates=COUNT, late="revise"))
    assert [(1, 10, 2)] == spans(answer(elements, SESSION, aggregates=COUNT, late="revise", within=5))
    assert [(1, 6, 1)] == spans(answer(elements, SESSION, aggregates=COUNT, late="revise", within=1))


def test_empty_windows_between_a_groups_first_and_last() -> None:
    rows: list[Any] = [{"ts": 5, "k": "a", "x": 1}, {"ts": 25, "k": "a", "x": 1}, {"ts": 35, "k": "b", "x": 1}]
    aggregates = [*COUNT, AggregateCall("s", "sum", Column("x"))]
    found = answer(rows, TEN, keys=BY_K, aggregates=aggregates, emit=Emit.EMPTY)
    assert [("a", 10, 1, 1), ("a", 20, 0, None), ("a", 30, 1, 1), ("b", 40, 1, 1)] == [
        (r["k"], r["window_end"], r["n"], r["s"]) for r in found.results
    ]


def test_empty_windows_of_other_kinds() -> None:
    rows: list[Any] = [{"ts": t, "k": k} for t, k in ((1, "a"), (4, "b"), (7, "a"))]
    for window, expected in (
        (RowsWindow(range=1, slide=1), [(1, "a", 1), (2, "a", 0), (2, "b", 1), (3, "a", 1)]),
        (SlideByTuple("ts", range=2), [(1, "a", 1), (4, "a", 0), (4, "b", 1), (7, "a", 1)]),
        (Session("ts", gap=2), [(3, "a", 1), (6, "b", 1), (9, "a", 1)]),
    ):
        found = answer(rows, window, keys=BY_K, aggregates=COUNT, emit=Emit.EMPTY)
        assert expected == [(r["window_end"], r["k"], r["n"]) for r in found.results]


@pytest.mark.parametrize(
    ("expected", "elements"),
    [
        ([(10, 30, 1), (20, 40, 1)], ts(5, 25)),
        ([(0, 20, 2), (10, 30, 2), (20, 40, 1)], ts(0, 12, 25)),
        # 2 came too late to be the first row: the stream began with 12
        ([(20, 40, 1)], [Punctuation(10), *ts(12), Punctuation(20), *ts(2, 25)]),
        # both windows of 15 reach back before it
        ([(20, 40, 1)], [*ts(15), Punctuation(30), *ts(35)]),
    ],
)
def test_complete_windows_start_no_earlier_than_the_first_row(expected: list[Any], elements: list[Any]) -> None:
    window = Sliding("ts", range=20, slide=10)
    found = spans(answer(elements, window, aggregates=COUNT, emit=Emit.COMPLETE))
    assert expected == [span for span in found if span[1] <= 40]


def test_complete_windows_of_other_kinds() -> None:
    rows = ts(1, 4, 7)
    for window, expected in (
        (RowsWindow(range=2, slide=1), [(0, 2, 2), (1, 3, 2)]),
        (Landmark("ts", slide=5), [(None, 5, 2), (None, 10, 3)]),
        (Session("ts", gap=1), [(1, 2, 1), (4, 5, 1), (7, 8, 1)]),
        (SlideByTuple("ts", range=4), [(0, 4, 2), (3, 7, 2)]),
    ):
        assert expected == spans(answer(rows, window, aggregates=COUNT, emit=Emit.COMPLETE))


def test_partitions_have_windows_of_their_own() -> None:
    rows: list[Any] = [{"k": "a"}, {"k": "b"}, {"k": "a"}]
    found = answer(rows, RowsWindow(range=2, slide=2, partition=("k",)), keys=BY_K, aggregates=COUNT)
    assert [{"k": "a", "window_start": 0, "window_end": 2, "n": 2}] == found.results


def test_no_rows_no_results() -> None:
    assert OracleAnswer([], Account(), []) == answer([Punctuation(5)], TEN, aggregates=COUNT)


FEW = strategies.aggregate_lists(max_size=2)


@given(strategies.elements(), strategies.windows(), st.sampled_from(("generous", "consistent")), st.booleans())
def test_every_row_is_accounted_for(elements: list[Any], window: Window, lateness: str, revise: bool) -> None:
    where = Call(">", (Column("x"), Literal(-3)))
    late = "revise" if revise else "drop"
    found = answer(elements, window, keys=BY_K, where=where, lateness=lateness, late=late)
    assert sum(not isinstance(element, Punctuation) for element in elements) == found.account.rows_in
    assert (0 if revise else found.account.late) == len(found.missed)


@given(strategies.elements(late=False, extremes=False), strategies.windows(), FEW, st.randoms(use_true_random=False))
def test_answers_do_not_depend_on_arrival(elements: list[Any], window: Window, aggregates: Any, random: Any) -> None:
    rows: list[Any] = [element for element in elements if not isinstance(element, Punctuation)]
    expected = answer(elements, window, keys=BY_K, aggregates=calls(aggregates))
    actual = answer(random.sample(rows, len(rows)), window, keys=BY_K, aggregates=calls(aggregates))
    assert comparable(expected.results) == comparable(actual.results)
    assert expected.account == actual.account == Account(used=len(rows))


@given(strategies.elements(extremes=False), strategies.windows(), FEW)
def test_revising_for_ever_is_never_having_been_late(elements: list[Any], window: Window, aggregates: Any) -> None:
    rows: list[Any] = [element for element in elements if not isinstance(element, Punctuation)]
    expected = answer(rows, window, keys=BY_K, aggregates=calls(aggregates))
    actual = answer(elements, window, keys=BY_K, aggregates=calls(aggregates), late="revise")
    assert comparable(expected.results) == comparable(actual.results)


@given(strategies.elements(by="k"), strategies.sliding())
def test_group_bounds_only_concern_their_group(elements: list[Any], window: Sliding) -> None:
    found = answer(elements, window, keys=BY_K, aggregates=COUNT)
    for k in strategies.KEYS:
        own = [
            Punctuation(e.value) if isinstance(e, Punctuation) and e.group is not None else e
            for e in elements
            if not isinstance(e, Punctuation) or e.group in (None, (k,))
        ]
        late = sum(1 for row, _, _ in found.missed if row["k"] == k)
        assert late == answer(_forwards(own), window, where=_equals(k)).account.late


def _forwards(elements: list[Any]) -> list[Any]:
    """The elements without the punctuations that would go back once all are for the whole stream."""
    kept, bound = [], -END
    for element in elements:
        if isinstance(element, Punctuation):
            if element.value < bound:
                continue
            bound = element.value
        kept.append(element)
    return kept


def _equals(k: str | None) -> Call:
    return Call("is_null", (Column("k"),)) if k is None else Call("=", (Column("k"), Literal(k)))


@given(strategies.elements(by="g", late=False))
def test_the_strategy_without_late_rows_has_none(elements: list[Any]) -> None:
    keys = (("g", Column("g")),)
    assert 0 == answer(elements, Sliding("ts", 1, 1), keys=keys).account.late


@given(strategies.elements(spread=1 << 51), strategies.sliding())
def test_far_apart_values(elements: list[Any], window: Sliding) -> None:
    found = answer(elements, window, aggregates=COUNT, late="revise")
    rows: list[Any] = [element["ts"] for element in elements if not isinstance(element, Punctuation)]
    for start, end, n in spans(found):
        assert n == sum(start <= t < end for t in rows)


def test_a_row_below_the_bound_has_no_number_when_rows_are_in_order_of_time() -> None:
    rows: list[Any] = [{"ts": 5, "k": "a"}, Punctuation(7), {"ts": 6, "k": "b"}, {"ts": 7, "k": "c"}]
    found = answer(
        rows, RowsWindow(range=2, slide=1, order="ts"), aggregates=[AggregateCall("last", "last", Column("k"))]
    )
    assert ["a", "c"] == [result["last"] for result in found.results]
    assert (Account(used=2, late=1), [(rows[2], 1, [])]) == (found.account, found.missed)
