"""Select marks the rows for which a predicate is true, Project makes new columns of expressions. Punctuations pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array
from windrow.operators.base import Batch, Element, GroupPunctuations, Stateless
from windrow.operators.expressions.predicate import Predicate
from windrow.operators.expressions.tree import evaluate
from windrow.plan.nodes import renamed_columns
from windrow.semantics.scalars.expressions import Expression


class SelectOperator(Stateless):
    """Rows that do not pass are counted as filtered."""

    def __init__(self, predicate: Expression) -> None:
        super().__init__()
        self.predicate = Predicate(predicate)

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        chosen = self.predicate.mask(batch.data, batch.selected)
        before = len(batch) if batch.selected is None else int(np.count_nonzero(batch.selected))
        self.counters.rows_in += before
        self.counters.filtered += before - int(np.count_nonzero(chosen))
        yield replace(batch, selected=chosen)


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
