"""Files of one kind, one after another, as one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from windrow.errors import SourceError
from windrow.sources.base import BATCH_ROWS, Element, Source, cut, narrow, refuse_repeated, require, resume
from windrow.sources.conform import conform, encoded_schema, plain_schema
from windrow.sources.files.paths import Kind, find_files


class Format(Protocol):
    """How files of one kind are read. Errors are `SourceError`, or Arrow's own for what is not foreseen."""

    def schema(self, path: Path) -> pa.Schema | None:
        """The columns found in a file, all of type null where it has names but no rows; None when it tells nothing."""

    def rows(self, path: Path) -> int | None:
        """How many rows a file has, where it says so itself."""

    def batches(
        self, path: Path, found: pa.Schema, wanted: pa.Schema, batch_rows: int, skip_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The wanted columns, at least; types may still differ. Only formats that know `rows` are asked to skip."""


@dataclass(frozen=True)
class FileSource:
    """The rows of files in the order given; read batch by batch, whatever their size."""

    name: str
    label: str
    kind: Kind
    files: tuple[Path, ...]
    format: Format
    schema: pa.Schema

    @cached_property
    def total_rows(self) -> int | None:
        counts = [self.format.rows(path) for path in self.files]
        return None if None in counts else sum(count for count in counts if count)

    @property
    def reads(self) -> tuple[str, ...]:
        """Where the rows come from, as the user wrote it."""
        return (self.label,)

    def describe(self) -> str:
        count = f"{len(self.files)} files, " if len(self.files) > 1 else ""
        return f"{self.label} ({count}{self.kind.value})"

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def elements(self, batch_rows: int = BATCH_ROWS, skip_rows: int = 0) -> Iterator[Element]:
        first, ahead, used = self._seek(skip_rows)
        return resume(self._read(self.files[first:], batch_rows, ahead, used), skip_rows - used)

    def _seek(self, skip_rows: int) -> tuple[int, int, int]:
        """The file to begin with, the rows to skip inside it and the rows skipped in all, from row counts alone."""
        used = 0
        for index, path in enumerate(self.files):
            rows = self.format.rows(path)
            if rows is None:
                return index, 0, used
            if used + rows > skip_rows:
                return index, skip_rows - used, skip_rows
            used += rows
        return len(self.files), 0, skip_rows

    def _read(self, files: Sequence[Path], batch_rows: int, ahead: int, used: int) -> Iterator[pa.RecordBatch]:
        for path in files:
            try:
                for batch in self._file(path, batch_rows, ahead):
                    used += batch.num_rows
                    yield batch
            except SourceError as error:
                error.parameter = error.parameter or self.name
                error.used = used
                raise
            except (pa.ArrowException, OSError) as error:
                raise unreadable(path, self.kind, self.name, error, used) from error
            ahead = 0

    def _file(self, path: Path, batch_rows: int, ahead: int) -> Iterator[pa.RecordBatch]:
        found = self.format.schema(path)
        if found is None:
            return
        require(found, self.schema.names, self.name, str(path))
        for batch in self.format.batches(path, found, self.schema, batch_rows, ahead):
            for piece in cut(batch, batch_rows):
                yield conform(piece, self.schema, str(path), self.name)


def unreadable(path: Path, kind: Kind, name: str, error: Exception, used: int = 0) -> SourceError:
    """The error for a file that breaks in a way its format does not explain."""
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
    return SourceError(
        f"must be a readable {kind.value} file ({reason})",
        parameter=name,
        value=str(path),
        hint="check that the file is complete and that its ending says what it holds",
        used=used,
    )


def open_files(text: str | Path, *, name: str, schema: pa.Schema | None, dictionary: bool) -> FileSource:
    """The source for a path, folder or pattern, with the declared columns or else those of the first file."""
    files, kind = find_files(text, name)
    reader = format_of(kind, declared=schema is not None)
    found = _found(files, reader, kind, name)
    if found is None and schema is None:
        raise SourceError(
            "must hold rows, or be given a schema, because an empty file does not tell its columns",
            parameter=name,
            value=str(text),
            hint="declare the columns with `schema`",
        )
    if found is not None and schema is None and not _tells_types(found):
        columns = ", ".join(f"{column} TYPE" for column in found.names)
        raise SourceError(
            "must hold rows, or be given a schema, because a header alone does not tell the types of its columns",
            parameter=name,
            value=str(text),
            hint=f"declare them: CREATE STREAM {name} ({columns}) in SQL, schema=pa.schema(...) in Python",
        )
    refuse_repeated(found or schema or pa.schema([]), name)
    if schema is not None and found is not None:
        require(found, schema.names, name, str(files[0]))
    given = plain_schema(schema if schema is not None else found or pa.schema([]))
    return FileSource(name, str(text), kind, files, reader, encoded_schema(given) if dictionary else given)


def _found(files: Sequence[Path], reader: Format, kind: Kind, name: str) -> pa.Schema | None:
    """The columns of the first file that tells them with their types, else of the first that names them."""
    named: pa.Schema | None = None
    for path in files:
        try:
            found = reader.schema(path)
        except SourceError as error:
            error.parameter = error.parameter or name
            raise
        except (pa.ArrowException, OSError) as error:
            raise unreadable(path, kind, name, error) from error
        if found is not None and _tells_types(found):
            return found
        named = named or found
    return named


def _tells_types(schema: pa.Schema) -> bool:
    return not all(pa.types.is_null(field.type) for field in schema)


def format_of(kind: Kind, *, declared: bool = False) -> Format:
    """The reader for a kind of file; imported here so that only what is used is loaded."""
    if kind is Kind.PARQUET:
        from windrow.sources.files.parquet import Parquet

        return Parquet()
    if kind is Kind.JSON:
        from windrow.sources.files.json_lines import JsonLines

        return JsonLines(declared)
    from windrow.sources.files.delimited import Delimited

    return Delimited("\t" if kind is Kind.TSV else ",")
