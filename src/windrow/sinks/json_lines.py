"""One file of JSON lines: an object a row, times as ISO 8601, lists and structs as such.

JSON has no NaN and no infinity: they are written as null.
"""

from __future__ import annotations

import pyarrow as pa

from windrow.sinks.files import FileSink
from windrow.sinks.text import encode, plain


class JsonLinesSink(FileSink):
    """Writes every column in every object, null where there is no value."""

    grows = True

    def put(self, batch: pa.RecordBatch) -> None:
        names = self.schema.names
        columns = [plain(column).to_pylist() for column in batch.columns]
        lines = [encode(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
        self.file.write("\n".join([*lines, ""]).encode() if lines else b"")
