"""Project: new columns from expressions. Punctuations pass."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from windrow.aggregates.base import Array
from windrow.operators.base import Batch, Element, Stateless
from windrow.operators.evaluate import evaluate
from windrow.semantics.expressions import Expression


class Project(Stateless):
    """The schema is the one the plan was checked with."""

    def __init__(self, columns: tuple[tuple[str, Expression], ...], schema: pa.Schema) -> None:
        super().__init__()
        self.columns = columns
        self.schema = schema

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch = batch.compact()
        self.counters.rows_in += len(batch)
        arrays = [
            _as(evaluate(expression, batch.data), field.type)
            for (_, expression), field in zip(self.columns, self.schema, strict=True)
        ]
        yield Batch(pa.record_batch(arrays, schema=self.schema), batch.times, None, batch.source)


def _as(array: Array, kind: pa.DataType) -> Array:
    return array if array.type == kind else array.cast(kind)
