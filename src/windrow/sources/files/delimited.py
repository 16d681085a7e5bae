"""CSV and TSV files, plain or gzipped, block by block.

An unquoted empty cell is null, a quoted one is the empty text; no word means null, so that a symbol `NA` stays one.
Types are taken from the first block unless they are declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv

from windrow.errors import SourceError
from windrow.sources.base import dropped
from windrow.sources.files.file_source import Format, has_types

_BLOCK = 1 << 22
_MISFIT = re.compile(r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (.+?): invalid value '(.*)'", re.S)


@dataclass(frozen=True)
class Delimited(Format):
    """Reads only the wanted columns, with the declared types."""

    delimiter: str = ","

    def schema(self, path: Path) -> pa.Schema | None:
        if path.stat().st_size == 0:
            return None
        with self._open(path, {}, None) as reader:
            empty = not has_types(reader.schema) and not any(batch.num_rows for batch in reader)
            kinds = [field.type if empty else _roomy(field.type) for field in reader.schema]
            return pa.schema(list(zip(reader.schema.names, kinds, strict=True)))

    def batches(
        self, path: Path, found: pa.Schema, wanted: pa.Schema, batch_rows: int, skip_rows: int
    ) -> Iterator[pa.RecordBatch]:
        types = {field.name: _read_as(found.field(field.name).type, field.type) for field in wanted}
        lines = 0 if skip_rows == 0 or _has_empty_lines(path) else skip_rows
        try:
            with self._open(path, types, wanted.names, lines) as reader:
                yield from dropped(reader, skip_rows - lines)
        except pa.ArrowInvalid as error:
            raise _explained(path, found, error) from error

    def _open(self, path: Path, types: dict[str, pa.DataType], columns: list[str] | None, lines: int = 0) -> Any:
        """`lines` behind the header are passed over, without looking at their cells."""
        return pv.open_csv(
            path,
            read_options=pv.ReadOptions(block_size=_BLOCK, skip_rows_after_names=lines),
            parse_options=pv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            convert_options=pv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _has_empty_lines(path: Path) -> bool:
    """Whether lines may be empty: these are no rows, but Arrow counts them where it passes over lines."""
    if path.suffix.lower() == ".gz" or path.stat().st_size == 0:
        return True
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        pairs = (b"\n\n", b"\n\r", b"\r\r") if content.find(b"\r") >= 0 else (b"\n\n",)
        return content[:1] in b"\r\n" or any(content.find(pair) >= 0 for pair in pairs)


def _roomy(kind: pa.DataType) -> pa.DataType:
    """A type that also takes what later blocks may hold: decimals of seconds, anything after only empty cells."""
    if isinstance(kind, pa.TimestampType) and kind.unit == "s":
        return pa.timestamp("us", kind.tz)
    return pa.string() if pa.types.is_null(kind) else kind


def _read_as(found: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    """Times that are not written as declared are read as text first, because Arrow takes only one spelling."""
    return pa.string() if isinstance(wanted, pa.TimestampType) and found != wanted else wanted


def _explained(path: Path, found: pa.Schema, error: pa.ArrowInvalid) -> Exception:
    match = _MISFIT.search(str(error))
    if not match:
        return error
    column = found.names[int(match.group(1))]
    return SourceError(
        f"must be {match.group(2)} in {path}",
        parameter=column,
        value=repr(match.group(3)),
        hint="declare the column with another type in `schema`, or correct the cell",
    )
