"""Files of one kind, one after another, as one stream, read from any position.

A position names the file and the row in it, and how that file and those before it look from outside: how large they are
and when they were written. Files that changed are refused, because rows would be passed over that were not read.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from windrow.errors import SourceError, reason_of
from windrow.plan.types.kinds import NUMBERS, family_of
from windrow.sources.base import (
    BATCH_ROWS,
    ElementReader,
    Position,
    Reader,
    Source,
    behind,
    counts_of,
    cut,
    position_of,
    refuse_repeated,
    require,
    shrunk,
)
from windrow.sources.conform import conform, encoded_schema, plain_schema
from windrow.sources.files.paths import FileKind, find_files

Look: TypeAlias = tuple[int, int]
"""How large a file is, and when it was written."""


class Format(ABC):
    """How files of one kind are read. Errors are `SourceError`, or Arrow's own for what is not foreseen."""

    has_types = False
    """Whether a file says of which types its columns are; else that is guessed from some of its rows."""
    can_seek = False
    """Whether rows can be passed over without looking at them."""

    @abstractmethod
    def schema(self, path: Path) -> pa.Schema | None:
        """The columns found in a file, all of type null where it has names but no rows; None when it has no names."""

    def stretches(self, path: Path) -> Sequence[int]:
        """How many rows lie between places where reading can begin; asked only where it can seek."""
        raise NotImplementedError

    @abstractmethod
    def batches(
        self, path: Path, found: pa.Schema, wanted: pa.Schema, batch_rows: int, skip_rows: int
    ) -> Iterator[pa.RecordBatch]:
        """The wanted columns, at least, of the rows after the first `skip_rows`; types may still differ."""


@dataclass(frozen=True)
class FileSource(Source):
    """The rows of files in the order given; read batch by batch, whatever their size."""

    label: str
    kind: FileKind
    files: tuple[Path, ...]
    format: Format
    first: pa.Schema | None = None
    """All columns of the first file; None where columns are declared, and what else a file has is passed over."""

    @cached_property
    def total_rows(self) -> int | None:
        return sum(map(sum, map(self.format.stretches, self.files))) if self.can_seek else None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.label,)  # as the user wrote it

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
    if schema is None and (found is None or not has_types(found)):
        raise _untyped(found, str(text), name)
    refuse_repeated(found or schema or pa.schema([]), name)
    if schema is not None and found is not None:
        require(found, schema.names, name, str(files[0]))
    wanted = plain_schema(schema if schema is not None else found or pa.schema([]))
    first = found if schema is None else None
    return FileSource(name, encoded_schema(wanted) if dictionary else wanted, str(text), kind, files, reader, first)


def _untyped(found: pa.Schema | None, text: str, name: str) -> SourceError:
    reason, hint = "an empty file does not tell its columns", "declare the columns with `schema`"
    if found is not None:
        columns = ", ".join(f"{column} TYPE" for column in found.names)
        reason = "a header alone does not tell the types of its columns"
        hint = f"declare them: CREATE STREAM {name} ({columns}) in SQL, schema=pa.schema(...) in Python"
    return SourceError(f"must hold rows, or be given a schema, because {reason}", parameter=name, value=text, hint=hint)


def _found(files: Sequence[Path], reader: Format, kind: FileKind, name: str) -> pa.Schema | None:
    """The columns of the first file that has them with their types, else of the first that names them."""
    named: pa.Schema | None = None
    for path in files:
        with _explained(path, kind, name):
            found = reader.schema(path)
        if found is not None and has_types(found):
            return found
        named = named or found
    return named


def has_types(schema: pa.Schema) -> bool:
    """Whether more than the names of columns are known."""
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


class FileReader(ElementReader):
    """The rows of files in the order given."""

    def __init__(self, source: FileSource, position: Position | None, batch_rows: int) -> None:
        self.source = source
        self.batch_rows = batch_rows
        self.number, self.row, ahead = _place_of(source, position)
        """The file at hand, and how many of its rows are done."""
        self.look: Look | None = None
        self.before = _digest(())
        """How the files before it look, as they were when they were read."""
        self.start = position or {"rows": 0}
        self.batches = self._read()
        super().__init__(behind(self.batches, position_of(ahead), source), position)

    @property
    def position(self) -> Position:
        if self.look is None:
            return self.start
        size, modified = self.look
        file = {"file": self.source.files[self.number].name, "number": self.number, "row": self.row}
        return {"rows": self.rows, **file, "size": size, "modified": modified, "before": _short(self.before)}

    def close(self) -> None:
        self.batches.close()

    def _read(self) -> Generator[pa.RecordBatch, None, None]:
        files = self.source.files
        self.before = _digest(files[: self.number])
        for number in range(self.number, len(files)):
            path = files[number]
            with _explained(path, self.source.kind, self.source.name, lambda: self.rows):
                look = look_of(path)
                if self.look is not None:
                    _note(self.before, files[self.number], self.look)
                    self.number, self.row = number, 0
                self.look = look
                yield from self._file(path)

    def _file(self, path: Path) -> Iterator[pa.RecordBatch]:
        found = self.source.format.schema(path)
        if found is None:
            return
        wanted, name = self.source.schema, self.source.name
        require(found, wanted.names, name, str(path))
        if self.source.first is not None:
            _refuse_unlike(self.source.first, found, self.source, path)
        for batch in self.source.format.batches(path, found, wanted, self.batch_rows, self.row):
            for piece in cut(batch, self.batch_rows):
                fitted = conform(piece, wanted, str(path), name)
                self.row += fitted.num_rows
                yield fitted


