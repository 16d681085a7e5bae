"""A signal that reached another thread ends a wait of the main one."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from threading import Condition, Event, Thread, get_ident
from types import FrameType

import pytest

from windrow.engines.waiting import wait_for, wait_for_end, wait_until


class Signalled(Exception):
    """Raised by the handler in the main thread."""


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    def raise_it(_number: int, _frame: FrameType | None) -> None:
        raise Signalled

    before = signal.signal(signal.SIGUSR1, raise_it)
    yield
    signal.signal(signal.SIGUSR1, before)


def on_event(done: Event, _thread: Thread) -> None:
    wait_for(done)


def on_condition(done: Event, _thread: Thread) -> None:
    with (changed := Condition()):
        wait_until(changed, done.is_set)


def on_thread(_done: Event, thread: Thread) -> None:
    wait_for_end(thread)


@pytest.mark.parametrize("wait", [on_event, on_condition, on_thread])
def test_a_signal_to_another_thread(wait: Callable[[Event, Thread], None]) -> None:
    raised, done = Event(), Event()

    def other() -> None:
        signal.pthread_kill(get_ident(), signal.SIGUSR1)
        raised.wait(5)  # which ends the wait of the main thread if the signal did not
        done.set()

    thread = Thread(target=other)
    with pytest.raises(Signalled):  # noqa: PT012 - the signal may come before the wait begins
        thread.start()
        wait(done, thread)
    assert not done.is_set()
    raised.set()
    thread.join()
    wait(done, thread)
