"""Numbers about a run, whichever engine it ran on."""

from __future__ import annotations

import pytest

from windrow.engines.metrics import SourceMetrics, known, percentile, slowest
from windrow.semantics.progress import END, START

DONE = SourceMetrics(3, 9, None, ended=True)
SILENT = SourceMetrics(0, None, None)


def test_watermarks_before_the_first_and_after_the_last_are_unknown() -> None:
    assert [None, None, 0] == [known(START), known(END), known(0)]


def test_percentiles() -> None:
    assert None is percentile([], 0.5)
    assert 2.0 == percentile([1.0, 2.0, 3.0], 0.5)


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
