"""Results in a folder, as files of which each is whole when it has its name: a new one after so many rows, or so long.

Every checkpoint ends a file. Files that were written behind the checkpoint that a run goes on from are removed, so that
each result is there once.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from time import monotonic

import pyarrow as pa

from windrow.durable.sealed_files import make_durable
from windrow.errors import ConfigurationError, reason_of
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.sinks.base import Saved, Sink, fitted, unwritable
from windrow.sinks.files import FileSink, ParquetSink
from windrow.sinks.lines import StandardOutputSink
from windrow.sinks.text import DelimitedSink, JsonLinesSink
from windrow.sources.addresses import known_options, options_of, own_path, parts_of
from windrow.sources.base import Delivery

ROWS, SECONDS = 1_000_000, "60 s"
"""After which a file ends, unless the address says otherwise."""
_PART = re.compile(r"part-(\d{8})\.\w+")
_FILES: dict[str, tuple[type[FileSink], str]] = {
    "parquet": (ParquetSink, "parquet"),
    "json": (JsonLinesSink, "jsonl"),
    "csv": (DelimitedSink, "csv"),
}


class RollingSink(Sink):
    """Parts of an answer, numbered, in one folder."""

    delivery = Delivery.EXACTLY_ONCE
    only_appends = True

    def __init__(self, folder: Path, format: str, schema: pa.Schema, *, rows: int, seconds: float) -> None:
        self.folder, self.schema = folder, schema
        self.rows, self.seconds = rows, seconds
        self.kind, self.ending = _FILES[format]
        self.part: FileSink | None = None
        self.part_rows, self.begun = 0, 0.0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.next = max((number for number, _ in self._parts()), default=-1) + 1
            (folder / ".writable").touch()
            (folder / ".writable").unlink()
        except OSError as error:
            raise unwritable(folder, reason_of(error)) from error

    def _parts(self) -> list[tuple[int, Path]]:
        found = ((_PART.fullmatch(path.name), path) for path in self.folder.iterdir())
        return sorted((int(match[1]), path) for match, path in found if match)

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        if self.part is None:
            name = f"part-{self.next:08}.{self.ending}"
            self.part, self.part_rows, self.begun = self.kind(self.folder / name, self.schema), 0, monotonic()
            self.next += 1
        self.part.write(fitted(batch, self.schema))
        self.part_rows += batch.num_rows
        if self.part_rows >= self.rows or monotonic() - self.begun >= self.seconds:
            self._end_part()

    def _end_part(self) -> None:
        part, self.part = self.part, None
        if part is not None:
            part.close()
            self._make_durable(part.target)

    def _make_durable(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                os.fsync(file.fileno())
            make_durable(self.folder)
        except OSError as error:
            raise unwritable(path, reason_of(error)) from error

    def save(self, number: int) -> Saved:
        self._end_part()
        return Saved({"next": self.next})

    def go_on(self, number: int, saved: Saved) -> None:
        self.next = saved.place["next"]
        try:
            for part, path in self._parts():
                if part >= self.next:
                    path.unlink()
        except OSError as error:
            raise unwritable(self.folder, reason_of(error)) from error

    def close(self) -> None:
        self._end_part()

    def abort(self) -> None:
        """Files that have their names stay, and what the last one has: it was given."""
        self._end_part()

    def left(self) -> str | None:
        return f"{self.folder} holds what was given up to there."


def open_rolling(address: str, schema: pa.Schema) -> Sink:
    """The sink at `parquet:folder?rows=1000000&every=60 s`, or at `json:-` and `csv:-`, which is standard output."""
    plain, options = options_of(address)
    format, folder = parts_of(plain) or ("", "")
    if folder == "-" and format != "parquet":
        known_options(address, options, (), "output")
        return StandardOutputSink(schema, format)
    known_options(address, options, ("rows", "every"), "output")
    if not folder.strip("/ ") or folder == "-":
        raise ConfigurationError(
            "must name a folder", parameter="output", value=address, hint=f"write {format}:answers"
        )
    rows = options.get("rows", str(ROWS))
    if not rows.isdecimal() or int(rows) < 1:
        raise ConfigurationError("must be a whole number of at least 1", parameter="rows", value=rows)
    every = Amount.of(options.get("every", SECONDS), "every")
    if not every.is_time or every.number <= 0:
        raise ConfigurationError("must be a length of time", parameter="every", value=str(every))
    seconds = every.resolve(Domain.TIME, "every") / 1e6
    return RollingSink(own_path(folder), format, schema, rows=int(rows), seconds=seconds)
