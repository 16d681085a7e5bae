"""Bounds of single groups: what was promised for them so far, by the values of some columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import numbers_of, tabled
from windrow.aggregates.kinds.base import Integers, value_type
from windrow.operators.base import GroupPunctuations
from windrow.operators.expressions.values import settled
from windrow.operators.state.groups import Codes, Groups
from windrow.semantics.progress.policies import START

FEW = 1 << 10
"""So many groups are kept whether their bounds still matter or not."""


class Promises:
    """For every group that was named, the bound that each of several inputs has promised for it."""

    def __init__(self, schema: pa.Schema, inputs: int = 1) -> None:
        self.schema = pa.schema([(field.name, value_type(field.type)) for field in schema])
        self.groups = Groups(self.schema.types)
        self.bounds: Integers = np.empty((0, inputs), np.int64)
        self._look_at = FEW

    def __len__(self) -> int:
        return len(self.bounds)

    def codes(self, groups: pa.RecordBatch) -> Codes:
        """The number of each group; new ones have promised nothing."""
        columns = zip(groups.columns, self.schema.types, strict=True)
        codes = self.groups.encode([settled(column, kind) for column, kind in columns])
        more = self.groups.count - len(self.bounds)
        if more > 0:
            fresh = np.full((more, self.bounds.shape[1]), START, np.int64)
            self.bounds = np.concatenate([self.bounds, fresh])
        return codes

    def note(self, punctuations: GroupPunctuations, port: int = 0) -> Codes:
        """Raise the bounds; which groups were named, each once."""
        codes = self.codes(punctuations.groups)
        np.maximum.at(self.bounds[:, port], codes, punctuations.values)
        return np.unique(codes)

    def named(self, codes: Codes) -> pa.RecordBatch:
        """The groups with these numbers."""
        return pa.RecordBatch.from_arrays(self.groups.decode(codes), schema=self.schema)

    def forget_below(self, bound: int) -> bool:
        """Drop groups with no bound above one that holds for all, once these may be most; whether numbers changed."""
        if len(self) < self._look_at:
            return False
        kept = np.flatnonzero((self.bounds > bound).any(axis=1)).astype(np.int32)
        rows, bounds = self.named(kept), self.bounds[kept]
        self.groups, self.bounds = Groups(self.schema.types), bounds
        self.groups.encode(rows.columns)
        self._look_at = max(FEW, 2 * len(kept))
        return True


def saved(many: Iterable[Promises]) -> dict[str, pa.Table]:
    """Their groups and bounds as tables."""
    tables: dict[str, pa.Table] = {}
    for place, promises in enumerate(many):
        bounds = {f"bound{i}": np.ascontiguousarray(column) for i, column in enumerate(promises.bounds.T)}
        tables[f"promises{place}.groups"] = pa.table(promises.groups.keys(0, len(promises)), schema=promises.schema)
        tables[f"promises{place}.bounds"] = tabled(**bounds)
    return tables


def restored(tables: dict[str, pa.Table]) -> Iterator[Promises]:
    """What `saved` wrote, in its order."""
    for place in count():
        if f"promises{place}.groups" not in tables:
            return
        keys, bounds = tables[f"promises{place}.groups"], tables[f"promises{place}.bounds"]
        promises = Promises(keys.schema, bounds.num_columns)
        promises.groups.restore(keys)
        columns = [numbers_of(bounds, name) for name in bounds.column_names]
        promises.bounds = np.array(columns, np.int64).T.reshape(-1, bounds.num_columns).copy()
        yield promises
