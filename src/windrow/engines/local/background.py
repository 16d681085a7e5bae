"""Checkpoints beside the run: taken between two elements, written by a thread of its own while the run goes on.

One is under way at most. A further one that is due meanwhile is skipped and counted, and is taken as soon as the one
under way has ended. What went wrong in the thread is raised in the run: before the next element, or at its end. What
changed since the last checkpoint that *was* written is what the next one writes, so one that failed loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from time import perf_counter

from windrow.engines.local.checkpoint import Checkpoints, Draft
from windrow.engines.local.reporting import told


@dataclass
class Written:
    """What was written so far."""

    count: int = 0
    skipped: int = 0
    """Checkpoints that were due while another was under way."""
    seconds: float | None = None
    """Of the last one, from when it was taken until it counted."""
    bytes: int = 0
    """Of the last one."""


class BackgroundWriter:
    """Writes checkpoints one after the other, each in a thread of its own."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints
        self.written = Written()
        self._thread: Thread | None = None
        self._error: BaseException | None = None
        self._is_due = False

    @property
    def is_busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def offer(self, take: Callable[[], Draft]) -> bool:
        """A checkpoint is due: begin to write it, or skip it if one is under way; whether it was taken."""
        if self.is_busy:
            self.written.skipped += not self._is_due
            self._is_due = True
            return False
        self.settle()
        self._is_due = False
        started = perf_counter()
        self._thread = Thread(target=self._write, args=(take(), started), name="windrow-checkpoint", daemon=True)
        self._thread.start()
        return True

    def heed(self) -> None:
        """Raise what went wrong, without waiting."""
        if not self.is_busy:
            self.settle()

    def settle(self) -> None:
        """Wait for the one under way, and raise what went wrong; outputs give what they kept back for it."""
        self.wait()
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        number = self.checkpoints.settle()
        if number is not None:
            told(number, self.written.bytes, self.written.seconds or 0.0)

    def wait(self) -> None:
        """Wait for the one under way, whatever becomes of it."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _write(self, draft: Draft, started: float) -> None:
        try:
            self.checkpoints.write(draft)
        except BaseException as error:
            self._error = error
            return
        self.written.count += 1
        self.written.seconds = perf_counter() - started
        self.written.bytes = self.checkpoints.bytes
