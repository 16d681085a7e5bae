"""JSON lines: one object a line, plain or gzipped, block by block."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from windrow.errors import SourceError
from windrow.sources.base import dropped
from windrow.sources.files.file_source import Format

_BLOCK = 1 << 22
_INSTANT = pa.timestamp("us", "UTC")
_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([zZ]|[+-]\d{2}:?\d{2})?$"
_COLUMN = re.compile(r"JSON parse error: Column\(/([^/)]+)[^)]*\) (.*)", re.S)
_SEVERAL = re.compile(rb"\}\s*\{")
"""Where one object ends and another begins in the same line; or it is inside a text."""
_MISFIT = re.compile(r"Failed to convert JSON to (.+?), couldn't parse:\s*(.*)", re.S)


@dataclass(frozen=True)
class JsonLines(Format):
    """Reads only the wanted columns; an object without one of them has null there.

    Fields that come up only after the first block are no columns. Where all of those found are read and none is
    `declared`, they are refused, because they would be lost unseen.
    """

    declared: bool = False

    def schema(self, path: Path) -> pa.Schema | None:
        if path.stat().st_size == 0:
            return None
        try:
            with _open(path, None) as reader:
                first = reader.read_next_batch()
        except pa.ArrowInvalid as error:
            raise _explained(path, error) from error
        return pa.schema([pa.field(name, _roomy(first.column(name))) for name in first.schema.names])

    def batches(
        self, path: Path, found: pa.Schema, wanted: pa.Schema, batch_rows: int, skip_rows: int
    ) -> Iterator[pa.RecordBatch]:
        explicit = pa.schema([pa.field(field.name, _read_as(field.type)) for field in wanted])
        whole = not self.declared and set(found.names) == set(wanted.names)
        try:
            with _unpacked(path) as lines:
                is_passed = _pass_over(lines, skip_rows) if skip_rows else False
                if is_passed and not _has_more(lines):
                    return
                with _open(lines if is_passed else path, explicit, "error" if whole else "ignore") as reader:
                    yield from dropped(reader, 0 if is_passed else skip_rows)
        except pa.ArrowInvalid as error:
            unknown = _first_unknown(path, frozenset(found.names)) if "unexpected field" in str(error) else None
            raise (_explained(path, error) if unknown is None else _refused(path, *unknown)) from error


def _open(
    content: Path | IO[bytes], explicit: pa.Schema | None, unexpected: Literal["infer", "ignore", "error"] = "infer"
) -> Any:
    return pj.open_json(
        content,
        read_options=pj.ReadOptions(block_size=_BLOCK),
        parse_options=pj.ParseOptions(
            explicit_schema=explicit, newlines_in_values=False, unexpected_field_behavior=unexpected
        ),
    )


def _pass_over(lines: Any, rows: int) -> bool:
    """Pass over rows, found by their lines alone: not where a line may hold several."""
    while rows and (line := lines.readline()):
        if line.find(b"{", 1) > 0 and _SEVERAL.search(line):
            return False
        rows -= not line.isspace()
    return True


def _has_more(lines: Any) -> bool:
    while (rest := lines.peek(1)).isspace():
        lines.read(len(rest))
    return bool(rest)


def _unpacked(path: Path) -> Any:
    return (gzip.open if path.suffix.lower() == ".gz" else open)(path, "rb")


def _roomy(array: pa.Array[Any]) -> pa.DataType:
    """The type for a column from its first block: text that is all times is a time, only nulls may become text.

    Arrow drops the zone of what it takes for a time, so these columns are read as text and parsed here.
    """
    kind: pa.DataType = array.type
    if isinstance(kind, pa.TimestampType):
        return _INSTANT
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_string(kind) and array.null_count < len(array):
        return _INSTANT if pc.all(pc.match_substring_regex(array, _TIME)).as_py() else kind
    return kind


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Times come as text, with or without a zone; dictionaries are built afterwards."""
    if isinstance(kind, pa.DictionaryType):
        return cast(pa.DataType, kind.value_type)
    return pa.string() if isinstance(kind, pa.TimestampType) else kind


def _first_unknown(path: Path, known: frozenset[str]) -> tuple[int, str] | None:
    """The first line with a field that is no column: read once more for that, by Python's own reader."""
    with _unpacked(path) as lines:
        found = ((line, key) for line, text in enumerate(lines, 1) if text.strip() for key in json.loads(text))
        return next(((line, key) for line, key in found if key not in known), None)


def _refused(path: Path, line: int, key: str) -> SourceError:
    return SourceError(
        f"must have no field that its first {_BLOCK >> 20} MB have not, because its columns are not declared",
        value=f"{key!r} in line {line} of {path}",
        hint="declare the columns with `schema`, or in CREATE STREAM; other fields are then passed over",
    )


def _explained(path: Path, error: pa.ArrowInvalid) -> Exception:
    """The column where Arrow names one, else that a line is no JSON object."""
    text = str(error).strip()
    column = _COLUMN.search(text)
    if column:
        return SourceError(
            f"must have one type in every line of {path} ({column.group(2).split(' in row')[0]})",
            parameter=column.group(1),
            hint="declare the column in `schema`, or correct the lines",
        )
    misfit = _MISFIT.search(text)
    if misfit:
        return SourceError(
            f"must hold values that fit the columns' types ({misfit.group(1)} was expected in {path})",
            value=misfit.group(2),
            hint="declare the column with another type in `schema`, or correct the lines",
        )
    return SourceError(
        f"must hold one JSON object a line ({text.splitlines()[0].removeprefix('JSON parse error: ').rstrip('.')})",
        value=str(path),
        hint="write each object on a line of its own, without brackets or commas around the lines",
    )
