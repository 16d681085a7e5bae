"""Numbers about a run, whichever engine it ran on."""

from __future__ import annotations

import pytest

from windrow.pipeline.metrics import Metrics, SourceMetrics, known, percentiles, slowest
from windrow.semantics.progress.policies import END, START

DONE = SourceMetrics(3, 9, None, ended=True)
SILENT = SourceMetrics(0, None, None)


def test_watermarks_before_the_first_and_after_the_last_are_unknown() -> None:
    assert [None, None, 0] == [known(START), known(END), known(0)]


def test_percentiles() -> None:
    assert [None, None] == percentiles([], 0.5, 0.99)
    assert [2.0, 3.0] == percentiles([1.0, 2.0, 3.0], 0.5, 1.0)


def test_runs_one_after_the_other_add_up() -> None:
    first = Metrics(rows_in=5, rows_used=3, rows_late=1, rows_filtered=1, results=2, elapsed=0.5, sources={"a": DONE})
    second = Metrics(rows_in=2, rows_used=2, results=1, elapsed=0.25, sources={"b": SILENT})
    both = first.plus(second)
    assert (7, 5, 1, 1, 3) == (both.rows_in, both.rows_used, both.rows_late, both.rows_filtered, both.results)
    assert (0.75, {"a": DONE, "b": SILENT}) == (both.elapsed, both.sources)


def test_what_waits_in_several_runs_and_how_they_were_computed_adds_up_too() -> None:
    first = Metrics(results_waiting=3, cells_evicted=4, longest_stall=0.5, strategies=[["panes", "one"]])
    second = Metrics(results_waiting=1, cells_evicted=2, longest_stall=0.25, strategies=[["wid", "other"]])
    both = first.plus(second)
    assert (4, 6, 0.5) == (both.results_waiting, both.cells_evicted, both.longest_stall)
    assert [["panes", "one"], ["wid", "other"]] == both.strategies
    assert None is Metrics().plus(Metrics()).longest_stall


def at(low: int) -> SourceMetrics:
    return SourceMetrics(1, low + 5, low)


@pytest.mark.parametrize(
    ("expected", "sources"),
    [
        (None, {}),
        (None, {"a": at(1)}),
        ("b", {"a": at(2), "b": at(-1)}),
        ("b", {"a": at(0), "b": at(-1)}),
        ("b", {"a": at(2), "b": SILENT}),
        ("b", {"a": DONE, "b": at(7)}),
        ("b", {"a": DONE, "b": at(7), "c": at(8)}),
        (None, {"a": at(7), "b": at(7)}),
        (None, {"a": SILENT, "b": SILENT}),
        (None, {"a": DONE, "b": DONE}),
    ],
)
def test_the_slowest_source(expected: str | None, sources: dict[str, SourceMetrics]) -> None:
    assert expected == slowest(sources)
