"""Standard input and named pipes: lines as they come, or a stream of Arrow batches.

A file that stands in for standard input can be read again from where a run was; of a pipe what was read is gone.
"""

from __future__ import annotations

import os
import select
import stat
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import SourceError, reason_of
from windrow.sources.addresses import known_options, options_of, own_path
from windrow.sources.base import BATCH_ROWS, Position, Reader, Source
from windrow.sources.conform import encoded_schema, plain_schema
from windrow.sources.live.endless import EndlessSource
from windrow.sources.live.line_cutter import LineCutter, LinePlace
from windrow.sources.live.reader import LiveReader
from windrow.sources.messages import MessageFormat, message_format
from windrow.sources.rejects import Reject

STANDARD_INPUT = "standard input"
CHUNK = 1 << 20
MOST = 1 << 22
"""Bytes that become one batch."""
_PIPE_BYTES = 1 << 20


@dataclass(frozen=True)
class PipeSource(EndlessSource):
    """Lines of standard input (`-`) or of a named pipe."""

    path: str
    format: MessageFormat

    @property
    def reads(self) -> tuple[str, ...]:
        return () if self.path == "-" else (self.path,)

    def describe(self) -> str:
        return STANDARD_INPUT if self.path == "-" else f"the pipe {self.path}"

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        return PipeReader(self, position, batch_rows)


class PipeReader(LiveReader):
    """Takes what is there, without waiting for more than the first bytes."""

    def __init__(self, source: PipeSource, position: Position | None, batch_rows: int) -> None:
        super().__init__(source.name, position, batch_rows)
        self.source = source
        self.number = _opened(source.path, source.name)
        self.is_file = stat.S_ISREG(os.fstat(self.number).st_mode)
        place = LinePlace(*self.place) if self.is_file and self.place else LinePlace()
        self.cutter = LineCutter(source.format, source.schema, source.path, place)
        if self.is_file and place.bytes:
            os.lseek(self.number, 0, os.SEEK_SET)
            self.cutter.read_head(os.read(self.number, CHUNK))
            os.lseek(self.number, place.bytes, os.SEEK_SET)
        _widen(self.number)

    def here(self) -> Any:
        return [self.cutter.place.bytes, self.cutter.place.lines] if self.is_file else None

    def fill(self, timeout: float | None) -> tuple[Iterable[pa.RecordBatch], Sequence[Reject]]:
        chunks, size = list[bytes](), 0
        while size < MOST and self._waits(timeout if not chunks else 0.0):
            try:
                chunk = os.read(self.number, CHUNK)
            except BlockingIOError:
                break
            except OSError as error:
                raise _unreadable(self.source.path, self.source.name, error) from error
            if not chunk:
                self.has_ended = True
                break
            chunks.append(chunk)
            size += len(chunk)
        if not chunks and not self.has_ended:
            return (), ()
        batch, rejects = self.cutter.take(b"".join(chunks))
        if not self.has_ended:
            return (batch,), rejects
        last, more = self.cutter.finish()
        return (batch, last), [*rejects, *more]

    def _waits(self, timeout: float | None) -> bool:
        return bool(select.select([self.number], [], [], timeout)[0])

    def close(self) -> None:
        if self.source.path != "-" and self.number >= 0:
            os.close(self.number)
            self.number = -1


def _opened(path: str, name: str) -> int:
    try:
        if path == "-":
            number = sys.__stdin__.fileno() if sys.__stdin__ is not None else 0
            os.fstat(number)
            return number
        return os.open(own_path(path), os.O_RDONLY | os.O_NONBLOCK)  # else it would wait for who writes
    except (OSError, ValueError) as error:
        raise _unreadable(path, name, error) from error


def _unreadable(path: str, name: str, error: OSError | ValueError) -> SourceError:
    reason = reason_of(error) if isinstance(error, OSError) else str(error)
    return SourceError(
        f"must be a place that can be read ({reason})",
        parameter=name,
        value="standard input" if path == "-" else path,
        hint="give the command an input: tail -f trades.jsonl | windrow run query.sql",
    )


def _widen(number: int) -> None:
    """More room between the two programs, where the system has it, so that each works for longer at a time."""
    with suppress(ImportError, AttributeError, OSError):
        import fcntl

        fcntl.fcntl(number, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def open_pipe(address: str, *, name: str, schema: pa.Schema | None) -> Source:
    """The source at `-`, `-?format=csv` or the path of a named pipe; `format` is json, csv, tsv, raw or arrow."""
    path, options = options_of(address)
    known_options(address, options, ("format",), name)
    format = options.get("format", "json")
    if format == "arrow":
        return _arrow(path, name, schema)
    columns = None if schema is None else plain_schema(schema)
    found = message_format(format, columns, "format", name)
    assert columns is not None
    return PipeSource(name, encoded_schema(columns), path, found)


def _arrow(path: str, name: str, schema: pa.Schema | None) -> Source:
    """A stream of Arrow batches brings its columns along."""
    from windrow.sources.memory import open_reader

    number = _opened(path, name)
    try:
        found = pa.ipc.open_stream(pa.PythonFile(os.fdopen(number, "rb", closefd=path != "-"), "r"))
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"must be a stream of Arrow batches ({str(error).splitlines()[0].rstrip('.')})",
            parameter=name,
            value="standard input" if path == "-" else path,
            hint="write it with pyarrow.ipc.new_stream, or say ?format=json",
        ) from error
    return open_reader(found, name=name, schema=schema)
