"""The story of a run, over metrics and times that are made up."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from windrow.engines.pulse import Pulse
from windrow.errors import DataError
from windrow.operations import narrator
from windrow.operations.narrator import Narrator
from windrow.pipeline.metrics import Metrics, SourceMetrics
from windrow.semantics.scalars.amounts import Domain


class Story:
    """A narrator, its clock, and what it has told."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "windrow")
        self.caplog, self.now = caplog, 0.0
        self.pulse = Pulse(lambda: self.now)
        self.narrator = Narrator(Domain.TIME, self.pulse)

    def after(self, seconds: float, metrics: Metrics) -> list[tuple[str, dict[str, Any]]]:
        """What is told so much later."""
        self.caplog.clear()
        self.now += seconds
        self.narrator.look(metrics)
        return self.told

    @property
    def told(self) -> list[tuple[str, dict[str, Any]]]:
        return [(record.event, record.fields) for record in self.caplog.records]  # type: ignore[attr-defined]

    def events(self, seconds: float, metrics: Metrics) -> list[str]:
        return [event for event, _ in self.after(seconds, metrics)]


@pytest.fixture
def story(caplog: pytest.LogCaptureFixture) -> Story:
    return Story(caplog)


def test_progress_is_told_every_few_seconds_with_the_rate_since_then(story: Story) -> None:
    assert [] == story.events(1.0, Metrics(rows_in=1_000_000))  # what a restored run had counted before is no rate
    assert [] == story.events(3.9, Metrics(rows_in=1_000_100))
    ((event, fields),) = story.after(0.1, Metrics(rows_in=1_000_500, low_watermark=60_000_000))
    assert ("progress", 100.0, 1_000_500) == (event, fields["rate"], fields["rows_in"])
    assert "1970-01-01T00:01:00+00:00" == fields["watermark_low"]
    assert [] == story.events(4.0, Metrics(rows_in=1_000_600))


def test_late_rows_are_told_at_once_and_then_seldom_with_how_many_more(story: Story) -> None:
    def late(rows: int) -> Metrics:
        return Metrics(rows_in=100, rows_late=rows)

    ((event, fields),) = story.after(0.1, late(2))
    assert ("late", 2, 2) == (event, fields["rows"], fields["new"])
    assert "WARNING" == story.caplog.records[0].levelname
    assert "late" not in story.events(1.0, late(5))
    told = dict(story.after(narrator.REMIND_SECONDS, late(9)))
    assert (9, 7) == (told["late"]["rows"], told["late"]["new"])
    assert "late" not in story.events(narrator.REMIND_SECONDS, late(9))


def test_early_and_rejected_rows_are_told_too(story: Story) -> None:
    assert {"early", "rejected", "lost"} == set(
        story.events(0.1, Metrics(rows_early=1, rows_rejected=1, datagrams_lost=1))
    )


def test_that_no_window_closes_is_told_with_who_holds_it_back(story: Story) -> None:
    held = Metrics(low_watermark=60_000_000, held_back_by="quotes")
    story.after(0.1, held)
    assert "stalled" not in story.events(59.0, held)
    told = dict(story.after(2.0, held))
    assert ("quotes", 61.0) == (told["stalled"]["source"], told["stalled"]["seconds"])
    assert "stalled" not in story.events(10.0, held)
    assert "stalled" in story.events(narrator.REMIND_SECONDS, held)
    assert "moving" in story.events(0.1, replace(held, low_watermark=70_000_000))
    assert "moving" not in story.events(0.1, replace(held, low_watermark=80_000_000))


def test_a_lull_of_everything_is_no_stall(story: Story) -> None:
    quiet = Metrics(low_watermark=60_000_000)
    assert "stalled" not in story.events(0.1, quiet) + story.events(1000.0, quiet)


def test_a_source_that_is_awaited_holds_back(story: Story) -> None:
    quiet = Metrics(low_watermark=60_000_000)
    story.after(0.1, quiet)
    story.pulse.tick("quotes")
    assert "quotes" == dict(story.after(100.0, quiet))["stalled"]["source"]


def test_a_clock_that_goes_back_tells_nothing_wrong(story: Story) -> None:
    held = Metrics(low_watermark=60_000_000, held_back_by="quotes")
    story.after(10.0, held)
    assert [] == story.events(-5000.0, held)


def test_the_end_of_a_source_is_told_once(story: Story) -> None:
    ended = Metrics(sources={"trades": SourceMetrics(9, ended=True), "quotes": SourceMetrics(4)})
    assert [("source.ended", {"source": "trades", "rows": 9})] == story.after(0.1, ended)
    assert [] == story.after(0.1, ended)


@pytest.mark.parametrize(
    ("expected", "error", "left"),
    [
        (["ended"], None, False),
        (["left"], None, True),
        (["failed"], DataError("is broken", parameter="trades"), False),
        ([], KeyboardInterrupt(), False),
    ],
)
def test_how_a_run_ends(expected: list[str], error: BaseException | None, left: bool, story: Story) -> None:
    story.narrator.end(Metrics(rows_in=3, results=1), error, left=left)
    assert expected == [event for event, _ in story.told]
    for _, fields in story.told:
        assert (3, 1) == (fields["rows_in"], fields["results"])


def test_times_beyond_the_calendar_are_numbers() -> None:
    assert 1 << 61 == narrator.shown(1 << 61, Domain.TIME)
