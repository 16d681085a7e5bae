"""Project: new columns from expressions. Punctuations pass."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from windrow.operators.base import Batch, Counters, Element
from windrow.operators.evaluate import evaluate
from windrow.semantics.expressions import Expression
from windrow.semantics.progress import Punctuation


class Project:
    """Stateless; the schema is the one the plan was checked with."""

    def __init__(self, columns: tuple[tuple[str, Expression], ...], schema: pa.Schema) -> None:
        self.columns = columns
        self.schema = schema
        self.counters = Counters()

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        self.counters.rows_in += len(batch)
        arrays = [
            _as(evaluate(expression, batch.data), field.type)
            for (_, expression), field in zip(self.columns, self.schema, strict=True)
        ]
        yield Batch(pa.record_batch(arrays, schema=self.schema), batch.times, None, batch.source)

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        yield punctuation

    def state(self) -> dict[str, pa.Table]:
        return {}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        pass


def _as(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)
