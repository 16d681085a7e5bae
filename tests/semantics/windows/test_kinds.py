"""The law of every window kind: extent and wids are inverses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import strategies
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.windows.kinds import (
    Landmark,
    RowsWindow,
    Session,
    SlideBy,
    SlideByTuple,
    Sliding,
    Window,
    closes_at,
)

KINDS: dict[str, st.SearchStrategy[Window]] = {
    "sliding": strategies.sliding(),
    "landmark": strategies.landmarks(),
    "session": strategies.sessions(),
    "rows": st.builds(RowsWindow, st.integers(1, 9), st.integers(1, 9), st.sampled_from(((), ("k",), ("k", "g")))),
    "rows in order": st.builds(
        RowsWindow, st.integers(1, 9), st.integers(1, 9), st.sampled_from(((), ("k",))), st.just("ts")
    ),
    "slide_by_tuple": st.builds(
        SlideByTuple,
        st.just("ts"),
        st.integers(1, 30),
        st.integers(1, 4),
        st.sampled_from(SlideBy),
        st.sampled_from(((), ("k",), ("k", "g"))),
    ),
}


def rows_of(elements: list[Any]) -> list[dict[str, Any]]:
    return [element for element in elements if not isinstance(element, Punctuation)]


@pytest.mark.parametrize("kind", KINDS)
def test_extent_and_wids_are_inverses(kind: str) -> None:
    @given(KINDS[kind], strategies.elements().map(rows_of))
    def check(window: Window, rows: list[dict[str, Any]]) -> None:
        ids = window.windows(rows)
        by_row = {(wid, i) for i in range(len(rows)) for wid in window.wids(rows, i)}
        by_window = {(wid, i) for wid in ids for i in window.extent(rows, wid)}
        assert by_window == by_row
        assert len(ids) == len(set(ids))

    check()


@pytest.mark.parametrize("kind", ["sliding", "landmark", "session"])
def test_windows_do_not_depend_on_arrival(kind: str) -> None:
    @given(KINDS[kind], strategies.elements().map(rows_of), st.randoms(use_true_random=False))
    def check(window: Window, rows: list[dict[str, Any]], random: Any) -> None:
        shuffled = random.sample(rows, len(rows))
        assert window.windows(rows) == window.windows(shuffled)

    check()


@given(strategies.elements().map(rows_of), st.integers(1, 4), st.randoms(use_true_random=False))
def test_windows_by_rank_do_not_depend_on_arrival(rows: list[dict[str, Any]], every: int, random: Any) -> None:
    window = SlideByTuple("ts", range=10, every=every, by=SlideBy.RANK)
    shuffled = random.sample(rows, len(rows))
    expected = [window.interval(wid) for wid in window.windows(rows)]
    assert expected == [window.interval(wid) for wid in window.windows(shuffled)]


@pytest.mark.parametrize(
    ("expected", "window", "wid"),
    [
        (20, Sliding("ts", 10, 5), 4),
        (20, Landmark("ts", 5), 4),
        (19, Session("ts", 8), (3, 10)),
        (11, SlideByTuple("ts", 5), (10, 0)),
    ],
)
def test_the_punctuation_that_closes_a_window(expected: int, window: Window, wid: Any) -> None:
    assert expected == closes_at(window, wid)
