"""`start`: queries that run while their results are read; live sources here wait until the test lets them go on."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

SCHEMA = pa.schema([("time", pa.int64())])
PATIENCE = 60.0
FIRST = {"window_start": 0, "window_end": 10, "n": 2}
SECOND = {"window_start": 10, "window_end": 20, "n": 1}


class Line:
    """A source that gives what it is sent, for ever."""

    def __init__(self, *times: int) -> None:
        self.sent: Queue[int | None] = Queue()
        for time in times:
            self.sent.put(time)

    def __iter__(self) -> Iterator[Any]:
        while (time := self.sent.get(timeout=PATIENCE)) is not None:
            yield {"time": time}

    def stream(self) -> wr.Query:
        return wr.stream(iter(self), time="time", progress=wr.ordered(), schema=SCHEMA, name="line")

    def query(self) -> wr.Query:
        return self.stream().window(range=10).agg(n=wr.count())


def no_thread_is_left() -> bool:
    ours = [thread for thread in threading.enumerate() if thread.name in ("windrow-reader", "windrow-run")]
    for thread in ours:
        thread.join(PATIENCE)
    return not any(thread.is_alive() for thread in ours)


def test_results_come_while_the_query_runs() -> None:
    line = Line(1, 5, 12)
    with line.query().start() as run:
        assert [FIRST] == next(run).to_pylist()
        assert not run.has_ended
        line.sent.put(None)
        assert [[SECOND]] == [batch.to_pylist() for batch in run]
    assert (3, 2, True) == (run.metrics.rows_in, run.metrics.results, run.progress["line"].ended)
    assert no_thread_is_left()


def until(is_so: Callable[[], bool]) -> None:
    patience = threading.Event()
    for _ in range(int(PATIENCE / 0.01)):
        if is_so():
            return
        patience.wait(0.01)
    raise AssertionError("it never was")


def test_metrics_are_of_now_although_the_source_waits() -> None:
    line = Line(1, 5, 12)
    with line.query().start() as run:
        next(run)
        until(lambda: run.metrics.rows_in == 3)
        assert (12, 12, 1) == (run.progress["line"].high, run.metrics.high_watermark, run.metrics.open_windows)
        line.sent.put(None)


@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"batch_wait": None}])
def test_a_run_that_is_closed_gives_all_that_is_open(options: dict[str, Any]) -> None:
    """The rows that are there count; the source is not waited for any more."""
    line = Line(1, 5, 12)
    with line.query().start(**options) as run:
        until(lambda: line.sent.empty())
        run.close()
        assert [FIRST, SECOND] == [row for batch in run for row in batch.to_pylist()]
    line.sent.put(None)
    assert no_thread_is_left()


def test_a_source_that_never_rests_is_closed_all_the_same() -> None:
    def rows() -> Iterator[Any]:
        for time in range(1 << 62):
            yield pa.record_batch({"time": [time]})

    query = wr.stream(rows(), time="time", progress=wr.ordered(), schema=SCHEMA).window(range=10).agg(n=wr.count())
    with query.start() as run:
        next(run)
        run.close()
        last = list(run)[-1].to_pylist()[-1]
    assert 0 < last["n"] <= 10
    assert run.metrics.rows_in == run.metrics.rows_used


def test_files_are_read_to_their_end_when_a_run_is_closed() -> None:
    query = wr.stream(pa.table({"time": list(range(1000))}), time="time", progress=wr.ordered())
    with query.window(range=10).agg(n=wr.count()).start(batch_rows=7) as run:
        run.close()
        assert 100 == sum(batch.num_rows for batch in run)


def test_a_run_that_is_stopped_reports_nothing_that_is_open() -> None:
    line = Line(1, 5, 12)
    run = line.query().start()
    assert [FIRST] == next(run).to_pylist()
    run.stop()
    assert ([], True) == (list(run), run.has_ended)
    line.sent.put(None)
    assert no_thread_is_left()


def test_a_run_that_was_stopped_is_restored(tmp_path: Any) -> None:
    table = pa.table({"time": list(range(100))})

    def start(**options: Any) -> wr.Run[pa.RecordBatch]:
        query = wr.stream(table, time="time", progress=wr.ordered()).window(range=10).agg(n=wr.count())
        return query.start(checkpoint=str(tmp_path), checkpoint_every=10, **options)

    with start() as run:
        first = next(run).to_pylist()
    with start(restore=True) as run:
        again = [row for batch in run for row in batch.to_pylist()]
    assert (first, 10) == (again[:1], len(again))


def test_waiting_for_a_run() -> None:
    query = wr.stream(pa.table({"time": list(range(1000))}), time="time", progress=wr.ordered())
    metrics = query.window(range=10).agg(n=wr.count()).start(batch_rows=7).wait()
    assert (1000, 100) == (metrics.rows_in, metrics.results)


def test_late_rows_are_taken_on_the_way() -> None:
    query = wr.stream(pa.table({"time": [1, 20, 2, 30]}), time="time", progress=wr.ordered())
    with query.window(range=10).agg(n=wr.count()).late("side").start() as run:
        assert 3 == sum(batch.num_rows for batch in run)
        assert [2] == [row["time"] for batch in run.late() for row in batch.to_pylist()]


def test_lost_rows_are_warned_of_where_the_last_result_is_asked_for() -> None:
    query = wr.stream(pa.table({"time": [1, 20, 2, 30]}), time="time", progress=wr.ordered()).window(range=10)
    for ask in (list, lambda run: run.wait()):
        run = query.agg(n=wr.count()).start()
        with pytest.warns(wr.LateRowsWarning, match=r"1 of 4 rows") as caught:
            ask(run)
        assert __file__ == caught[0].filename
    with warnings.catch_warnings(), query.agg(n=wr.count()).start() as run:
        warnings.simplefilter("error")
        next(run)  # who stops reading is not warned


def test_what_is_wrong_is_told_at_once() -> None:
    with pytest.raises(wr.ConfigurationError, match=r"\A`treads` is not an option of a run on the local engine "):
        Line().query().start(treads=2)


def test_an_interrupt_reaches_a_reader_that_waits() -> None:
    line = Line(1, 5, 12)

    def interrupt(metrics: Any) -> None:
        if metrics.results:
            main = threading.main_thread().ident
            assert main is not None
            signal.pthread_kill(main, signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), line.query().start(on_progress=interrupt) as run:
        for _ in run:
            pass
    line.sent.put(None)
    assert no_thread_is_left()


def test_results_of_several_queries_come_with_their_places() -> None:
    line = Line(1, 5, 12)
    stream = line.stream()
    queries = [stream.window(range=10).agg(n=wr.count()), stream.window(range=5).agg(n=wr.count())]
    with wr.start(queries) as run:
        given = [next(run) for _ in range(2)]
        line.sent.put(None)
        given += run
    found = [[row["n"] for query, batch in given if query == place for row in batch.to_pylist()] for place in (0, 1)]
    assert [[2, 1], [1, 1, 1]] == found
    assert [2, 3] == [metrics.results for metrics in run.each]
