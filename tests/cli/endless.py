"""`windrow` in a process of its own, over a stream that goes on for as long as nobody stops it.

    python tests/cli/endless.py ROWS FAULT run ...

ROWS of the stream come as fast as they can, then one every hundredth of a second; or no more where ROWS is below zero.
FAULT is what befalls the run: "none", or "stuck" for an output that takes nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from threading import Event
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.cli import main, run
from windrow.sinks.files import FileSink

SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64())])
START = 1_700_000_000_000_000


def row(number: int) -> dict[str, int]:
    return {"t": START + number * 1_000_000, "k": number % 3}


def rows(count: int, *, ends: bool) -> Iterator[dict[str, int]]:
    number = 0
    while number < count or not ends:
        yield row(number)
        number += 1
        if number >= count and not ends:
            Event().wait(0.01)


def stuck(*_: Any) -> None:
    """As a pipe that nobody reads: the system call goes on after a signal."""
    os.read(os.pipe()[0], 1)


def query(stream: Iterator[Any]) -> wr.Query:
    ordered = wr.stream(stream, time="t", progress=wr.ordered(), schema=SCHEMA, name="live")
    return ordered.group_by("k").window(range="10 s").agg(n=wr.count())


if __name__ == "__main__":
    count, fault = int(sys.argv.pop(1)), sys.argv.pop(1)
    stream = rows(abs(count), ends=count < 0)
    setattr(run, "read_queries", lambda *_, **__: (query(stream),))  # noqa: B010 - of its own, by the name it uses
    if fault == "stuck":
        setattr(FileSink, "write", stuck)  # noqa: B010
    main()
