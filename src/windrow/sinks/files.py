"""Files under a temporary name, until they are complete, or where they can grow, until their first rows are there."""

from __future__ import annotations

import os
import secrets
from abc import abstractmethod
from contextlib import suppress
from errno import EINVAL, EISDIR
from pathlib import Path
from typing import IO, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.errors import ConfigurationError, reason_of
from windrow.sinks.base import Saved, Sink, fitted, unwritable
from windrow.sources.addresses import own_path
from windrow.sources.base import Delivery


class FileSink(Sink):
    """Writes beside the target under a temporary name, which becomes the target's on close.

    A file that `grows` takes its name with its first rows already, and has all rows written so far after each `write`.
    What was there before is gone then, as a whole. An interrupted run leaves the rows given up to then; if there are
    none, or the file cannot grow, it leaves the target as it was. That the target can be written is found out when
    opening.
    """

    grows: ClassVar[bool] = False
    delivery = Delivery.EXACTLY_ONCE

    def __init__(self, target: Path, schema: pa.Schema) -> None:
        self.target = own_path(target)
        self.schema = schema
        try:
            self.target = self.target.resolve()  # through a link, so that the link stays one
            _refuse_taken(self.target)
            self.partial = self.target.with_name(f".{self.target.name}.{secrets.token_hex(4)}.partial")
            self.file: IO[bytes] = self.partial.open("xb")
        except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a zero byte in the name
            raise unwritable(self.target, reason_of(error)) from error
        self.is_open = True
        self.is_named = False

    @abstractmethod
    def put(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch that has the sink's schema."""

    def finish(self) -> None:
        """Write what is still held back; the file closes after this."""

    def write(self, batch: pa.RecordBatch) -> None:
        try:
            self.put(fitted(batch, self.schema))
            if self.grows and batch.num_rows:
                self.file.flush()
                self._take_name()
        except OSError as error:
            raise unwritable(self.target, reason_of(error)) from error

    def save(self, number: int) -> Saved:
        """Rows given later are cut off again where the run goes on from here."""
        if not self.grows:
            raise ConfigurationError(
                "must be a file that can grow where a stream never ends",
                parameter="output",
                value=str(self.target),
                hint="name a .jsonl or .csv file, or a folder that files are added to, such as parquet:answers",
            )
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
        except OSError as error:
            raise unwritable(self.target, reason_of(error)) from error
        return Saved({"bytes": self.file.tell() if self.is_named else None})

    def go_on(self, number: int, saved: Saved) -> None:
        size = saved.place["bytes"]
        if size is None:  # nothing had been given yet
            return
        try:
            file = self.target.open("r+b")
            if file.seek(0, os.SEEK_END) < size:
                raise unwritable(self.target, f"it has fewer than the {size} bytes it had")
            file.truncate(size)
            file.seek(size)
        except OSError as error:
            raise unwritable(self.target, reason_of(error)) from error
        self.file.close()
        self.partial.unlink(missing_ok=True)
        self.file, self.is_named = file, True

    def close(self) -> None:
        if not self.is_open:
            return
        try:
            self.finish()
            self.file.close()
            self._take_name()
            self.is_open = False
        except OSError as error:
            raise unwritable(self.target, reason_of(error)) from error
        finally:
            self.abort()

    def abort(self) -> None:
        if self.is_open:
            self.is_open = False
            with suppress(OSError):  # what is still buffered may not fit on the disk; it is thrown away anyway
                self.file.close()
            if not self.is_named:
                self.partial.unlink(missing_ok=True)

    def left(self) -> str | None:
        return f"{self.target} holds what was given up to there." if self.is_named else None

    def _take_name(self) -> None:
        if not self.is_named:
            self.partial.replace(self.target)
            self.is_named = True


def _refuse_taken(target: Path) -> None:
    if target.is_dir():
        raise OSError(EISDIR, "it is a folder")
    if target.exists() and not target.is_file():
        raise OSError(EINVAL, "it is a device or a pipe, whose place the file would take")


_GROUP_ROWS = 1 << 17


class ParquetSink(FileSink):
    """Gathers batches into row groups, because a window query gives many small ones."""

    def __init__(self, target: Path, schema: pa.Schema) -> None:
        super().__init__(target, schema)
        self.writer = pq.ParquetWriter(self.file, schema)
        self.held: list[pa.RecordBatch] = []
        self.held_rows = 0

    def put(self, batch: pa.RecordBatch) -> None:
        self.held.append(batch)
        self.held_rows += batch.num_rows
        if self.held_rows >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self.held_rows:
            table = pa.Table.from_batches(self.held, schema=self.schema)
            self.writer.write_table(table.unify_dictionaries(), row_group_size=_GROUP_ROWS)
        self.held, self.held_rows = [], 0

    def finish(self) -> None:
        self._flush()
        self.writer.close()

    def abort(self) -> None:
        if self.is_open:
            with suppress(OSError):  # the writer must end before its file does; what it writes is thrown away
                self.writer.close()
        super().abort()
