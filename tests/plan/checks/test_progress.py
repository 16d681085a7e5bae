"""Which columns of a plan its progress can be on: those of windows, and what is said where there are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plan.streams import MINUTE, call, counters, trades, windowed
from windrow.errors import QueryError
from windrow.physical.explain.plans import explain
from windrow.plan.checks.nodes import shape_of
from windrow.plan.checks.progress import carries_progress, timed_by
from windrow.plan.nodes import Distinct, Filter, Node, Project, Union, WindowTime
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

BY_END = windowed(trades())
BY_START = replace(BY_END, time=WindowTime.START)
RENAMED = (("began", Column("window_start")), ("number", Column("number")))


@pytest.mark.parametrize(
    ("expected", "node", "name"),
    [
        (BY_START, BY_END, "window_start"),
        (BY_END, BY_START, "window_end"),
        (BY_END, BY_END, "number"),
        (
            Filter(BY_START, call(">", Column("number"), 0)),
            Filter(BY_END, call(">", Column("number"), 0)),
            "window_start",
        ),
        (Project(BY_START, RENAMED), Project(BY_END, RENAMED), "began"),
        (Distinct(BY_START), Distinct(BY_END), "window_start"),
        (Union((BY_START, BY_START)), Union((BY_END, BY_END)), "window_start"),
    ],
)
def test_windows_have_two_times(expected: Node, node: Node, name: str) -> None:
    timed = timed_by(node, name)
    assert expected == timed
    assert (name != "number") is carries_progress(timed, name)
    assert name == "number" or shape_of(timed).time == name


def test_unions_have_a_time_that_all_have() -> None:
    mixed = Union((BY_END, windowed(trades(), Session("time", MINUTE))))
    assert mixed == timed_by(mixed, "window_start")


@pytest.mark.parametrize("window", [SlideByTuple("seq", 5), RowsWindow(5, 2)])
def test_windows_of_one_length_have_starts(window: Window) -> None:
    assert "window_start" == shape_of(timed_by(windowed(counters(), window), "window_start")).time


BOTH = (
    r"write WATTR window_start, by which a result counts in the window that it begins in, or WATTR window_end, "
    r"by which one that ends where a window ends counts in the next\."
)


@pytest.mark.parametrize(
    ("hint", "inner", "attribute"),
    [
        (BOTH, Sliding("time", MINUTE, MINUTE), "number"),
        (
            r"write WATTR window_end; windows of RANGE UNBOUNDED have no start\.",
            Landmark("time", MINUTE),
            "window_start",
        ),
        (
            r"write WATTR window_end; a session that is still open may have begun at any time\.",
            Session("time", MINUTE),
            "window_start",
        ),
    ],
)
def test_the_times_of_windows_are_told_apart(hint: str, inner: Window, attribute: str) -> None:
    node = windowed(windowed(trades(), inner), Sliding(attribute, MINUTE, MINUTE))
    message = rf"\A`window` must be on the progressing attribute, which is window_end, got {attribute}\. Hint: {hint}\Z"
    with pytest.raises(QueryError, match=message):
        shape_of(node)


def test_a_start_that_is_kept_is_named() -> None:
    kept = Project(BY_END, RENAMED)
    message = (
        r"\A`window` needs a progressing attribute, but the input does not keep it, got columns began, number\. "
        r"Hint: write WATTR began\.\Z"
    )
    with pytest.raises(QueryError, match=message):
        shape_of(windowed(kept, Sliding("began", MINUTE, MINUTE)))
    assert "began" == shape_of(timed_by(kept, "began")).time


def test_explain_says_where_results_count() -> None:
    note = (
        "- Results count by their window_end: one that ends where a window ends is in the next window. "
        "WATTR window_start has it in the one that it begins in."
    )
    by_end, by_start = (
        explain(windowed(node, Sliding(name, MINUTE, MINUTE), ())).splitlines()
        for node, name in ((BY_END, "window_end"), (BY_START, "window_start"))
    )
    assert (True, False) == (note in by_end, note in by_start)
