"""Rows of a batch as an aggregation takes them: groups as codes, arguments lifted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Array
from windrow.operators.base import Batch
from windrow.operators.expressions.tree import evaluate
from windrow.operators.expressions.values import decoded
from windrow.operators.kernels.panes.assign import compress
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.state.keys import as_float64, as_int64
from windrow.operators.state.layout import Layout, Table
from windrow.operators.windows.base import Keeper, Plan, Windower
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.plan.nodes import WindowAggregate
from windrow.plan.rounding import kept_calls
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Shape


class Grouping:
    """What every window operator does with rows first: select, evaluate, encode, lift."""

    def __init__(self, node: WindowAggregate, shape: Shape) -> None:
        self.keys = node.keys
        self.groups = Groups([type_of(expression, shape.schema) for _, expression in node.keys])
        self.plan = Plan(Layout(kept_calls(node), shape.schema), node.compression)
        self._translation: tuple[Groups | None, Groups | None, Codes] = None, None, NO_CODES
        """Whose codes were translated into whose, and the codes; -1 where one was not asked for."""

    @property
    def count(self) -> int:
        return max(1, self.groups.count)

    def rows(self, batch: Batch, regrow: Callable[[Callable[[Table], Table]], None]) -> GroupedRows:
        """Rows of a batch; where state columns widen, `regrow` is called with what to do to stored tables."""
        chosen = batch.selected
        times = batch.times
        if chosen is not None:
            out = np.empty(len(times) + 1, np.int64)
            times = out[: compress(times, chosen, out)]
        codes = self.groups.encode([_chosen(evaluate(e, batch.data), chosen) for _, e in self.keys])
        arrays = {e: _chosen(evaluate(e, batch.data), chosen) for e in self.plan.layout.arguments}
        lifted = self.plan.layout.lift(arrays, times, regrow)
        keys = {p: v.keys(arrays[p.argument], times) for p, v in self.plan.values.items()}
        numbers = {p: _numbers(arrays[p.argument]) for p in self.plan.custom if p.argument is not None}
        return GroupedRows(times, codes, lifted, keys, numbers)

    def translated(self, others: Groups, codes: Codes) -> Codes:
        """The codes here of the groups that have these codes elsewhere; each group is looked up once."""
        source, target, known = self._translation
        if source is not others or target is not self.groups:
            known = NO_CODES
        table = np.full(others.count, -1, np.int32)
        table[: len(known)] = known
        used = np.zeros(len(table), np.bool_)
        used[codes] = True
        missing = np.flatnonzero(used & (table < 0)).astype(np.int32)
        if len(missing):
            table[missing] = self.groups.encode(others.decode(missing))
        self._translation = others, self.groups, table
        return table[codes]

    def compact(self, *keepers: Keeper) -> None:
        """Forget groups without any state left, once they are most of all."""
        found = self.groups.compacted(lambda: np.unique(np.concatenate([k.codes_in_use() for k in keepers])))
        if found is not None:
            self.groups, mapping = found
            for keeper in keepers:
                keeper.remap(mapping, self.groups.count)

    def forget_values(self, windower: Windower) -> None:
        """Forget values that no open window holds."""
        for part, values in self.plan.values.items():
            values.compact(windower.kept_values(part))


def _chosen(array: Array, chosen: npt.NDArray[np.uint8] | None) -> Array:
    return array if chosen is None else array.filter(pa.array(chosen.view(np.bool_)))


def _numbers(array: Array) -> npt.NDArray[Any]:
    array = decoded(array)
    return as_float64(array) if pa.types.is_floating(array.type) else as_int64(array)
