"""One Parquet file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.sinks.files import FileSink

_GROUP_ROWS = 1 << 17


class ParquetSink(FileSink):
    """Gathers batches into row groups, because a window query gives many small ones."""

    def __init__(self, target: Path, schema: pa.Schema) -> None:
        super().__init__(target, schema)
        self.writer = pq.ParquetWriter(self.file, schema)
        self.held: list[pa.RecordBatch] = []
        self.held_rows = 0

    def put(self, batch: pa.RecordBatch) -> None:
        self.held.append(batch)
        self.held_rows += batch.num_rows
        if self.held_rows >= _GROUP_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self.held_rows:
            table = pa.Table.from_batches(self.held, schema=self.schema)
            self.writer.write_table(table.unify_dictionaries(), row_group_size=_GROUP_ROWS)
        self.held, self.held_rows = [], 0

    def finish(self) -> None:
        self._flush()
        self.writer.close()

    def abort(self) -> None:
        if self.is_open:
            with suppress(OSError):  # the writer must end before its file does; what it writes is thrown away
                self.writer.close()
        super().abort()
