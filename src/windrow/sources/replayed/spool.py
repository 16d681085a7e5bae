"""Copy a source that lives in memory into Arrow files that other processes can read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.errors import ConfigurationError, SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Element, Position, Source, behind, counts_of, cut, elements_of, position_of
from windrow.sources.files.file_source import FileSource

Mark: TypeAlias = tuple[int, Punctuation]
"""A punctuation after the number of rows that come before it."""

_PART_ROWS = 1 << 20
_MARKS = "punctuations.arrow"
_PARTS = "rows-*.arrow"
_MARK_TYPES: dict[str, pa.DataType] = {"row": pa.int64(), "value": pa.int64(), "group": pa.binary()}


@dataclass(frozen=True)
class SpooledSource(Source):
    """The rows of Arrow files, one after another, with punctuations between them; begins at any row at once.

    `ends` has for each file the number of rows up to its end.
    """

    label: str
    folder: Path
    ends: tuple[int, ...]

    can_seek = True

    @property
    def total_rows(self) -> int | None:
        return self.ends[-1] if self.ends else 0

    def describe(self) -> str:
        return self.label

    def elements(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        rows = self.rows_before(position)
        part = bisect_left(self.ends, rows)  # the file of the row before: the punctuations behind it are found there
        row = self.ends[part - 1] if part else 0
        elements = merged(self._batches(part, batch_rows), self._marks(row), row)
        return behind(elements, position_of(rows - row, counts_of(position)[1]), self)

    def _batches(self, part: int, batch_rows: int) -> Iterator[pa.RecordBatch]:
        for number in range(part, len(self.ends)):
            for batch in self._read(_part(self.folder, number)):
                yield from cut(batch.select(self.schema.names), batch_rows)

    def _marks(self, row: int) -> Iterator[Mark]:
        """The punctuations that come after at least `row` rows."""
        for batch in self._read(self.folder / _MARKS):
            start = bisect_left(batch["row"].to_numpy(), row)
            for mark in batch.slice(start).to_pylist():
                yield mark["row"], Punctuation(mark["value"], _decoded(mark["group"]))

    def _read(self, path: Path) -> Iterator[pa.RecordBatch]:
        try:
            with pa.memory_map(str(path)) as file:
                reader = pa.ipc.open_file(file)
                for number in range(reader.num_record_batches):
                    yield reader.get_batch(number)
        except (pa.ArrowException, OSError) as error:
            raise SourceError(
                "must keep its copy on disk until the query is done",
                parameter=self.name,
                value=str(path),
                hint="do not clear the folder for temporary files while a query runs",
            ) from error


def merged(batches: Iterable[pa.RecordBatch], marks: Iterator[Mark], row: int) -> Iterator[Element]:
    """Batches, the first of which begins at `row`, cut where punctuations lie between their rows.

    >>> rows = pa.record_batch({"a": [1, 2]})
    >>> [len(e) if isinstance(e, pa.RecordBatch) else e.value for e in merged([rows], iter([(1, Punctuation(9))]), 0)]
    [1, 9, 1]
    """
    mark = next(marks, None)
    for batch in batches:
        while batch.num_rows:
            while mark and mark[0] <= row:
                yield mark[1]
                mark = next(marks, None)
            rows = min(batch.num_rows, mark[0] - row) if mark else batch.num_rows
            yield batch.slice(0, rows)
            row += rows
            batch = batch.slice(rows)
    while mark:
        yield mark[1]
        mark = next(marks, None)


def spooled(source: Source, folder: Path) -> Source:
    """The same elements, readable by other processes as long as the folder is there.

    An earlier copy in the folder is replaced, so that a restarted run may use it again; nothing else may be in it.
    Files can be read anywhere already and are not copied. Batches are put together in files of about a million rows, so
    that few are opened and dictionaries are shared.
    """
    if isinstance(source, FileSource):
        return source
    _clear(folder)
    marks: list[dict[str, Any]] = []
    held: list[pa.RecordBatch] = []
    ends, row = [0], 0

    def flush() -> None:
        table = pa.Table.from_batches(held, schema=source.schema).unify_dictionaries().combine_chunks()
        _write(table, _part(folder, len(ends) - 1))
        ends.append(row)
        held.clear()

    for element in elements_of(source):
        if isinstance(element, Punctuation):
            marks.append({"row": row, "value": element.value, "group": _encoded(element.group)})
            continue
        held.append(element)
        row += element.num_rows
        if row - ends[-1] >= _PART_ROWS:
            flush()
    if row > ends[-1]:
        flush()
    _write(pa.Table.from_pylist(marks, pa.schema(_MARK_TYPES)), folder / _MARKS)
    return SpooledSource(source.name, source.schema, source.describe(), folder, tuple(ends[1:]))


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = list(folder.iterdir())
    foreign = [path for path in found if path.name != _MARKS and not path.match(_PARTS)]
    if foreign:
        raise ConfigurationError(
            "must hold nothing but the copy of one stream",
            parameter="folder",
            value=str(foreign[0]),
            hint="give every stream a folder of its own",
        )
    for path in found:  # removed, not overwritten: who still reads the earlier copy keeps it
        path.unlink()


def _part(folder: Path, number: int) -> Path:
    return folder / _PARTS.replace("*", f"{number:06}")


def _write(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table)


def _encoded(group: tuple[Any, ...] | None) -> bytes | None:
    """A group as an Arrow stream of one row, which keeps the types of its values."""
    if group is None:
        return None
    try:
        row = pa.record_batch([pa.array([value]) for value in group], names=[str(i) for i in range(len(group))])
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            "must be values that a column can hold",
            parameter="group",
            value=repr(group),
            hint="give the group's values as text, numbers, moments or None",
        ) from error
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, row.schema) as writer:
        writer.write_batch(row)
    return out.getvalue().to_pybytes()


def _decoded(group: bytes | None) -> tuple[Any, ...] | None:
    if group is None:
        return None
    (row,) = pa.ipc.open_stream(group)
    return tuple(column[0].as_py() for column in row.columns)
