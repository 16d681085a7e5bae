"""Events through Python's logging: to whoever set it up, to nobody else."""

from __future__ import annotations

import logging

import pytest

from windrow import events
from windrow.events import LOGGER, Seldom, is_heard, tell


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_SELDOM", Seldom())


def test_a_record_has_the_event_and_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "windrow")
    tell("source.lost", "trades is away: 100% of it", level=logging.WARNING, source="trades", message="m", name="n")
    (record,) = caplog.records
    assert ("windrow", "WARNING", "trades is away: 100% of it") == (
        record.name,
        record.levelname,
        record.getMessage(),
    )
    assert "source.lost" == record.event  # type: ignore[attr-defined]
    assert {"source": "trades", "message": "m", "name": "n"} == record.fields  # type: ignore[attr-defined]


def test_what_repeats_is_told_seldom_by_source(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "windrow")
    for _ in range(3):
        tell("source.lost", "away", every=1000.0, source="trades")
    tell("source.lost", "away", every=1000.0, source="quotes")
    assert ["trades", "quotes"] == [record.fields["source"] for record in caplog.records]  # type: ignore[attr-defined]


def test_how_often_it_was_held_back_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    now = iter([0.0, 1.0, 2.0, 40.0])
    monkeypatch.setattr(events, "_SELDOM", Seldom(lambda: next(now)))
    caplog.set_level(logging.INFO, "windrow")
    for _ in range(4):
        tell("source.lost", "away", every=30.0, source="trades")
    found = [vars(record)["fields"] for record in caplog.records]
    assert [{"source": "trades"}, {"source": "trades", "repeated": 2}] == found


def test_causes_that_are_remembered_have_a_limit() -> None:
    seldom = Seldom(lambda: 0.0)
    for cause in range(5 * Seldom.MOST):
        seldom.due(cause, 10.0)
    assert len(seldom._told) <= Seldom.MOST
    assert None is seldom.due(5 * Seldom.MOST - 1, 10.0)
    assert 0 == seldom.due(0, 10.0)


def test_a_clock_that_goes_back_holds_back_and_no_more() -> None:
    now = iter([100.0, 50.0, 131.0])
    seldom = Seldom(lambda: next(now))
    assert [0, None, 1] == [seldom.due("x", 30.0) for _ in range(3)]


def test_nobody_hears_unless_logging_is_set_up(capfd: pytest.CaptureFixture[str]) -> None:
    own = list(logging.getLogger().handlers)
    for handler in own:
        logging.getLogger().removeHandler(handler)
    try:
        assert not is_heard()
        tell("failed", "nobody hears this", level=logging.ERROR)
        LOGGER.addHandler(handler := logging.StreamHandler())
        assert is_heard()
        LOGGER.removeHandler(handler)
    finally:
        for handler in own:
            logging.getLogger().addHandler(handler)
    assert ("", "") == capfd.readouterr()
