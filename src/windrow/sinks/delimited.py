"""One CSV file: a header, quotes only where they are needed, null as an empty cell.

Lists and structs are JSON text in their cell. A quoted empty cell is the empty text, so that reading the file
again tells it from null.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute

from windrow.sinks.files import FileSink
from windrow.sinks.text import encode, iso, plain

pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take


class DelimitedSink(FileSink):
    """Builds the text of a whole batch at once."""

    grows = True

    def __init__(self, target: Path, schema: pa.Schema, delimiter: str = ",") -> None:
        super().__init__(target, schema)
        self.delimiter = delimiter
        header: list[Any] = quoted(pa.array(schema.names, pa.string()), delimiter).to_pylist()
        self.file.write((delimiter.join(header) + "\n").encode())

    def put(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        texts = [cells(column, self.delimiter) for column in batch.columns]
        lines = pc.binary_join_element_wise(*texts, self.delimiter)
        self.file.write("\n".join([*lines.to_pylist(), ""]).encode())


def cells(array: pa.Array[Any], delimiter: str) -> pa.Array[Any]:
    """The text of every cell of a column, quoted where it must be."""
    if isinstance(array, pa.DictionaryArray):
        values = cells(array.dictionary, delimiter).take(array.indices)
        return cast("pa.Array[Any]", pc.fill_null(values, ""))
    return cast("pa.Array[Any]", pc.fill_null(_text(array, delimiter), ""))


def _text(array: pa.Array[Any], delimiter: str) -> pa.Array[Any]:
    if isinstance(array.type, pa.TimestampType):
        return iso(array)
    if pa.types.is_nested(array.type):
        texts = [None if value is None else encode(value) for value in plain(array).to_pylist()]
        return quoted(pa.array(texts, pa.string()), delimiter)
    text = array.cast(pa.string())
    return text if pa.types.is_primitive(array.type) else quoted(text, delimiter)


def quoted(text: pa.Array[Any], delimiter: str) -> pa.Array[Any]:
    """Text in quotes where it is empty or holds a quote, the delimiter or a line end; null stays null."""
    needs = pc.match_substring_regex(text, f'^$|["\r\n{delimiter}]')
    inner = pc.replace_substring(text, '"', '""')
    return cast("pa.Array[Any]", pc.if_else(needs, pc.binary_join_element_wise('"', inner, '"', ""), text))
