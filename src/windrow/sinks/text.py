"""Values as text and JSON, the forms that text files and the terminal share; and the files: CSV, TSV and JSON lines."""

from __future__ import annotations

import json
from datetime import date, datetime, time, timezone
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute

from windrow.sinks.files import FileSink

pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take
_ZEROS = r"\.0+$|(\.\d*[1-9])0+$"


def iso(array: pa.Array[Any]) -> pa.Array[Any]:
    """Times as ISO 8601 text without needless zeros; those with a zone are given in UTC and end in Z.

    >>> iso(pa.array([1_500_000, 0], pa.timestamp("us", "UTC"))).to_pylist()
    ['1970-01-01T00:00:01.5Z', '1970-01-01T00:00:00Z']
    """
    local = array.cast(pa.int64()).cast(pa.timestamp(array.type.unit))
    text = pc.replace_substring_regex(pc.replace_substring(local.cast(pa.string()), " ", "T"), _ZEROS, r"\1")
    return cast("pa.Array[Any]", pc.binary_join_element_wise(text, "Z", "") if array.type.tz else text)


def plain(array: pa.Array[Any]) -> pa.Array[Any]:
    """The values in types JSON has: no dictionaries, times as text, numbers that are not finite as null."""
    kind = array.type
    if isinstance(array, pa.DictionaryArray):
        return plain(array.dictionary_decode())
    if isinstance(kind, pa.TimestampType):
        return iso(array)
    if pa.types.is_floating(kind):
        return cast("pa.Array[Any]", pc.if_else(pc.is_finite(array), array, None))
    if isinstance(array, pa.ListArray):
        array = array.take(pa.array(range(len(array)))) if array.offset else array  # a mask needs whole offsets
        return pa.ListArray.from_arrays(array.offsets, plain(array.values), mask=array.is_null())
    if isinstance(array, pa.StructArray) and kind.num_fields:
        names = [kind.field(i).name for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays([plain(child) for child in array.flatten()], names, mask=array.is_null())
    return array


def _other(value: Any) -> Any:
    """JSON for what it has no form for, inside lists and structs as well."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z") if value.tzinfo else value.isoformat()
    if isinstance(value, (date, time)):
        return value.isoformat()
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


encode = json.JSONEncoder(ensure_ascii=False, default=_other).encode
"""One value as JSON text."""


class DelimitedSink(FileSink):
    """One CSV file: a header, quotes only where they are needed, null as an empty cell.

    Lists and structs are JSON text in their cell. A quoted empty cell is the empty text, so that reading the file again
    does not take it for null.
    """

    grows = True

    def __init__(self, target: Path, schema: pa.Schema, delimiter: str = ",") -> None:
        super().__init__(target, schema)
        self.delimiter = delimiter
        self.file.write(header_line(schema, delimiter))

    def put(self, batch: pa.RecordBatch) -> None:
        self.file.write(delimited_lines(batch, self.delimiter))


def header_line(schema: pa.Schema, delimiter: str) -> bytes:
    """The names of the columns, as the first line of a file."""
    header: list[Any] = quoted(pa.array(schema.names, pa.string()), delimiter).to_pylist()
    return (delimiter.join(header) + "\n").encode()


def delimited_lines(batch: pa.RecordBatch, delimiter: str) -> bytes:
    """A line for each row."""
    if batch.num_rows == 0:
        return b""
    texts = [cells(column, delimiter) for column in batch.columns]
    lines = pc.binary_join_element_wise(*texts, delimiter)
    return "\n".join([*lines.to_pylist(), ""]).encode()


def cells(array: pa.Array[Any], delimiter: str) -> pa.Array[Any]:
    """The text of every cell of a column, quoted where it must be."""
    if isinstance(array, pa.DictionaryArray):
        text = cells(array.dictionary, delimiter).take(array.indices)
    elif isinstance(array.type, pa.TimestampType):
        text = iso(array)
    elif pa.types.is_nested(array.type):
        texts = [None if value is None else encode(value) for value in plain(array).to_pylist()]
        text = quoted(pa.array(texts, pa.string()), delimiter)
    else:
        text = _text(array)
        text = text if pa.types.is_primitive(array.type) else quoted(text, delimiter)
    return cast("pa.Array[Any]", pc.fill_null(text, ""))


def _text(array: pa.Array[Any]) -> pa.Array[Any]:
    """Values as text; bytes that are none, and what Arrow has no text for, as in JSON."""
    try:
        return array.cast(pa.string())
    except pa.ArrowException:
        return pa.array([None if value is None else _other(value) for value in array.to_pylist()], pa.string())


def quoted(text: pa.Array[Any], delimiter: str) -> pa.Array[Any]:
    """Text in quotes where it is empty or holds a quote, the delimiter or a line end; null stays null."""
    needs = pc.match_substring_regex(text, f'^$|["\r\n{delimiter}]')
    inner = pc.replace_substring(text, '"', '""')
    return cast("pa.Array[Any]", pc.if_else(needs, pc.binary_join_element_wise('"', inner, '"', ""), text))


class JsonLinesSink(FileSink):
    """One file of JSON lines: an object a row, times as ISO 8601, lists and structs as such.

    Every object has every column, null where there is no value, and where it is NaN or infinite, which JSON has not.
    """

    grows = True

    def put(self, batch: pa.RecordBatch) -> None:
        self.file.write(json_lines(batch))


def json_lines(batch: pa.RecordBatch) -> bytes:
    """A line with an object for each row."""
    names = batch.schema.names
    columns = [plain(column).to_pylist() for column in batch.columns]
    lines = [encode(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return "\n".join([*lines, ""]).encode() if lines else b""
