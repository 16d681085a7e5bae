"""Project: new columns from expressions. Punctuations pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from windrow.aggregates.kinds.base import Array
from windrow.operators.base import Batch, Element, GroupPunctuations, Stateless
from windrow.operators.expressions.tree import evaluate
from windrow.plan.nodes import renamed_columns
from windrow.semantics.scalars.expressions import Expression


class ProjectOperator(Stateless):
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
        yield replace(batch, data=pa.record_batch(arrays, schema=self.schema))

    def punctuate_groups(self, punctuations: GroupPunctuations, port: int = 0) -> Iterable[Element]:
        """Under the new names of the columns; of no use where one of them is not kept."""
        renamed = renamed_columns(self.columns)
        known = punctuations.groups.schema.names
        if all(name in renamed for name in known):
            yield GroupPunctuations(
                punctuations.groups.rename_columns([renamed[n] for n in known]), punctuations.values
            )


def _as(array: Array, kind: pa.DataType) -> Array:
    return array if array.type == kind else array.cast(kind)
