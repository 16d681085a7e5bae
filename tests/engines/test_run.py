"""The handle of a run, over work that is made up here."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pyarrow as pa
import pytest

from windrow.engines.run import ROOM, Outcome, Receiver, Requests, Run, tagged, untagged
from windrow.errors import DataError
from windrow.pipeline.metrics import Metrics, SourceMetrics

PATIENCE = 60.0
"""Seconds after which a test fails that would hang."""
DONE: Outcome = ([Metrics(results=3)], Metrics(results=3))


def batch(number: int) -> pa.RecordBatch:
    return pa.record_batch({"n": [number]})


def numbers(count: int) -> Callable[[Receiver], Outcome]:
    def work(receiver: Receiver) -> Outcome:
        for number in range(count):
            receiver.on_result(number % 2, batch(number))
        return DONE

    return work


def test_results_come_in_order_with_their_query() -> None:
    run = Run(numbers(30), Requests(), tagged)
    assert [(n % 2, [n]) for n in range(30)] == [(query, one["n"].to_pylist()) for query, one in run]
    assert [] == list(run)
    assert ([3], 3, True) == ([metrics.results for metrics in run.each], run.metrics.results, run.has_ended)


def test_a_run_into_a_receiver_has_ended_when_it_is_there() -> None:
    caller, threads, given = threading.current_thread(), set(), []

    def take(query: int, one: pa.RecordBatch) -> None:
        threads.add(threading.current_thread())
        given.append(query)

    run = Run(numbers(3), Requests(), untagged, into=Receiver(take))
    assert ({caller}, [0, 1, 0]) == (threads, given)
    assert (3, True, []) == (run.wait().results, run.has_ended, list(run))


def test_the_run_waits_while_the_reader_is_busy() -> None:
    handed: list[int] = []
    full = threading.Event()

    def work(receiver: Receiver) -> Outcome:
        for number in range(100):
            if number == ROOM:
                full.set()
            receiver.on_result(0, batch(number))
            handed.append(number)
        return DONE

    run = Run(work, Requests(), untagged)
    assert full.wait(PATIENCE)
    assert len(handed) <= ROOM
    assert [0] == next(run)["n"].to_pylist()
    assert 99 == len(list(run))


def test_an_error_of_the_run_is_raised_in_the_reader_after_the_results_before_it() -> None:
    def work(receiver: Receiver) -> Outcome:
        receiver.on_result(0, batch(1))
        raise DataError("is broken", parameter="source")

    with Run(work, Requests(), untagged) as run:
        assert [1] == next(run)["n"].to_pylist()
        for ask in (lambda: next(run), run.wait):
            with pytest.raises(DataError, match=r"\A`source` is broken\.\Z"):
                ask()


def endless(receiver: Receiver) -> Outcome:
    while True:
        receiver.on_result(0, batch(0))


def runners() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "windrow-run"]


def test_a_block_that_is_left_stops_the_run() -> None:
    with Run(endless, Requests(), untagged) as run:
        next(run)
        assert not run.has_ended
    assert run.has_ended
    assert ([], []) == (list(run), runners())


def test_a_run_that_nobody_holds_any_more_stops() -> None:
    run = Run(endless, Requests(), untagged)
    next(run)
    (thread,) = runners()
    del run
    gc.collect()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_run_that_is_waited_for_needs_no_reader() -> None:
    run = Run(numbers(10 * ROOM), Requests(), untagged)
    assert 3 == run.wait().results
    assert [] == list(run)


def test_the_end_is_told_once_by_who_reaches_it_and_not_when_stopped() -> None:
    told: list[tuple[int, threading.Thread]] = []

    def on_end(each: list[Metrics]) -> None:
        told.append((each[0].results, threading.current_thread()))

    with Run(numbers(2), Requests(), untagged, on_end=on_end) as run:
        list(run)
        run.wait()
    assert [(3, threading.current_thread())] == told
    with Run(endless, Requests(), untagged, on_end=on_end) as run:
        next(run)
    assert 1 == len(told)


def test_late_rows_are_kept_until_they_are_taken() -> None:
    def work(receiver: Receiver) -> Outcome:
        if receiver.on_late is not None:
            receiver.on_late(1, batch(7))
        receiver.on_result(0, batch(1))
        return DONE

    run = Run(work, Requests(), tagged)
    next(run)
    assert [(1, [7])] == [(query, one["n"].to_pylist()) for query, one in run.late()]
    assert [] == run.late()
    unkept = Run(work, Requests(), tagged, keep_late=False)
    next(unkept)
    assert [] == unkept.late()


def test_metrics_and_progress_are_there_while_it_runs() -> None:
    seen = threading.Event()

    def work(receiver: Receiver) -> Outcome:
        assert receiver.on_progress is not None
        receiver.on_progress(Metrics(rows_in=5, sources={"s": SourceMetrics(5, 9, 4)}))
        receiver.on_result(0, batch(1))
        assert seen.wait(PATIENCE)
        return DONE

    with Run(work, Requests(), untagged) as run:
        assert 0 <= run.metrics.rows_in <= 5
        next(run)
        assert (5, 9, [], False) == (run.metrics.rows_in, run.progress["s"].high, run.each, run.has_ended)
        seen.set()


def test_a_close_is_heard_where_a_source_waits() -> None:
    requests = Requests()
    idle: list[int] = []
    requests.on_idle = lambda: idle.append(1)
    assert not requests.heed_waiting()
    with Run(numbers(1), requests, untagged) as run:
        run.close()
        assert requests.heed_waiting()
    assert [1, 1] == idle
