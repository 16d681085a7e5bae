from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

import pytest

from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Sign
from windrow.sources.iterables.reader import ReadAhead

FOREVER, LONG = 3600.0, 60.0
VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="outside")


class Line:
    """An iterator that gives what it is told, when it is told."""

    def __init__(self) -> None:
        self.sent: SimpleQueue[Any] = SimpleQueue()
        self.asked = 0

    def __iter__(self) -> Iterator[Any]:
        while True:
            self.asked += 1
            element = self.sent.get(timeout=LONG)
            if element is None:
                return
            yield element


def row(number: int) -> dict[str, int]:
    return {"a": number}


def taken(ahead: ReadAhead, most: int) -> list[Any]:
    found = ahead.take(most, FOREVER)
    assert isinstance(found, list)
    return found


def readers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "windrow-reader"]


def test_what_is_there_is_taken_while_the_next_is_awaited() -> None:
    line = Line()
    ahead = ReadAhead(iter(line), rows=100)
    for number in (1, 2):
        line.sent.put(row(number))
        assert [row(number)] == ahead.take(100, 0.0)
    line.sent.put(None)
    assert Sign.END is ahead.take(100, 0.0)


def test_rows_wait_for_a_full_batch_as_long_as_they_may() -> None:
    ahead = ReadAhead(map(row, range(7)), rows=3)
    assert [[0, 1, 2], [3, 4, 5]] == [[one["a"] for one in taken(ahead, 3)] for _ in range(2)]
    assert [[row(6)], Sign.END] == [ahead.take(3, FOREVER) for _ in range(2)]  # the end is worth no waiting


def test_what_is_no_row_comes_alone_and_hurries_the_rows_before_it() -> None:
    elements: list[Any] = [row(1), row(2), Punctuation(2), Punctuation(3), row(4)]
    ahead = ReadAhead(iter(elements), rows=100)
    expected = [[row(1), row(2)], [Punctuation(2)], [Punctuation(3)], [row(4)], Sign.END]
    assert expected == [ahead.take(100, FOREVER) for _ in range(5)]


def test_an_error_comes_in_its_place() -> None:
    def broken() -> Iterator[Any]:
        yield row(1)
        raise OSError("the line is down")

    ahead = ReadAhead(broken(), rows=100)
    assert [row(1)] == ahead.take(100, FOREVER)
    with pytest.raises(OSError, match=r"^the line is down$"):
        ahead.take(100, FOREVER)


def test_no_more_is_read_than_there_is_room_for() -> None:
    line = Line()
    for number in range(10):
        line.sent.put(row(number))
    ahead = ReadAhead(iter(line), rows=3)
    assert 3 == len(taken(ahead, 3))
    assert 3 == len(taken(ahead, 3))
    assert line.asked <= 3 * 3 + 1
    ahead.stop()


def test_the_thread_ends_when_nothing_more_is_wanted() -> None:
    line = Line()
    before = set(readers())
    ahead = ReadAhead(iter(line), rows=1)
    (thread,) = set(readers()) - before
    line.sent.put(row(1))
    assert [row(1)] == ahead.take(1, 0.0)
    ahead.stop()
    line.sent.put(row(2))  # it cannot be called back before the iterator gives something
    thread.join(LONG)
    assert not thread.is_alive()


def test_a_stop_just_before_the_thread_waits_for_room_ends_it() -> None:
    stopped = threading.Event()

    class Taken(threading.Event):
        """Stopped at the last moment: when the thread, which has not been stopped yet, forgets what was taken."""

        def clear(self) -> None:
            if not stopped.is_set():
                stopped.set()
                ahead.stop()
            super().clear()

    line, before = Line(), set(readers())
    ahead = ReadAhead(iter(line), rows=1)
    (thread,) = set(readers()) - before
    ahead._taken = Taken()
    line.sent.put(row(1))
    thread.join(LONG)
    assert not thread.is_alive()


def test_nothing_in_time_is_a_tick_and_what_comes_then_is_taken() -> None:
    line = Line()
    ahead = ReadAhead(iter(line), rows=100)
    assert Sign.TICK is ahead.take(100, FOREVER, timeout=0.0)
    line.sent.put(Punctuation(1))
    assert [Punctuation(1)] == ahead.take(100, FOREVER)
    line.sent.put(None)
    assert [Sign.END] * 2 == [ahead.take(100, FOREVER) for _ in range(2)]


def test_a_row_that_still_waits_for_others_is_no_reason_to_wait_longer() -> None:
    line = Line()
    ahead = ReadAhead(iter(line), rows=100)
    line.sent.put(row(1))
    line.sent.put(row(2))
    assert Sign.TICK is ahead.take(3, None, timeout=0.01)
    line.sent.put(row(3))
    assert [row(1), row(2), row(3)] == ahead.take(3, None, timeout=LONG)
    ahead.stop()
    line.sent.put(None)


def test_whoever_waits_when_it_is_stopped_gets_the_end() -> None:
    line = Line()
    ahead = ReadAhead(iter(line), rows=1)
    found: list[Any] = []
    waiter = threading.Thread(target=lambda: found.append(ahead.take(1, 0.0)))
    waiter.start()
    ahead.stop()
    waiter.join(LONG)
    assert [Sign.END] == found
    line.sent.put(None)


def test_the_iterator_sees_the_context_of_the_one_who_reads_it() -> None:
    def ask() -> Iterator[Any]:
        yield {"a": VARIABLE.get()}

    VARIABLE.set("inside")
    assert [{"a": "inside"}] == ReadAhead(ask(), rows=1).take(1, 0.0)
