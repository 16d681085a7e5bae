"""Sources that give a row now and then: results leave when their window closes, not when a batch is full.

Every source here blocks after the rows that close a window, until the test has seen the result of that window.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError

SCHEMA = pa.schema([("time", pa.int64())])
PATIENCE = 60.0
"""Seconds after which a source that nobody lets go on gives up, so that a test fails and does not hang."""
FIRST = {"window_start": 0, "window_end": 10, "n": 2}
LAST = {"window_start": 10, "window_end": 20, "n": 1}


def dicts(*times: int) -> list[Any]:
    return [{"time": time} for time in times]


def batches(*times: int) -> list[Any]:
    return [pa.record_batch({"time": [time]}) for time in times]


class Source:
    """Three rows, of which the last closes a window, then nothing until `seen` is set."""

    def __init__(self, rows: Callable[..., list[Any]] = dicts, until: Callable[[], None] | None = None) -> None:
        self.seen = threading.Event()
        self.rows = rows
        self.until = until
        self.was_in_time = False

    def __iter__(self) -> Iterator[Any]:
        yield from self.rows(1, 5, 12)
        if self.until is not None:
            self.until()
        self.was_in_time = self.seen.wait(PATIENCE)

    def query(self) -> wr.Query:
        stream = wr.stream(iter(self), time="time", progress=wr.ordered(), schema=SCHEMA)
        return stream.window(range=10).agg(n=wr.count())


def no_reader_is_left() -> bool:
    """Whether all threads that read ahead have ended, after the time it takes."""
    readers = [thread for thread in threading.enumerate() if thread.name in ("windrow-reader", "windrow-run")]
    for thread in readers:
        thread.join(PATIENCE)
    return not any(thread.is_alive() for thread in readers)


@pytest.mark.parametrize("rows", [dicts, batches])
@pytest.mark.parametrize("options", [{}, {"threads": 2}, {"batch_wait": "0 ms"}])
def test_batches_come_while_the_source_waits(rows: Callable[..., list[Any]], options: dict[str, Any]) -> None:
    source = Source(rows)
    results = source.query().batches(**options)
    assert [FIRST] == next(results).to_pylist()
    source.seen.set()
    assert [[LAST]] == [batch.to_pylist() for batch in results]
    assert source.was_in_time
    assert no_reader_is_left()


def test_batches_come_while_an_arrow_reader_waits() -> None:
    source = Source(batches)
    reader = pa.RecordBatchReader.from_batches(SCHEMA, iter(source))
    stream = wr.stream(reader, time="time", progress=wr.ordered())
    results = stream.window(range=10).agg(n=wr.count()).batches()
    assert [FIRST] == next(results).to_pylist()
    source.seen.set()
    assert [[LAST]] == [batch.to_pylist() for batch in results]
    assert source.was_in_time


@pytest.mark.parametrize("rows", [dicts, batches])
def test_a_reader_of_batches_that_stops_ends_the_run_although_the_source_waits(rows: Callable[..., list[Any]]) -> None:
    source = Source(rows)
    results = source.query().batches()
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert "windrow-run" not in {thread.name for thread in threading.enumerate()}
    source.seen.set()
    assert no_reader_is_left()


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("a.csv", ["window_start,window_end,n", "0,10,2", "10,20,1"]),
        (
            "a.jsonl",
            ['{"window_start": 0, "window_end": 10, "n": 2}', '{"window_start": 10, "window_end": 20, "n": 1}'],
        ),
    ],
)
def test_files_grow_while_the_source_waits(tmp_path: Path, name: str, lines: list[str]) -> None:
    path = tmp_path / name

    def see_the_first_window() -> None:
        deadline = monotonic() + PATIENCE
        while not path.exists() or lines[-2] not in path.read_text():
            assert monotonic() < deadline, "nothing was written"
        source.seen.set()

    source = Source(until=see_the_first_window)
    source.query().write(path)
    assert source.was_in_time
    assert lines == path.read_text().splitlines()


def test_the_terminal_shows_rows_while_the_source_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def flush(self) -> None:
            shown.append(self.getvalue())
            source.seen.set()

    shown: list[str] = []
    source = Source()
    monkeypatch.setattr(sys, "stdout", Terminal())
    source.query().write("-")
    first = "window_start  window_end  n\n------------  ----------  -\n           0          10  2\n"
    assert [first, first + "          10          20  1\n"] == shown[:2]
    assert source.was_in_time


def test_an_interrupt_reaches_a_run_that_waits_for_its_source() -> None:
    def interrupt() -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)

    source = Source(until=interrupt)
    with pytest.raises(KeyboardInterrupt):
        source.query().collect()
    source.seen.set()
    assert no_reader_is_left()


@pytest.mark.parametrize("rows", [dicts, batches])
def test_an_error_of_the_source_comes_after_the_results_before_it(rows: Callable[..., list[Any]]) -> None:
    def fail() -> None:
        raise OSError("the line is down")

    results = Source(rows, until=fail).query().batches()
    assert [FIRST] == next(results).to_pylist()
    with pytest.raises(OSError, match=r"^the line is down$"):
        next(results)
    assert no_reader_is_left()


def test_an_error_of_the_run_ends_the_reader() -> None:
    source = Source(lambda *_: [{"time": 1}, {"time": None}])
    with pytest.raises(wr.DataError, match=r"^`time` must not be null: "):
        source.query().collect()
    source.seen.set()
    assert no_reader_is_left()


def test_answers_do_not_depend_on_the_wait() -> None:
    rows = [{"time": (number * 7919) % 5000} for number in range(5000)]

    def answer(wait: str | None) -> pa.Table:
        stream = wr.stream(iter(rows), time="time", progress=wr.slack(100), schema=SCHEMA)
        return stream.window(range=10, slide=3).agg(n=wr.count()).collect(batch_wait=wait, batch_rows=512)

    assert answer(None) == answer("0 ms") == answer("10 ms")


@pytest.mark.parametrize("wait", [50, "50 rows", "-1 ms"])
def test_a_wait_is_a_length_of_time(wait: Any) -> None:
    pattern = rf"^`batch_wait` must be a length of time, or None, got {wait}\. Hint: write it like '10 ms'\.$"
    with pytest.raises(ConfigurationError, match=pattern):
        Source().query().collect(batch_wait=wait)
