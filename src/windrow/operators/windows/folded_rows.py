"""Kept rows of one group in coded blocks, of which windows are computed as they lie, without being unpacked.

What folds: counts, sums of whole numbers, the least, the greatest, order statistics, and how many values differ. All
else is computed from the rows, and both give the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Array, Integers, Runs, Values
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.compression.folding import different, extremes, ranked, sums
from windrow.operators.state.columns.making import GreatestColumn, ValidColumn
from windrow.operators.state.columns.sums import IntegerSum
from windrow.operators.state.groups import NO_CODES
from windrow.operators.state.keys import from_keys
from windrow.operators.state.layout import Table
from windrow.operators.state.values.multisets import GroupRuns, Multiset
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.spilled_column import SpilledColumn
from windrow.operators.windows.row_shape import RowShape
from windrow.semantics.scalars.expressions import Expression

FEWEST = 1 << 10
"""Rows of a window, as a mean, from which on it is folded: fewer are answered from at once with others."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FoldedRows:
    """Rows from place `low` to `high` of a store, all of one group, and none of what is asked of them NULL."""

    shape: RowShape
    low: int
    high: int
    code: int
    columns: dict[Expression, CodedColumn]

    @staticmethod
    def of(shape: RowShape, store: RowStore, low: int, high: int) -> FoldedRows | None:
        """Rows of a store, where these can be folded; most are in blocks already, the rest are put into some for it."""
        if shape.sealing is None or not shape.folded or low >= high:
            return None
        parts = store.parts(low, high)
        if 2 * sum(len(part) for part in parts if part.is_sealed) < high - low:
            return None
        code, _ = parts[0].span("code")
        alike = {"code": code} | dict.fromkeys(shape.valid.values(), 1)
        for part in parts:
            on_disk = any(isinstance(part.columns[name], SpilledColumn) for name in shape.folded)
            if on_disk or any(part.span(name) != (value, value) for name, value in alike.items()):
                return None
        columns = {
            e: CodedColumn.joined([shape.coded(name, part.columns[name]) for part in parts])
            for e, name in shape.names.items()
            if name in shape.folded
        }
        return FoldedRows(shape, low, high, code, columns)

    def holds(self, lows: Integers, highs: Integers) -> bool:
        """Whether windows of these rows are to be folded."""
        inside = self.low <= int(lows[0]) and int(highs[-1]) <= self.high
        return inside and int((highs - lows).sum()) >= FEWEST * len(lows)

    def put(self, lows: Integers, highs: Integers, state: Table) -> bool:
        """Write the state of windows, one cell each; False, and nothing is written, where not all of it folds."""
        columns = [(e, c) for e, a in self.shape.arguments.items() for c in a.columns.values()]
        if not all(column.folds for _, column in columns):
            return False
        state.adds[:, 0] = highs - lows
        for expression, column in columns:
            if isinstance(column, ValidColumn):
                state.adds[:, column.offset : column.offset + column.width] = (highs - lows)[:, None]
            elif isinstance(column, IntegerSum):
                self._put_sums(expression, column, lows, highs, state)
            elif isinstance(column, GreatestColumn):
                least, greatest = extremes(self.columns[expression], lows - self.low, highs - self.low)
                keys = self.shape.keys_of(expression, greatest if column.greatest else least)
                state.matrices[column.kind][:, column.offset] = keys if column.greatest else ~keys
        return True

    def _put_sums(
        self, expression: Expression, column: IntegerSum, lows: Integers, highs: Integers, state: Table
    ) -> None:
        tops, bottoms = sums(self.columns[expression], lows - self.low, highs - self.low)
        if column.width == 1:
            state.adds[:, column.offset] = (tops << 32) + bottoms
        else:
            state.adds[:, column.offset], state.adds[:, column.offset + 1] = tops, bottoms

    def runs(self, part: Values, low: int, high: int, multiset: Callable[[], Multiset]) -> Runs | None:
        """The values of a window, where it folds; `multiset` has them for what does not."""
        if part not in self.shape.direct or part.argument not in self.columns:
            return None
        return FoldedRuns(self, part, low - self.low, high - self.low, multiset)


class FoldedRuns(Runs):
    """The values of one window of one group: ranks and how many differ are found in its blocks."""

    def __init__(self, rows: FoldedRows, part: Values, low: int, high: int, multiset: Callable[[], Multiset]) -> None:
        self._rows = rows
        self._part = part
        self._low = low
        self._high = high
        self._multiset = multiset

    @cached_property
    def listed(self) -> tuple[Integers, Array, Integers]:
        values, code = self._rows.shape.plan.values[self._part], np.array([self._rows.code], NO_CODES.dtype)
        return GroupRuns(values, self._multiset(), code, self.sizes()).listed

    def sizes(self) -> Integers:
        return np.array([self._high - self._low])

    @property
    def _stretch(self) -> tuple[CodedColumn, Integers, Integers]:
        return self._rows.columns[self._part.argument], np.array([self._low]), np.array([self._high])

    def distinct(self) -> Integers:
        return different(*self._stretch)

    def numbers_around(self, ranks: Integers) -> tuple[Floats, Floats]:
        argument, shape = self._part.argument, self._rows.shape
        found = [numbers[0] for numbers in ranked(*self._stretch, ranks.astype(np.int64)[None, :])]
        if shape.arguments[argument].is_float:
            return found[0], found[1]
        kind = shape.plan.values[self._part].kind
        at, after = (from_keys(shape.keys_of(argument, n), kind).astype(np.float64) for n in found)
        return at, after
