"""Waits that an interrupt ends: a signal may reach any thread of the program, but only the main one can act on it.

A main thread that waits without a limit is not woken when another thread got the signal, and Ctrl-C would do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition, Event, Thread

NAP = 0.1
"""Seconds after which the main thread looks whether there was a signal."""


def wait_for(event: Event) -> None:
    """Wait until the event is set."""
    while not event.wait(NAP):
        pass


def wait_until(changed: Condition, holds: Callable[[], bool]) -> None:
    """Wait, with the condition's lock held, until what it guards is as asked."""
    while not holds():
        changed.wait(NAP)


def wait_for_end(thread: Thread) -> None:
    """Wait until the thread has ended."""
    while thread.is_alive():
        thread.join(NAP)