def _refuse_unlike(first: pa.Schema, found: pa.Schema, source: FileSource, path: Path) -> None:
    """A later file has no other columns than the first, nor others under their names: they would be lost unseen."""
    known = {field.name: field.type for field in first}
    for field in found:
        if field.name not in known:
            what, is_like = f"{field.name!r}", False
        else:
            kinds = family_of(known[field.name]), family_of(field.type)
            what = f"{field.name!r} as {kinds[1].value}, not {kinds[0].value},"
            is_like = not source.format.has_types or kinds[0] is kinds[1] or NUMBERS.issuperset(kinds)
        if not is_like:
            raise SourceError(
                "must have the columns of its first file in all others, because they are not declared",
                parameter=source.name,
                value=f"{what} in {path}",
                hint="declare the columns with `schema`, or in CREATE STREAM; others are then passed over",
            )


def look_of(path: Path) -> Look:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _place_of(source: FileSource, position: Position | None) -> tuple[int, int, int]:
    """The file to begin with, the rows of it that are done, and how many more to pass over by reading them."""
    if position is None:
        return 0, 0, 0
    if "file" in position:
        refuse_changed(source, position)
        return position["number"], position["row"], 0
    rest, _ = counts_of(position)
    if not source.can_seek:
        return 0, 0, rest
    for number, path in enumerate(source.files):
        rows = sum(source.format.stretches(path))
        if rest < rows:
            return number, rest, 0
        rest -= rows
    if rest:
        raise shrunk(source, counts_of(position)[0])
    return len(source.files), 0, 0


def last_place(source: FileSource) -> Position:
    """A position in the last file, which says of this and all others how they look."""
    *others, path = source.files
    with _explained(path, source.kind, source.name):
        size, modified = look_of(path)
        before = _digest(others)
    place = {"file": path.name, "number": len(others), "size": size, "modified": modified}
    return {**place, "before": _short(before)}


def refuse_changed(source: FileSource, position: Position) -> None:
    """All files up to that of the position are as they were."""
    number, name = position["number"], position["file"]
    path = source.files[number] if number < len(source.files) else None
    if path is None or path.name != name:
        is_there = any(path.name == name for path in source.files)
        raise _changed(source, name, "there are others before it than there were" if is_there else "it is not there")
    try:
        size, modified = look_of(path)
        before = _digest(source.files[:number])
    except OSError as error:
        raise _changed(source, error.filename or name, reason_of(error)) from error
    if size != position["size"]:
        raise _changed(source, str(path), f"{size} bytes, were {position['size']}")
    if modified != position["modified"]:
        raise _changed(source, str(path), "written again since")
    if _short(before) != position["before"]:
        raise _changed(source, str(path), "files before it were written again since")


def _changed(source: FileSource, file: str, what: str) -> SourceError:
    return SourceError(
        "must still be the data that was read before the checkpoint",
        parameter=source.name,
        value=f"{file} ({what})",
        hint="bring the files back as they were, with their times, or run the query from the start in an empty folder",
    )


def _digest(files: Sequence[Path]) -> hashlib._Hash:
    digest = hashlib.sha256()
    for path in files:
        _note(digest, path, look_of(path))
    return digest


def _note(digest: hashlib._Hash, path: Path, look: Look) -> None:
    digest.update(f"{path.name} {look[0]} {look[1]}\n".encode())


def _short(digest: hashlib._Hash) -> str:
    return digest.hexdigest()[:16]


@contextmanager
def _explained(path: Path, kind: FileKind, name: str, used: Callable[[], int] = lambda: 0) -> Iterator[None]:
    """Errors name the stream, and the file where its format does not explain them; and how many rows were used."""
    try:
        yield
    except SourceError as error:
        error.parameter, error.used = error.parameter or name, used()
        raise
    except (pa.ArrowException, OSError) as error:
        reason = str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
        raise SourceError(
            f"must be a readable {kind.value} file ({reason})",
            parameter=name,
            value=str(path),
            hint="check that the file is complete and that its ending says what it holds",
            used=used(),
        ) from error
