"""One file that is followed: lines as they are added, or a file of Parquet once it is whole."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import pyarrow as pa

from windrow.sources.base import Sign
from windrow.sources.live.line_cutter import LineCutter, LinePlace
from windrow.sources.messages import MessageFormat
from windrow.sources.rejects import Reject

MOST = 1 << 22
_HEAD = 256
_FIRST_LINE = 1 << 16
Took = tuple[pa.RecordBatch, list[Reject]]


@dataclass(frozen=True)
class FileState:
    """How much of a file was read. Its number and its first bytes tell it from others of the same name.

    `read` counts bytes and `lines` how many lines these are; of a file that is whole at once, rows, and 1 once it is
    done. `head` is the checksum of the first `headed` bytes.
    """

    name: str
    number: int
    read: int = 0
    lines: int = 0
    head: int = 0
    headed: int = 0

    @staticmethod
    def of(values: Any) -> FileState:
        return FileState(*values)

    def listed(self) -> list[Any]:
        return list(astuple(self))

    def is_begin_of(self, path: Path) -> bool:
        """Whether a file begins with what was read."""
        try:
            with path.open("rb") as file:
                return zlib.crc32(file.read(self.headed)) == self.head
        except FileNotFoundError:
            return False


class Followed(Protocol):
    """A file that is open."""

    path: Path
    number: int

    def more(self) -> Took | None:
        """What was added; None: nothing."""

    @property
    def state(self) -> FileState: ...

    @property
    def is_done(self) -> bool:
        """Whether it need not be open: nothing came for long, or it is over."""

    def close(self) -> None: ...


class GrowingFile:
    """A file of lines, which is read as far as lines end; after a while without news it is closed, and looked at."""

    def __init__(
        self, path: Path, format: MessageFormat, schema: pa.Schema, state: FileState | None, *, rests: float = 60.0
    ) -> None:
        """It goes on from a `state`, and may be closed after `rests` seconds without news."""
        self.path = path
        self.rests = rests
        self.file = path.open("rb", buffering=0)
        self.number = os.fstat(self.file.fileno()).st_ino
        self.format, self.schema = format, schema
        self._head = b""
        self._begin(state)
        self._came = monotonic()

    def _begin(self, state: FileState | None = None) -> None:
        place = LinePlace(state.read, state.lines) if state else LinePlace()
        self.cutter = LineCutter(self.format, self.schema, str(self.path), place)
        self.file.seek(0)
        if place.bytes:
            begin = self.file.read(_FIRST_LINE) or b""
            self.cutter.read_head(begin)
            self._head = begin[: min(_HEAD, place.bytes)]
        self.file.seek(place.bytes)
        self.read = place.bytes

    @property
    def state(self) -> FileState:
        place = self.cutter.place
        head = self._head[: place.bytes]
        return FileState(str(self.path), self.number, place.bytes, place.lines, zlib.crc32(head), len(head))

    @property
    def is_done(self) -> bool:
        gone = os.fstat(self.file.fileno()).st_nlink == 0
        return monotonic() - self._came > (0.0 if gone else self.rests)

    def more(self) -> Took | None:
        size = os.fstat(self.file.fileno()).st_size
        rejects: list[Reject] = []
        if size < self.read:
            rejects = self.cutter.abandon(f"the file was cut from {self.read} to {size} bytes, and is read anew")
            self._begin()
        chunk = self.file.read(MOST) if size > self.read else b""
        if not chunk:
            return None
        self.read += len(chunk)
        self._came = monotonic()
        if len(self._head) < _HEAD:
            self._head = (self._head + chunk)[:_HEAD]
        batch, bad = self.cutter.take(chunk)
        return batch, [*rejects, *bad]

    def finish(self) -> Took:
        """The last line, which need not have an end."""
        return self.cutter.finish()

    def close(self) -> None:
        self.file.close()


class WholeFile:
    """A file of Parquet, which is read once its last bytes are there."""

    def __init__(self, path: Path, schema: pa.Schema, name: str, state: FileState | None, batch_rows: int) -> None:
        self.path, self.schema, self.name = path, schema, name
        self.number = path.stat().st_ino
        self.batch_rows = batch_rows
        self.rows = state.read if state else 0
        self.is_done = False
        self._head = b""
        self._batches: Iterator[pa.RecordBatch] | None = None

    @property
    def state(self) -> FileState:
        head = zlib.crc32(self._head), len(self._head)
        return FileState(str(self.path), self.number, self.rows, int(self.is_done), *head)

    def more(self) -> Took | None:
        if self._batches is None and not self._is_whole():
            return None
        self._batches = self._batches or self._read()
        batch = next(self._batches, None)
        if batch is None:
            self.is_done = True
            return None
        self.rows += batch.num_rows
        return batch, []

    def _is_whole(self) -> bool:
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._head = file.read(_HEAD)
            if size < 12 or self._head[:4] != b"PAR1":
                return False
            file.seek(size - 4)
            return file.read(4) == b"PAR1"

    def _read(self) -> Iterator[pa.RecordBatch]:
        from windrow.sources.files.file_source import open_files

        source = open_files(self.path, name=self.name, schema=self.schema, dictionary=True)
        reader = source.open({"rows": self.rows} if self.rows else None, batch_rows=self.batch_rows)
        try:
            while not isinstance(element := reader.poll(), Sign):
                assert isinstance(element, pa.RecordBatch)
                yield element
        finally:
            reader.close()

    def finish(self) -> Took | None:
        return None

    def close(self) -> None:
        if self._batches is not None:
            self._batches.close()  # type: ignore[attr-defined]  # it is a generator
