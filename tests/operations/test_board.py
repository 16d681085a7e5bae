"""Health, as told by the pulse of a run; time is made up."""

from __future__ import annotations

from windrow.engines.pulse import Pulse
from windrow.operations.board import Board, Health, RunFacts
from windrow.pipeline.metrics import Metrics, SourceMetrics
from windrow.semantics.scalars.amounts import Domain


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def board(queries: int = 1) -> tuple[Board, Pulse, Clock]:
    clock = Clock()
    pulse = Pulse(clock)
    facts = RunFacts("local", (Domain.TIME,) * queries, {"trades": Domain.TIME})
    return Board(facts, pulse, stalled_after=60.0, now=clock), pulse, clock


def test_a_run_is_ready_once_its_thread_was_seen() -> None:
    one, pulse, _ = board()
    assert Health(False, "not ready: sources are being opened") == one.readiness()
    assert one.health().ok
    pulse.tick()
    assert one.readiness().ok


def test_a_thread_that_is_not_seen_for_too_long_is_stalled() -> None:
    one, pulse, clock = board()
    pulse.work()
    clock.now += 60.0
    assert one.health().ok
    clock.now += 1.0
    assert Health(False, "stalled: nothing was worked on or looked for in 61 s") == one.health()
    assert one.readiness() == one.is_alive() == one.health()
    pulse.tick()
    assert one.health().ok


def test_silence_of_a_source_that_nothing_waits_for_is_well() -> None:
    one, pulse, clock = board()
    for _ in range(100):
        clock.now += 10.0
        pulse.tick()
    assert (True, 0.0) == (one.health().ok, pulse.held)


def test_elements_that_wait_for_a_source_for_too_long_are_a_stall_but_no_death() -> None:
    one, pulse, clock = board()
    pulse.work()
    for _ in range(7):
        clock.now += 10.0
        pulse.tick("quotes")
    assert Health(False, "stalled: nothing comes from quotes, for which others have waited 70 s") == one.health()
    assert one.is_alive().ok
    pulse.work()
    assert one.health().ok


def test_a_micro_batch_that_takes_too_long_is_a_stall_but_no_death() -> None:
    one, pulse, clock = board()
    pulse.tick()
    for _ in range(7):
        clock.now += 10.0
        pulse.tick(busy=True)
    assert Health(False, "stalled: one micro-batch has taken 70 s up to now") == one.health()
    assert one.is_alive().ok
    pulse.tick()
    assert (True, 0.0) == (one.health().ok, pulse.busy)


def test_a_clock_that_goes_back_makes_nothing_negative() -> None:
    one, pulse, clock = board()
    pulse.work()
    pulse.tick("quotes")
    clock.now -= 500.0
    assert (0.0, 0.0, True) == (pulse.silence, pulse.held, one.health().ok)
    assert "\nwindrow_uptime_seconds 0.0\n" in one.text()


def test_a_run_that_failed_says_why_until_it_begins_again() -> None:
    one, pulse, _ = board()
    pulse.work()
    one.failure, one.has_ended = "`trades` is away.", True
    assert Health(False, "failed: `trades` is away.") == one.health() == one.readiness()
    assert "\nwindrow_up 0\n" in one.text()
    one.go_on(Pulse())
    assert one.health().ok
    assert not one.readiness().ok


def test_a_run_that_has_ended_is_not_stalled() -> None:
    one, pulse, clock = board()
    pulse.work()
    one.has_ended = True
    clock.now += 1000.0
    assert one.health().ok


def test_several_queries_are_labelled_and_sources_are_there_once() -> None:
    one, _, _ = board(queries=2)
    one.publish(Metrics(rows_in=30, sources={"trades": SourceMetrics(15)}))
    one.publish_each(0, Metrics(rows_in=10))
    one.publish_each(1, Metrics(rows_in=20))
    text = one.text()
    assert 'windrow_rows_in_total{query="1"} 10\nwindrow_rows_in_total{query="2"} 20\n' in text
    assert 1 == text.count("windrow_source_rows_total{")
