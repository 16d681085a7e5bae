"""How a command ends when it does not end well: one message on standard error, and a code for who must act."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from windrow.errors import InternalError, WindrowError

_MOMENT = 0.05


class UserMistake(click.ClickException):
    """Query, data or settings are at fault."""

    exit_code = 2


class Fault(click.ClickException):
    """Something that nobody foresaw: the whole traceback is kept in a file, for the report."""

    exit_code = 1

    def __init__(self, error: Exception) -> None:
        kind = type(error).__module__.partition(".")[0]
        who = "Spark failed" if kind in ("pyspark", "py4j") else "Windrow has a fault, which is not yours"
        first = next(iter(str(error).strip().splitlines()), "")
        what = f"{type(error).__name__}: {first}" if first else type(error).__name__
        super().__init__(f"{who} ({what.rstrip('.')}). {_where(error)}")


def _no_memory(error: MemoryError) -> str:
    """Whoever starts a run says how much memory it may have, and how much of that is for kept rows."""
    what = str(error).strip()
    return (
        f"Memory is exhausted{what and f' ({what})'}. Hint: kept rows beyond --memory-budget SIZE go to the disk; a "
        "quarter of what the process may have leaves room for the rest."
    )


def _where(error: Exception) -> str:
    """Keep the traceback, and name the file."""
    text = "".join(traceback.format_exception(error))
    try:
        handle, path = tempfile.mkstemp(prefix="windrow-traceback-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:  # a full disk may be what went wrong
        return f"Please report it with this:\n{text}"
    return f"Please report it with what is in {path}"


class Pressed(KeyboardInterrupt):
    """SIGINT: Ctrl-C."""


class Terminated(KeyboardInterrupt):
    """SIGTERM: the same as an interrupt, under another number."""


class Interrupted(click.ClickException):
    """Somebody stopped the command; the exit code is that of a program which the signal ended.

    `way_on` is how to go on from here.
    """

    def __init__(self, interrupt: KeyboardInterrupt, way_on: str = "") -> None:
        number = signal.SIGTERM if isinstance(interrupt, Terminated) else signal.SIGINT
        super().__init__(f"Stopped by {number.name}.{way_on and f' {way_on}'}")
        self.exit_code = 128 + number  # type: ignore[misc]  # click declares it for classes, and reads it off errors

    def show(self, file: Any = None) -> None:
        click.echo(self.message, file=file, err=file is None)


@contextmanager
def clear_endings() -> Iterator[None]:
    """Whatever ends the block is a message without a traceback; SIGTERM ends it as SIGINT does."""
    with _signals_raised():
        try:
            yield
        except (KeyboardInterrupt, Exception) as error:
            ending = ending_of(error)
            if ending is None:
                raise
            raise ending from error


def ending_of(error: BaseException) -> click.ClickException | None:
    """The message that an error ends a command with; None for what ends it as it is."""
    if isinstance(error, KeyboardInterrupt):
        return Interrupted(error)
    if isinstance(error, InternalError):
        return Fault(error)
    if isinstance(error, WindrowError):
        return UserMistake("\n".join([str(error), *getattr(error, "__notes__", ())]))
    if isinstance(error, (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError)):
        return None
    if isinstance(error, MemoryError):
        return UserMistake(_no_memory(error))
    return Fault(error) if isinstance(error, Exception) else None


_ASKED: list[Callable[[int], bool]] = []
"""Who is asked whether a signal shall interrupt; the last one is."""


@contextmanager
def asked_first(heeds: Callable[[int], bool]) -> Iterator[None]:
    """Within the block a signal that `heeds` takes upon itself interrupts nothing; it must not wait for any lock."""
    _ASKED.append(heeds)
    try:
        yield
    finally:
        _ASKED.remove(heeds)


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Handlers of our own, which Spark leaves alone; what is ignored, as behind nohup, stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: dict[int, type[KeyboardInterrupt]] = {signal.SIGINT: Pressed, signal.SIGTERM: Terminated}
    before = {number: signal.getsignal(number) for number in raised}
    over = threading.Event()

    def handle(number: int, _frame: FrameType | None) -> None:
        if _ASKED and _ASKED[-1](number):
            return
        interrupt = raised[number]()
        weakref.finalize(interrupt, _repeat, number, over).atexit = False
        try:
            raise interrupt
        finally:
            del interrupt  # this frame is in its traceback: whoever swallows it would keep it alive

    for number in raised:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        over.set()
        for number, handler in before.items():
            signal.signal(number, handler)


def _repeat(number: int, over: threading.Event) -> None:
    """An interrupt that is gone before the command is over was swallowed, as many modules do while they are imported.

    It comes again a moment later, when whoever swallowed it has gone on.
    """

    def interrupt() -> None:
        if not over.wait(_MOMENT):
            os.kill(os.getpid(), number)

    if not over.is_set() and os.name == "posix":  # elsewhere a process cannot send itself one
        threading.Thread(target=interrupt, daemon=True).start()
