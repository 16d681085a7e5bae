"""Files that grow and folders that fill: what is there, and then what is added, as it comes.

Lines are read as they are written, of the oldest file first; a file of Parquet is read when it is whole. A position
has for each file how much of it was read, and its number in the file system, so that a log that was renamed and begun
anew (rotated) is read to its end, and the new one from its start.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from logging import getLogger
from pathlib import Path
from stat import S_ISREG
from time import monotonic, sleep
from typing import Any, TypeAlias

import pyarrow as pa

from windrow.errors import ConfigurationError, SourceError, reason_of
from windrow.sources.addresses import known_options, options_of, own_path
from windrow.sources.base import BATCH_ROWS, Delivery, Position, Reader, Source
from windrow.sources.conform import encoded_schema, plain_schema
from windrow.sources.files.paths import FileKind, kind_of
from windrow.sources.live.endless import EndlessSource
from windrow.sources.live.growing import FileState, GrowingFile, WholeFile
from windrow.sources.live.reader import LiveReader
from windrow.sources.messages import message_format
from windrow.sources.rejects import Reject

LOOK_SECONDS = 0.01
"""After which files that had nothing new are looked at again."""
LIST_SECONDS = 0.02, 1.0
"""After which a folder is listed again, at least and at most: the longer that takes, the later."""
FILE_COLUMN = "_file"
"""The column, where it is declared, that has the name of the file of each row."""
Look: TypeAlias = tuple[int, int]
"""How large a file is, and when it was written."""
_FORMATS = {FileKind.JSON: "json", FileKind.CSV: "csv", FileKind.TSV: "tsv", FileKind.PARQUET: "parquet"}
log = getLogger("windrow")


@dataclass(frozen=True)
class FollowSource(EndlessSource):
    """The files that a path, a folder or a pattern means, now and later."""

    path: str
    format: str
    columns: pa.Schema
    """All columns, read or not, in the order of a line."""
    ends: bool = False
    """Whether it ends with what is there when it is opened."""

    @property
    def delivery(self) -> Delivery:
        return Delivery.EXACTLY_ONCE

    @property
    def is_read_up(self) -> bool:
        return True

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.path,)

    def until_now(self) -> Source:
        return replace(self, ends=True)

    def describe(self) -> str:
        return f"{self.path} as it grows"

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        return FollowReader(self, position, batch_rows)

    def found(self) -> list[tuple[str, int, Look]]:
        """The files that are there, oldest first, with their numbers and how they look."""
        path = own_path(self.path)
        try:
            there = [(stat.st_mtime_ns, name, stat.st_ino, stat.st_size) for name, stat in _stats(path)]
        except OSError as error:
            raise unreadable(self, str(path), error) from error
        return [(name, number, (size, written)) for written, name, number, size in sorted(there)]


def _stats(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    """What the system says of the files; of a folder in one go, because that is asked again and again."""
    if path.is_dir():
        with os.scandir(path) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # gone between two looks
                    if entry.name[0] not in "._" and S_ISREG((stat := entry.stat()).st_mode):
                        yield entry.path, stat
        return
    for one in _meant(path):
        with suppress(FileNotFoundError):
            yield str(one), one.stat()


def _meant(path: Path) -> Iterable[Path]:
    if path.is_dir():
        found: Iterable[Path] = path.iterdir()
    elif any(sign in str(path) for sign in "*?["):
        found = Path(path.anchor).glob(str(path.relative_to(path.anchor)))
    else:
        return [path] if path.is_file() else []
    return [one for one in found if one.name[0] not in "._" and one.is_file()]


class FollowReader(LiveReader):
    """Looks at its files again and again; where nothing is new the system is asked for their sizes, and no more."""

    def __init__(self, source: FollowSource, position: Position | None, batch_rows: int) -> None:
        super().__init__(source.name, position, batch_rows)
        self.source = source
        names = [name for name in source.schema.names if name != FILE_COLUMN]
        self.own = pa.schema([source.schema.field(name) for name in names])
        lines = pa.schema([field for field in source.columns if field.name != FILE_COLUMN])
        self.lines = None if source.format == "parquet" else message_format(source.format, lines, "format", self.name)
        self.open_files: dict[int, GrowingFile | WholeFile] = {}
        before = (FileState.of(state) for state in self.place or ())
        self.known = {state.number: state for state in before}
        """Those that are not open, by their numbers."""
        self.looks: dict[int, Look] = {}
        """How files looked that are known: one that looks the same is left alone."""
        self._list_due = 0.0
        self._find_renamed()
        self._list()
        if not self.open_files and not source.ends:
            log.info("waits for a file", extra={"source": source.name, "path": source.path})

    def here(self) -> Any:
        states = {**self.known, **{number: file.state for number, file in self.open_files.items()}}
        return [state.listed() for state in states.values()]

    def fill(self, timeout: float | None) -> tuple[Iterable[pa.RecordBatch], Sequence[Reject]]:
        until = None if timeout is None else monotonic() + timeout
        while True:
            if monotonic() >= self._list_due:
                self._list()
            batches, rejects = self._news()
            if batches or rejects:
                return batches, rejects
            if self.source.ends and self._is_read():
                batches, rejects = self._news(last=True)
                self.has_ended = not (batches or rejects)
                return batches, rejects
            left = LOOK_SECONDS if until is None else min(LOOK_SECONDS, until - monotonic())
            if left <= 0:
                return (), ()
            sleep(left)

    def _news(self, *, last: bool = False) -> tuple[list[pa.RecordBatch], list[Reject]]:
        """What one file has: of the oldest one first, so that what was written first is read first."""
        first = [self.open_files[self.of]] if self.given and self.of in self.open_files else []
        for file in first or list(self.open_files.values()):
            try:
                took = file.finish() if last else file.more()
                if took is None and file.is_done:
                    self._let_go(file)
            except OSError as error:
                raise unreadable(self.source, str(file.path), error) from error
            if took is not None and (took[0].num_rows or took[1]):
                self.of = file.number
                return [self._named(took[0], file.path)], took[1]
        return [], []

    def _is_read(self) -> bool:
        """Whether all that was there is read; a file that is not whole will never be."""
        for file in self.open_files.values():
            if isinstance(file, WholeFile):
                raise SourceError(
                    "must be a readable Parquet file",
                    parameter=self.name,
                    value=str(file.path),
                    hint="wait until it is written, and write files under a name that begins with . until they are",
                )
        return True

    def _let_go(self, file: GrowingFile | WholeFile) -> None:
        self.known[file.number] = file.state
        file.close()
        del self.open_files[file.number]

    def _named(self, batch: pa.RecordBatch, path: Path) -> pa.RecordBatch:
        """With the file's name as a column, where it is asked for."""
        schema = self.source.schema
        if FILE_COLUMN not in schema.names:
            return batch
        names = pa.array([path.name], pa.string()).dictionary_encode()
        column = pa.DictionaryArray.from_arrays(pa.array([0] * batch.num_rows, pa.int32()), names.dictionary)
        columns = {**dict(zip(batch.schema.names, batch.columns, strict=True)), FILE_COLUMN: column}
        arrays = [columns[name].cast(schema.field(name).type) for name in schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _list(self) -> None:
        """Take up files that are new or have grown, and forget those that are gone."""
        began = monotonic()
        found = self.source.found()
        numbers = {number for _, number, _ in found}
        for name, number, look in found:
            is_same = number in self.known and self.looks.get(number) == look
            if number not in self.open_files and not is_same:
                self._look_at(Path(name), number, look[0])
                self.looks[number] = look
        self.looks = {number: look for number, look in self.looks.items() if number in numbers}
        self.known = {
            number: state for number, state in self.known.items() if number in numbers or Path(state.name).exists()
        }
        least, most = LIST_SECONDS
        self._list_due = monotonic() + min(most, max(least, 10 * (monotonic() - began)))

    def _look_at(self, path: Path, number: int, size: int) -> None:
        known = self.known.get(number)
        if known is None:  # perhaps a copy of a folder that was read: other numbers, the same files
            copied = (one for one in self.known.values() if one.name == str(path) and one.read)
            known = next((one for one in copied if one.is_begin_of(path) and not self._is_there(one)), None)
        elif not known.is_begin_of(path):
            known = None
        if known is not None and (known.lines if self.lines is None else size == known.read):
            if known.number != number:
                del self.known[known.number]
                self.known[number] = replace(known, number=number)
            return
        self._open(path, known)
        for old in (known.number if known else number, number):
            self.known.pop(old, None)

    def _is_there(self, state: FileState) -> bool:
        try:
            return Path(state.name).stat().st_ino == state.number
        except FileNotFoundError:
            return False

    def _open(self, path: Path, state: FileState | None) -> None:
        file: GrowingFile | WholeFile
        try:
            if self.lines is None:
                file = WholeFile(path, self.own, self.name, state, self.batch_rows)
            else:
                file = GrowingFile(path, self.lines, self.own, state)
        except FileNotFoundError:
            return
        except OSError as error:
            raise unreadable(self.source, str(path), error) from error
        self.open_files[file.number] = file

    def _find_renamed(self) -> None:
        """What was being read when the run broke off, and was renamed before or since, is read to its end."""
        found = {name for name, _, _ in self.source.found()}
        for number, state in list(self.known.items()):
            for other in Path(state.name).parent.glob("*") if self.lines is not None else ():
                if str(other) not in found and other.is_file() and other.stat().st_ino == number:
                    self._open(other, state)
                    self.known.pop(number, None)

    def close(self) -> None:
        for file in self.open_files.values():
            file.close()


def unreadable(source: FollowSource, path: str, error: OSError) -> SourceError:
    """The error for a file that cannot be read."""
    return SourceError(
        f"must be files that can be read ({reason_of(error)})",
        parameter=source.name,
        value=path,
        hint="check the path, and who may read it",
    )


def open_follow(address: str, *, name: str, schema: pa.Schema | None) -> Source:
    """The source at `follow:path?format=json`; without a format, the endings of the files say it."""
    plain, options = options_of(address)
    known_options(address, options, ("format",), name)
    path = str(own_path(plain.partition(":")[2]))
    if not path or path == ".":
        raise ConfigurationError(
            "must name a file or a folder", parameter=name, value=address, hint="write follow:logs/*.jsonl"
        )
    format = options.get("format") or _format_of(path, name)
    columns = _columns(path, name) if schema is None else schema
    columns = encoded_schema(plain_schema(columns))
    if format != "parquet":
        message_format(format, columns, "format", name)
    return FollowSource(name, columns, path, format, columns)


def _format_of(path: str, name: str) -> str:
    kinds = {kind_of(one) for one in (Path(path), *_meant(Path(path)))} - {None}
    packed = any(one.name.endswith(".gz") for one in _meant(Path(path)))
    if len(kinds) != 1 or packed:
        raise ConfigurationError(
            "must be followed with a format, which the names of the files do not tell",
            parameter=name,
            value=path,
            hint="say FORMAT JSON, CSV, TSV, RAW or PARQUET; packed files (.gz) cannot be followed",
        )
    return next(_FORMATS[kind] for kind in kinds if kind is not None)


def _columns(path: str, name: str) -> pa.Schema:
    """Those of the files that are there already."""
    from windrow.sources.files.file_source import open_files

    if not _meant(Path(path)):
        raise ConfigurationError(
            "must have declared columns, because no file is there yet that would tell them",
            parameter=name,
            value=path,
            hint=f"CREATE STREAM {name} (time TIMESTAMP, ...) in SQL, schema=pa.schema(...) in Python",
        )
    return open_files(path, name=name, schema=None, dictionary=True).schema
