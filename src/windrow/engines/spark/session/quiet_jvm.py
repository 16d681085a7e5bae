"""A JVM that starts and ends in silence: what it says goes into its error when it fails, else to standard error.

PySpark prints tracebacks beside the errors that it raises, when a call is broken off or the JVM is gone. Those are left
out: the caller has the error.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from threading import Event, Thread
from typing import Any

_STDERR = 2
_NOISE = (
    "WARNING: Using incubator modules",  # Spark asks for the module, Java remarks on it, no switch turns it off
    "Picked up ",
    "NOTE: Picked up ",
    "Using Spark's default log4j profile",
    "Setting default log level to",
    "To adjust logging level use",
    "Starting Streaming TransformWithState",  # every worker of a stateful query reports each of its steps
    "Streaming TransformWithState",
)


class HeldOutput:
    """What a program writes to standard error, a pipe that it inherits: held back until `let_go`, then passed on, apart
    from remarks that Spark makes every time.
    """

    def __init__(self, pipe: int) -> None:
        self.held: deque[bytes] = deque(maxlen=200)
        self._pipe = pipe
        self._free = Event()
        self._thread = Thread(target=self._pump, name="windrow-jvm-stderr", daemon=True)
        self._thread.start()

    def let_go(self) -> None:
        """Pass on what was held, and all that follows, to standard error."""
        for line in list(self.held):
            _pass_on(line)
        self.held.clear()
        self._free.set()

    def close(self) -> None:
        """Pass on nothing more: what a program writes while it is ended concerns nobody."""
        self._free.clear()

    def lines(self) -> list[str]:
        """What is held back."""
        return [line.decode(errors="replace").rstrip() for line in list(self.held) if not is_noise(line)]

    def _pump(self) -> None:
        rest = b""
        while chunk := os.read(self._pipe, 1 << 16):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._take(line + b"\n")
        if rest:
            self._take(rest)
        os.close(self._pipe)

    def _take(self, line: bytes) -> None:
        if self._free.is_set():
            _pass_on(line)
        else:
            self.held.append(line)


def is_noise(line: bytes) -> bool:
    """Whether a line is one of the remarks that Spark makes every time, or empty."""
    return not line.strip() or line.startswith(tuple(text.encode() for text in _NOISE))


def _pass_on(line: bytes) -> None:
    if not is_noise(line):
        os.write(_STDERR, line)


def hush_gateway() -> None:
    """No log of calls to the JVM that failed or were interrupted."""
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")


class Programs(list["Popen[Any]"]):
    """The JVM that PySpark starts."""

    is_given_up = False

    def give_up(self) -> None:
        """Kill what is not up yet, or starts only now: nobody else has a handle on it, and it would wait for ever."""
        from pyspark import SparkContext

        self.is_given_up = True
        for program in self if SparkContext._gateway is None else ():
            program.kill()


@contextmanager
def programs_started() -> Iterator[Programs]:
    """Those of the block, which are given up if it is broken off."""
    from pyspark import java_gateway

    programs = Programs()

    class Recorded(Popen[Any]):
        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings)
            programs.append(self)
            if programs.is_given_up:
                self.kill()

    kept, java_gateway.Popen = java_gateway.Popen, Recorded  # type: ignore[attr-defined]
    try:
        yield programs
    except BaseException:
        programs.give_up()
        raise
    finally:
        java_gateway.Popen = kept  # type: ignore[attr-defined]


def hush_accumulators() -> None:
    """No traceback from the thread that waits for counts of Spark's, when there is no Spark any more."""
    from pyspark import SparkContext

    server: Any = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


@contextmanager
def hushed() -> Iterator[HeldOutput]:
    """For the time of the block, programs that start have a held-back standard error.

    The block decides: `let_go` when the start went well, `lines` for the error when it did not.
    """
    kept = os.dup(_STDERR)
    read, write = os.pipe()
    os.dup2(write, _STDERR)
    os.close(write)
    try:
        yield HeldOutput(read)
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
