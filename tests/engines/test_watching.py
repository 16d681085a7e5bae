from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from typing import Any

import pyarrow as pa
import pytest

from windrow.engines.run import Requests, Stopped
from windrow.engines.watching import watched
from windrow.sources import Sign, elements_of, open_source

SCHEMA = pa.schema({"a": pa.int64()})
LONG = 60.0


class Line:
    """An iterator that gives what it is told, when it is told."""

    schema = SCHEMA

    def __init__(self, *sent: Any) -> None:
        self.sent: SimpleQueue[Any] = SimpleQueue()
        for element in sent:
            self.sent.put(element)

    def __iter__(self) -> Iterator[Any]:
        while (element := self.sent.get(timeout=LONG)) is not None:
            yield element


def test_what_is_raised_while_nothing_comes_ends_the_waiting() -> None:
    requests = Requests()
    line = Line(pa.record_batch({"a": [1]}))
    elements = elements_of(watched(open_source(line), requests))
    assert 1 == len(next(elements))  # type: ignore[arg-type]
    requests.stop.set()
    with pytest.raises(Stopped):
        next(elements)
    line.sent.put(None)


def test_a_source_that_is_awaited_no_more_has_ended() -> None:
    line, requests = Line(), Requests()
    requests.close.set()
    source = watched(open_source(line), requests).select(["a"])
    assert [] == list(elements_of(source))
    assert (SCHEMA, "Python iterable", None, False) == (
        source.schema,
        source.describe(),
        source.total_rows,
        source.can_seek,
    )
    line.sent.put(None)


def test_a_tick_comes_in_time_although_someone_looks_around() -> None:
    asked: list[int] = []
    line, requests = Line(), Requests()
    requests.on_idle = lambda: asked.append(1)
    reader = watched(open_source(line), requests).open()
    assert Sign.TICK is reader.poll(0.0)
    assert [1] == asked
    assert {"rows": 0} == reader.position
    reader.close()
    line.sent.put(None)


def test_what_is_there_needs_no_watching() -> None:
    source = open_source([{"a": 1}])
    assert source is watched(source, Requests())


def test_one_that_gives_without_end_is_left_soon_after_the_run_is_closed() -> None:
    requests = Requests()
    elements = elements_of(watched(open_source(iter(lambda: pa.record_batch({"a": [1]}), None)), requests))
    next(elements)
    requests.close.set()
    assert 4 == len(list(elements))


def test_an_arrow_reader_ticks_too() -> None:
    line = Line()
    batches: Any = (element for element in line)
    source = open_source(pa.RecordBatchReader.from_batches(SCHEMA, batches))
    reader = source.open(batch_rows=2)
    assert Sign.TICK is reader.poll(0.0)
    line.sent.put(pa.record_batch({"a": [1, 2, 3]}))
    assert [2, 1] == [len(reader.poll(LONG)) for _ in range(2)]  # type: ignore[arg-type]
    line.sent.put(None)
    assert Sign.END is reader.poll(LONG)
