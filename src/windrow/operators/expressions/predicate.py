"""Predicates as masks: one byte a row, 1 where the predicate is true."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import memory_of
from windrow.errors import DataError, QueryError
from windrow.operators.base import Mask
from windrow.operators.expressions.masks import only_valid, places, threshold, truths
from windrow.operators.expressions.tree import compute, entries, evaluate
from windrow.operators.kernels.panes.assign import look_up
from windrow.operators.state.keys import stored
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Family, family_of, name_of
from windrow.semantics.scalars.expressions import Call, Expression, columns_of


class Predicate:
    """A predicate for many batches.

    AND and OR combine masks. A predicate on one dictionary-encoded column is decided once per dictionary, however
    many batches share it, and looked up for the rows.
    """

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        names = set(columns_of(expression))
        self._column = names.pop() if len(names) == 1 else None
        self._sides: tuple[Predicate, ...] = ()
        if isinstance(expression, Call) and expression.function in _COMBINE:
            self._sides = tuple(map(Predicate, expression.arguments))
            self._combine: Any = _COMBINE[expression.function]
        self._checked: pa.Schema | None = None
        self._verdicts: _Verdicts | None = None

    def mask(self, batch: pa.RecordBatch, selected: Mask | None = None) -> Mask:
        """1 where the predicate is true, 0 where it is false or NULL; of `selected` rows only, no others can fail."""
        self._check(batch.schema)
        if selected is None:
            return self._mask(batch)
        try:
            return self._mask(batch) & selected
        except DataError:
            keep = selected.view(np.bool_)
            chosen = np.zeros(len(keep), np.uint8)
            chosen[keep] = self._mask(batch.filter(pa.array(keep)))
            return chosen

    def _check(self, schema: pa.Schema) -> None:
        if self._checked is not None and self._checked.equals(schema):
            return
        kind = type_of(self.expression, schema)
        if family_of(kind) not in (Family.BOOLEAN, Family.NULL):
            raise QueryError(
                "must be true or false",
                parameter=str(self.expression),
                value=f"a {name_of(kind)}",
                hint="compare the value, as in x > 0",
            )
        self._checked = schema

    def _mask(self, batch: pa.RecordBatch) -> Mask:
        if not batch.num_rows:
            return np.empty(0, np.uint8)
        for way in (self._by_entry, self._by_sides, partial(threshold, self.expression)):
            found = way(batch)
            if found is not None:
                return found
        return truths(compute(self.expression, batch), batch.num_rows)

    def _by_entry(self, batch: pa.RecordBatch) -> Mask | None:
        column = None if self._column is None else batch.column(self._column)
        if self._column is None or not isinstance(column, pa.DictionaryArray):
            return None
        verdicts = self._verdicts  # read once: another thread may replace them
        if verdicts is None or verdicts.address != (column.dictionary.type, memory_of(column.dictionary)):
            self._verdicts = verdicts = _Verdicts(self.expression, column, self._column)
        return verdicts.look_up(column)

    def _by_sides(self, batch: pa.RecordBatch) -> Mask | None:
        """Both masks in one; None when a side fails, perhaps on a row for which the other side decides."""
        if not self._sides:
            return None
        try:
            left, right = (side._mask(batch) for side in self._sides)
        except DataError:
            return None
        return self._combine(left, right, out=left)  # type: ignore[no-any-return]


_COMBINE = {"and": np.bitwise_and, "or": np.bitwise_or}


class _Verdicts:
    """A predicate's answers for one dictionary and, last, for NULL. Holds the dictionary, so its address stays."""

    def __init__(self, expression: Expression, column: Any, name: str) -> None:
        self.dictionary = column.dictionary
        self.address = self.dictionary.type, memory_of(self.dictionary)
        self.table: Mask | None = None
        self.only: int | None = None
        try:
            rows = entries(column, name)
            self.table = truths(evaluate(expression, rows), rows.num_rows)
        except DataError:
            return  # an entry fails, perhaps one that no row has: the rows decide
        if np.count_nonzero(self.table) == 1 and not self.table[-1]:
            self.only = int(self.table.argmax())

    def look_up(self, column: Any) -> Mask | None:
        if self.table is None:
            return None
        if self.only is not None:
            same = stored(column.indices) == self.only
            return only_valid(same.view(np.uint8), column.indices)
        chosen = np.empty(len(column), np.uint8)
        look_up(self.table, places(column), chosen)
        return chosen
