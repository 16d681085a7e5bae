"""Work with Spark that is interrupted ends in good order before the interrupt is raised."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from threading import Event
from typing import Any

import pytest

from windrow.engines.spark.session.own_thread import on_own_thread


class FakeSession:
    """A session as far as its tags go."""

    def __init__(self) -> None:
        self.tags: set[str] = set()
        self.cancelled: list[str] = []

    def addTag(self, tag: str) -> None:  # noqa: N802
        self.tags.add(tag)

    def getTags(self) -> set[str]:  # noqa: N802
        return set()

    def interruptTag(self, tag: str) -> None:  # noqa: N802
        self.cancelled.append(tag)
        raise RuntimeError("the JVM is gone")


@pytest.fixture
def python_handler() -> Iterator[None]:
    """Spark may have put a handler of its own in place."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_what_is_given_and_raised_comes_from_another_thread() -> None:
    session: Any = FakeSession()
    assert threading.current_thread() is not on_own_thread(session, threading.current_thread, Event())
    nothing: list[int] = []
    with pytest.raises(IndexError, match=r"^pop from empty list$"):
        on_own_thread(session, nothing.pop, Event())
    assert [] == session.cancelled


@pytest.mark.usefixtures("python_handler")
def test_an_interrupt_waits_for_the_work_to_end() -> None:
    session: Any = FakeSession()
    stop, ended = Event(), []

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        stop.wait()
        ended.append(True)
        raise ValueError("nobody hears of this")

    with pytest.raises(KeyboardInterrupt):
        on_own_thread(session, work, stop)
    assert ([True], sorted(session.tags)) == (ended, session.cancelled)
