"""An answer kept in memory."""

from __future__ import annotations

import pyarrow as pa

from windrow.sinks.base import Closing, fitted


class MemorySink(Closing):
    """Keeps every batch; `table` gives them as one.

    >>> schema = pa.schema([("n", pa.int64())])
    >>> with MemorySink(schema) as sink:
    ...     sink.write(pa.record_batch({"n": [1, 2]}))
    >>> sink.table()["n"].to_pylist()
    [1, 2]
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.batches.append(fitted(batch, self.schema))

    def table(self) -> pa.Table:
        """All rows in the order they came, with one dictionary per text column."""
        return pa.Table.from_batches(self.batches, schema=self.schema).unify_dictionaries()

    def close(self) -> None:
        """Nothing to do: what was written stays."""

    def abort(self) -> None:
        self.batches.clear()
