"""Files of one kind, one after another, as one stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

from windrow.errors import SourceError
from windrow.sources.base import BATCH_ROWS, Position, Reader, Source, refuse_repeated, require
from windrow.sources.conform import encoded_schema, plain_schema
from windrow.sources.files.paths import FileKind, find_files
from windrow.sources.files.reader import FileReader, Format, unreadable


@dataclass(frozen=True)
class FileSource(Source):
    """The rows of files in the order given; read batch by batch, whatever their size."""

    label: str
    kind: FileKind
    files: tuple[Path, ...]
    format: Format

    @cached_property
    def total_rows(self) -> int | None:
        return sum(map(sum, map(self.format.stretches, self.files))) if self.can_seek else None

    @property
    def reads(self) -> tuple[str, ...]:
        """Where the rows come from, as the user wrote it."""
        return (self.label,)

    def describe(self) -> str:
        count = f"{len(self.files)} files, " if len(self.files) > 1 else ""
        return f"{self.label} ({count}{self.kind.value})"

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        return FileReader(self, position, batch_rows)

    @property
    def can_seek(self) -> bool:
        return self.format.can_seek

    def seams(self) -> list[int]:
        """The rows at which reading can begin without reading what lies before; asked only where it can seek."""
        return list(accumulate(rows for path in self.files for rows in self.format.stretches(path)))


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
    return FileSource(name, encoded_schema(given) if dictionary else given, str(text), kind, files, reader)


def _found(files: Sequence[Path], reader: Format, kind: FileKind, name: str) -> pa.Schema | None:
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


def format_of(kind: FileKind, *, declared: bool = False) -> Format:
    """The reader for a kind of file; imported here so that only what is used is loaded."""
    if kind is FileKind.PARQUET:
        from windrow.sources.files.parquet import Parquet

        return Parquet()
    if kind is FileKind.JSON:
        from windrow.sources.files.json_lines import JsonLines

        return JsonLines(declared)
    from windrow.sources.files.delimited import Delimited

    return Delimited("\t" if kind is FileKind.TSV else ",")
