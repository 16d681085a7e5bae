from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windrow.semantics.oracle.answers import answer
from windrow.semantics.oracle.arrival import Element
from windrow.semantics.progress.lateness import Account
from windrow.semantics.progress.lead import EarlyRow, ahead, reach
from windrow.semantics.progress.policies import LIMIT, START, Punctuation
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Sliding

VALUES = st.lists(st.one_of(st.integers(-30, 30), st.integers(-500, 500), st.just(LIMIT)), max_size=12)


@given(VALUES, st.integers(1, 40))
def test_rows_that_are_not_early_are_never_more_than_the_lead_above_those_before(values: list[int], lead: int) -> None:
    high = START
    for value, by in zip(values, ahead(values, lead), strict=True):
        if by is None:
            assert high == START or value <= high + lead
            high = max(high, value)
        else:
            assert by > 0
            assert value == LIMIT or value > high + lead


@given(VALUES, st.integers(1, 40), st.one_of(st.just(START), st.integers(-30, 30)))
def test_in_a_micro_batch_the_order_of_rows_does_not_matter(values: list[int], lead: int, high: int) -> None:
    found = reach(values, lead, high)
    assert {found} == {reach(list(reversed(values)), lead, high), reach(sorted(values), lead, high)}
    assert found >= high
    taken = sorted(value for value in values if high < value <= found)
    if high != START:
        assert all(b - a <= lead for a, b in zip([high, *taken], taken, strict=False))
        assert not any(found < value <= found + lead for value in values)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=10), st.integers(1, 10))
def test_the_order_decides_only_what_a_lull_would_have_decided(values: list[int], lead: int) -> None:
    """In ascending order, row by row, the same rows are early as in one micro-batch that begins with the first."""
    ordered = sorted(values)
    last = max(v for v, by in zip(ordered, ahead(ordered, lead), strict=True) if by is None)
    assert last == reach(ordered[1:], lead, ordered[0])


def test_one_broken_row_among_others_is_early_even_in_the_first_micro_batch() -> None:
    assert 12 == reach([3, 12, 9999, 7], 10)
    assert 12 == reach([-9999, 3, 12, 7], 10)
    assert START == reach([LIMIT], 10)
    assert 3 == reach([3, 30], 10)


def test_early_rows_are_counted_unless_they_are_filtered() -> None:
    rows: list[Element] = [
        {"ts": 1},
        Punctuation(1),
        EarlyRow({"ts": 999}, 998),
        EarlyRow({"ts": 1000}, 999),
        {"ts": 2},
    ]
    found = answer(rows, Sliding("ts", 10, 10), where=Call("<>", (Column("ts"), Literal(1000))))
    assert Account(used=2, late=0, filtered=1, early=1) == found.account
    assert [EarlyRow({"ts": 999}, 998)] == found.early
    assert [(0, 10)] == [(r["window_start"], r["window_end"]) for r in found.results]
    assert 4 == found.account.rows_in
