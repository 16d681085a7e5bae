from __future__ import annotations

from typing import Any, cast

import pytest

from tests.fake_engine import Metrics
from windrow.cli import progress
from windrow.pipeline.metrics import SourceMetrics
from windrow.semantics.progress.policies import END, START
from windrow.semantics.scalars.amounts import Domain


def metrics(**values: Any) -> Any:
    return cast(Any, Metrics(**values))


def test_a_line_says_how_far_the_run_is() -> None:
    line = progress.describe(metrics(rows_in=3_000_000), Domain.TIME, seconds=2.0)
    assert "3,000,000 rows, 1.5 M rows/s, watermark 1970-01-01 00:01:00, 3 open windows, 1 late" == line


def test_the_line_says_what_holds_the_watermark_back_and_when_all_is_read() -> None:
    sources = {"a": SourceMetrics(5, low=1, ended=True), "b": SourceMetrics(5, low=2)}
    held = progress.describe(metrics(sources=sources, held_back_by="b", batch_seconds=0.5), Domain.INTEGER, seconds=1.0)
    assert "10 rows, 10 rows/s, watermark 60000000 (held back by b), 3 open windows, 1 late, micro-batch 0.50 s" == held
    sources["b"].ended = True
    assert "watermark the end" in progress.describe(metrics(sources=sources), Domain.INTEGER, seconds=1.0)


@pytest.mark.parametrize(
    ("expected", "value", "domain"),
    [
        ("none yet", None, Domain.TIME),
        ("none yet", START, Domain.TIME),
        ("the end", END, Domain.TIME),
        ("60000000", 60_000_000, Domain.INTEGER),
        ("1970-01-01 00:01:00", 60_000_000, Domain.TIME),
        (str(1 << 61), 1 << 61, Domain.TIME),
    ],
)
def test_watermarks_in_the_users_terms(expected: str, value: int | None, domain: Domain) -> None:
    assert expected == progress.watermark(value, domain)


def test_the_closing_line_accounts_for_every_row() -> None:
    line = progress.closing_line(metrics(rows_in=1_000, results=5, elapsed=0.0))
    assert "rows in 1,000 = used 7 + late 1 + filtered 2; 5 results in 0.00 s (0 rows/s)" == line


def test_early_rows_are_told_where_there_are_any() -> None:
    found = metrics(rows_in=12, rows_early=2, results=5, elapsed=0.0)
    assert "12 rows, 6 rows/s, watermark 1970-01-01 00:01:00, 3 open windows, 1 late, 2 early" == progress.describe(
        found, Domain.TIME, seconds=2.0
    )
    assert "rows in 12 = used 7 + late 1 + early 2 + filtered 2;" in progress.closing_line(found)


def test_plain_lines_come_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 1.0, 5.0, 6.0, 10.5])
    report = progress.Reporting(Domain.INTEGER, clock=lambda: next(clock))
    for rows in (1, 2, 3, 4):
        report(metrics(rows_in=rows))
    lines = capsys.readouterr().err.splitlines()
    assert ["2 rows", "4 rows"] == [line.partition(",")[0] for line in lines]


def test_a_terminal_gets_a_live_line_that_goes_away_and_makes_way_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    class Bar:
        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            seen.append("gone")

        def add_task(self, description: str, total: int | None) -> int:
            seen.append(total)
            return 0

        def update(self, task: int, completed: int, description: str) -> None:
            seen.append((completed, description.rpartition(", ")[2]))

        def stop(self) -> None:
            seen.append("stopped")

    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress, "progress_bar", lambda total: Bar())
    with progress.reporting(Domain.TIME, 10) as report:
        report(metrics(rows_in=4))
        report.make_way()
        report.make_way()
        report(metrics(rows_in=5))
    assert [10, (4, "1 late"), "stopped", "gone"] == seen


def test_the_bar_shows_the_rest_only_when_it_is_known() -> None:
    assert [2, 4] == [len(progress.progress_bar(total).columns) for total in (None, 10)]
