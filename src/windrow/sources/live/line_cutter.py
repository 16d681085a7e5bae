"""Bytes as they arrive, as the rows of whole lines; what follows the last line end waits for the rest of its line."""

from __future__ import annotations

from collections.abc import Sequence
from csv import reader
from dataclasses import dataclass, replace

import pyarrow as pa

from windrow.sources.messages import CsvMessages, MessageFormat, empty
from windrow.sources.rejects import Reject

MOST_BYTES = 1 << 24
"""Of a line. Whoever sends no line end must not fill the memory."""


@dataclass
class LinePlace:
    """Where a cutter is: how many bytes and lines lie before the line that it waits for."""

    bytes: int = 0
    lines: int = 0


class LineCutter:
    """The lines of one sender, or of one file.

    >>> from windrow.sources.messages import JsonMessages
    >>> cutter = LineCutter(JsonMessages(), pa.schema([("t", pa.int64())]), "-")
    >>> cutter.take(b'{"t": 1}\\n{"t"')[0].num_rows, cutter.take(b': 2}\\nno\\n')[1][0].offset, cutter.place.bytes
    (1, 2, 21)
    """

    def __init__(self, format: MessageFormat, schema: pa.Schema, name: str, place: LinePlace | None = None) -> None:
        """`name` is what rejected lines say of where they come from."""
        self.format = format
        self.schema = schema
        self.name = name
        self.place = place or LinePlace()
        self._rest: list[bytes] = []
        self._waiting = 0
        self._skips = False
        """Whether the line at hand was too long, and its rest is thrown away."""

    def take(self, chunk: bytes) -> tuple[pa.RecordBatch, list[Reject]]:
        """The rows of the lines that end in these bytes, and the lines that are none."""
        end = chunk.rfind(b"\n") + 1
        if not end:
            self._rest.append(chunk)
            self._waiting += len(chunk)
            return empty(self.schema), self._too_long() if self._waiting > MOST_BYTES else []
        block = b"".join([*self._rest, chunk[:end]])
        self._rest, self._waiting = [chunk[end:]], len(chunk) - end
        return self._lines(block)

    def read_head(self, begin: bytes) -> None:
        """Learn the header, if there is one, from the first bytes of what is read from further on."""
        self._headed(begin)

    def finish(self) -> tuple[pa.RecordBatch, list[Reject]]:
        """The last line, which need not have an end."""
        block, self._rest, self._waiting = b"".join(self._rest), [], 0
        return self._lines(block) if block else (empty(self.schema), [])

    def abandon(self, reason: str) -> list[Reject]:
        """The last line, whose end will not come: it may look like a whole one."""
        block, self._rest, self._waiting = b"".join(self._rest), [], 0
        return [Reject(self.name, None, self.place.lines, reason, block)] if block.strip() else []

    def _lines(self, block: bytes) -> tuple[pa.RecordBatch, list[Reject]]:
        self.place.bytes += len(block)
        first = self.place.lines
        self.place.lines += block.count(b"\n") + (not block.endswith(b"\n"))
        if self._skips:
            self._skips = False
            _, _, block = block.partition(b"\n")
            first += 1
        if first == 0:
            block, first = self._headed(block)
        if not block.strip():
            return empty(self.schema), []
        batch, bad = self.format.read_lines(block, self.schema)
        return batch, [Reject(self.name, None, first + number, reason, line) for number, line, reason in bad]

    def _headed(self, block: bytes) -> tuple[bytes, int]:
        """A first line that names all columns is a header, and says in which order the cells are."""
        if not isinstance(self.format, CsvMessages):
            return block, 0
        line, _, rest = block.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
        names = _cells(line, self.format.delimiter)
        if not set(self.format.names) <= set(names):
            return block, 0
        self.format = replace(self.format, names=tuple(names))
        return rest, 1

    def _too_long(self) -> list[Reject]:
        """The line that is thrown away, once; its beginning is shown."""
        begun = b"".join(self._rest)[:1024]
        self.place.bytes += self._waiting
        self._rest, self._waiting = [], 0
        if self._skips:
            return []
        self._skips = True
        reason = f"its line is longer than {MOST_BYTES >> 20} MB"
        return [Reject(self.name, None, self.place.lines, reason, begun)]


def _cells(line: bytes, delimiter: str) -> Sequence[str]:
    try:
        return next(reader([line.decode().rstrip("\r")], delimiter=delimiter), [])
    except UnicodeDecodeError:
        return []
