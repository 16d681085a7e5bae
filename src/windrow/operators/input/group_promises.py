"""Promises for single groups, as the data of one source carries them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers, value_type
from windrow.errors import DataError
from windrow.operators.base import GroupPunctuations
from windrow.operators.kernels.input import group_cuts
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.keys import present
from windrow.physical.nodes import Grid
from windrow.semantics.progress.policies import START, External, Policy, Punctuation

Mask = npt.NDArray[np.bool_]


class Singles:
    """Finds them, brings them to the grid of the windows above, and leaves out what these cannot use."""

    def __init__(self, name: str, policy: Policy, grid: Grid | None, schema: pa.Schema | None) -> None:
        self.name = name
        self.per = policy.per if isinstance(policy, External) else ()
        self.schema = schema
        self.grid = grid or Grid()
        self.wanted = bool(self.per) and self.grid.keys.issuperset(self.per)

    def mask(self, data: pa.RecordBatch, carried: Mask) -> Mask:
        """Which of the punctuation rows are for one group: those with a value in a column that names it."""
        single = np.zeros(len(data), np.bool_)
        for name in self.per:
            single |= present(data.column(name))
        return single & carried

    def cuts(self, data: pa.RecordBatch, times: Integers, values: Integers, single: Mask) -> list[int]:
        """Before which rows a promise among their predecessors must be known."""
        if not self.wanted:
            return []
        codes, count = self._codes(data)
        cuts, bounds = np.empty(len(data), np.int64), np.full(count, START, np.int64)
        rounded = self.grid.rounded_down(values)
        found = group_cuts(times, rounded, single, codes, bounds, np.full(count, -1, np.int64), cuts)
        return [int(cut) for cut in cuts[:found]]

    def _codes(self, data: pa.RecordBatch) -> tuple[Codes, int]:
        named = data.select(self.per)
        groups = Groups(named.schema.types)
        return groups.encode(named.columns), groups.count

    def promises(self, data: pa.RecordBatch, values: Integers) -> Iterator[GroupPunctuations]:
        """Punctuation rows as promises, the furthest of each group."""
        if not self.wanted or len(data) == 0:
            return
        codes, count = self._codes(data)
        bounds, rows = np.full(count, START, np.int64), np.full(count, -1, np.int64)
        np.maximum.at(bounds, codes, self.grid.rounded_down(values))
        rows[codes] = np.arange(len(data))
        known = rows >= 0
        yield GroupPunctuations(data.select(self.per).take(arrow(rows[known])), bounds[known])

    def one(self, punctuation: Punctuation) -> Iterator[GroupPunctuations]:
        """The promise of one element of an iterator."""
        group = punctuation.group
        assert group is not None
        if len(group) != len(self.per):
            raise DataError(
                f"must have a value for each of the columns that name a group ({', '.join(self.per) or 'none'})",
                parameter="punctuation",
                value=group,
                hint=f"declare the columns of {self.name}: progress=wr.punctuated(per=[...]), or PUNCTUATED PER ...",
            )
        if self.wanted:
            yield from self.promises(self._row(group), np.array([punctuation.value], np.int64))

    def _row(self, group: tuple[Any, ...]) -> pa.RecordBatch:
        assert self.schema is not None
        schema = pa.schema([(name, value_type(self.schema.field(name).type)) for name in self.per])
        try:
            return pa.RecordBatch.from_pylist([dict(zip(self.per, group, strict=True))], schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError(
                f"must name a group by values of its columns ({', '.join(f'{f.name} {f.type}' for f in schema)})",
                parameter="punctuation",
                value=group,
                hint=str(error).splitlines()[0],
            ) from None
