"""Generated streams as sources: every process makes the same rows from the same settings, none are stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from windrow.generate import GeneratedStream
from windrow.sources.base import Element, Position, Source, behind, cut


@dataclass(frozen=True)
class RecipeSource(Source):
    """The rows of a generated stream; to begin in the middle, those before are made and dropped."""

    stream: GeneratedStream

    @property
    def total_rows(self) -> int | None:
        """Known unless punctuation rows come between: how many depends on the data."""
        return None if self.stream.every else self.stream.rows

    def describe(self) -> str:
        return f"{self.stream.rows} generated {self.name}"

    def elements(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        self.rows_before(position)
        return behind(self._batches(batch_rows), position, self)

    def _batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self.stream.batches():
            yield from cut(batch.select(self.schema.names), batch_rows)
