"""A JVM that starts in silence: what it says goes into its error when it fails, else to standard error."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

_STDERR = 2
_NOISE = (
    "WARNING: Using incubator modules",  # Spark asks for the module, Java remarks on it, no switch turns it off
    "Picked up ",
    "NOTE: Picked up ",
    "Using Spark's default log4j profile",
    "Setting default log level to",
    "To adjust logging level use",
    "Starting Streaming TransformWithState",  # every worker of a stateful query tells of each of its steps
    "Streaming TransformWithState",
)


class Hearing:
    """Lines written to standard error while a program started, and everything that program writes later.

    The program inherits a pipe as its standard error. Lines are held back until `let_go`; from then on they are
    passed on, apart from remarks that Spark makes every time.
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

    def last_words(self, count: int = 3) -> str:
        """The end of what was said, in one line."""
        lines = [line.decode(errors="replace").strip() for line in self.held if not is_noise(line)]
        return "; ".join(line for line in lines[-count:] if line)

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


@contextmanager
def hushed() -> Iterator[Hearing]:
    """For the time of the block, programs that start have a held-back standard error.

    The block decides: `let_go` when the start went well, `last_words` when it did not.
    """
    kept = os.dup(_STDERR)
    read, write = os.pipe()
    os.dup2(write, _STDERR)
    os.close(write)
    try:
        yield Hearing(read)
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
