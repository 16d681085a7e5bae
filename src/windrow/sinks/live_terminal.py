"""An answer as a table that grows: rows as they come, for streams that may never end."""

from __future__ import annotations

import sys
from typing import IO

import pyarrow as pa

from windrow.sinks.base import Closing, fitted
from windrow.sinks.terminal import cells, is_number, line, more_rows


class LiveTerminalSink(Closing):
    """Prints each batch at once, up to `limit` rows (None: all) in all.

    Columns are as wide as the first rows need, and grow when later ones need more: what was printed stays as it is.
    """

    def __init__(self, schema: pa.Schema, *, limit: int | None = None, stream: IO[str] | None = None) -> None:
        self.schema = schema
        self.limit = limit
        self.stream = stream or sys.stdout
        self.numeric = [is_number(field.type) for field in schema]
        self.widths = [len(name) for name in schema.names]
        self.rows = self.shown = 0
        self.is_open = True

    def write(self, batch: pa.RecordBatch) -> None:
        room = batch.num_rows if self.limit is None else max(0, self.limit - self.shown)
        batch = fitted(batch, self.schema)
        self.rows += batch.num_rows
        if room and batch.num_rows:
            self._print(batch.slice(0, room))

    def _print(self, batch: pa.RecordBatch) -> None:
        columns = [cells(column) for column in batch.columns]
        self.widths = [max(width, *map(len, column)) for width, column in zip(self.widths, columns, strict=True)]
        if not self.shown:
            self._head()
        self.shown += batch.num_rows
        self.stream.write("".join(self._line(row) for row in zip(*columns, strict=True)))
        self.stream.flush()

    def _head(self) -> None:
        rules = tuple("-" * width for width in self.widths)
        self.stream.write(self._line(tuple(self.schema.names)) + self._line(rules))

    def _line(self, row: tuple[str, ...]) -> str:
        return line(row, self.widths, self.numeric) + "\n"

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            if not self.shown:
                self._head()
            self.stream.write(more_rows(self.rows, self.shown))

    def abort(self) -> None:
        """What was printed stays."""
        self.is_open = False
