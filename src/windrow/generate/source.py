"""Generated streams as sources: every process makes the same rows from the same settings, none are stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from windrow.generate import GeneratedStream
from windrow.sources.base import BATCH_ROWS, ElementReader, Reader, Source, cut, narrow
from windrow.sources.positions import Position, behind, rows_before


@dataclass(frozen=True)
class RecipeSource:
    """The rows of a generated stream; to begin in the middle, those before are made and dropped."""

    stream: GeneratedStream
    schema: pa.Schema

    is_live = False
    can_seek = False

    @property
    def name(self) -> str:
        return self.stream.recipe.name

    @property
    def total_rows(self) -> int | None:
        """Known unless punctuation rows come between: how many depends on the data."""
        return None if self.stream.every else self.stream.rows

    def describe(self) -> str:
        return f"{self.stream.rows} generated {self.name}"

    def select(self, columns: Sequence[str]) -> Source:
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        rows_before(position, self.total_rows, self, self.name)
        return ElementReader(behind(self._batches(batch_rows), position, self, self.name), position)

    def _batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self.stream.batches():
            yield from cut(batch.select(self.schema.names), batch_rows)
