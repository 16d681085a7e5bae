"""Rows that are cells of their own: what is kept of each in the rings, and the values of the windows over them.

Of a row only those columns of its arguments are kept that aggregates list, or from which the state that adds up is
found again when the row leaves; and the state that keeps the greatest, which two stacks change in place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers, Numbers, Values
from windrow.operators.kernels.rows import row_values
from windrow.operators.kernels.rows.last_rows import SIZE
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.state.keys import NO_VALIDITY, keys_of_numbers
from windrow.operators.state.kinds import ADDS, KINDS
from windrow.operators.windows.base import Plan
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.rows.rings import Pool, Rings
from windrow.semantics.scalars.expressions import Expression

KEPT, VALID = "kept", "valid"
"""The matrices of a pool: numbers and keys of arguments, and, once there was a NULL, whether each argument is none."""
_NONE: Integers = np.empty(0, np.int64)


class KeptArguments:
    """Which columns a row has: the number of an argument that something adds up, the key of one that is only listed."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layout = plan.layout
        self.arguments = list(plan.layout.arguments)
        added = [e for e, a in plan.layout.arguments.items() if any("numbers" in c.needs for c in a.adding)]
        self.numbers: dict[Expression, int] = {e: j for j, e in enumerate(added)}
        derived = {p for p, values in plan.values.items() if values.direct and p.argument in self.numbers}
        listed = [p for p in plan.values if p not in derived]
        self.keys: dict[Values, int] = {p: len(added) + j for j, p in enumerate(listed)}
        self.width = len(added) + len(listed)
        self.has_nulls = False

    def blank(self, cells: int) -> Pool:
        """A pool for so many rows."""
        widths = self.layout.widths
        pool: Pool = {k.name: k.empty(cells, widths[k]) for k in KINDS if k in widths and k is not ADDS}
        if self.width:
            pool[KEPT] = np.zeros((cells, self.width), np.int64)
        if self.has_nulls:
            pool[VALID] = np.ones((cells, len(self.arguments)), np.uint8)
        return pool

    def of(self, rows: GroupedRows) -> Pool:
        """The columns of rows, from the second line on; the first is of no row."""
        fresh: Pool = {}
        if self.width:
            kept = fresh[KEPT] = np.empty((len(rows) + 1, self.width), np.int64)
            for expression, j in self.numbers.items():
                kept[1:, j] = rows.lifted[expression].numbers
            for part, j in self.keys.items():
                kept[1:, j] = rows.keys[part]
        if self.has_nulls:
            valid = fresh[VALID] = np.ones((len(rows) + 1, len(self.arguments)), np.uint8)
            for j, expression in enumerate(self.arguments):
                marks = rows.lifted[expression].valid
                valid[1:, j] = marks if len(marks) else 1
        return fresh

    def note_nulls(self, rows: GroupedRows, rings: Rings) -> None:
        """From the first NULL on it is kept which arguments are none; all before are valid."""
        if not self.has_nulls and any(len(values.valid) for values in rows.lifted.values()):
            self.expect_nulls(rings)

    def expect_nulls(self, rings: Rings) -> None:
        self.has_nulls = True
        rings.pool[VALID] = np.ones((rings.room, len(self.arguments)), np.uint8)

    @property
    def adding(self) -> Integers | None:
        """Which column stands in each column of the state that adds up, -1 for the first; None where it is not so."""
        widths = self.layout.widths[ADDS]
        found = np.full(widths, -1, np.int64)
        for expression, argument in self.layout.arguments.items():
            for column in argument.adding:
                if column.width and not (column.adds_numbers and not self.has_nulls):
                    return None
                if column.width:
                    found[column.offset] = self.numbers[expression]
        return found

    def adds(self, kept: Pool, rows: int) -> Numbers:
        """The state that adds up of so many rows, a line for each."""
        adds = ADDS.empty(rows, self.layout.widths[ADDS])
        lifted = {e: self._lifted(e, i, kept) for i, e in enumerate(self.arguments)}
        self.layout.scatter_adds(lifted, np.arange(rows, dtype=np.int32), adds)
        for column in self.layout.adding:
            column.settle(adds)
        return adds

    def _lifted(self, expression: Expression, place: int, kept: Pool) -> Lifted:
        j = self.numbers.get(expression)
        numbers = _NONE if j is None else np.ascontiguousarray(kept[KEPT][:, j])
        valid = np.ascontiguousarray(kept[VALID][:, place]) if VALID in kept else NO_VALIDITY
        return Lifted(numbers, _NONE, valid, _NONE)


class ListedRows:
    """The values of groups whose windows end: of all rows in their rings, then of the rows of a batch.

    It is made before the first of these goes into its ring.
    """

    def __init__(self, kept: KeptArguments, rings: Rings, codes: Codes, cells: tuple[Codes, Pool], panes: Integers):
        """`codes` are these groups; `cells` are the group of each row of the batch and its columns, `panes` the pane
        of each group that follows the batch.
        """
        self.kept = kept
        self.codes = codes
        self._rings = rings
        self._cells = cells
        sizes = rings.groups[codes, SIZE]
        all_sizes = sizes + np.bincount(cells[0], minlength=len(rings.groups))[codes]
        ends = np.cumsum(all_sizes)
        self._starts = ends - all_sizes
        self._size = int(ends[-1]) if len(ends) else 0
        self._following = np.full(len(rings.groups), -1, np.int64)
        self._following[codes] = self._starts + sizes
        self._first = self._starts - (panes[codes] - all_sizes)
        """What is to be added to a pane to find its row."""
        self.values = {part: self._values(part) for part in kept.plan.values}

    def _values(self, part: Values) -> tuple[Integers, Integers | None]:
        """The keys of values that are there, and how many of them are before each row, where that is not its place."""
        j = self.kept.keys.get(part)
        keys = self._column(KEPT, self.kept.numbers[part.argument] if j is None else j)
        if j is None:
            keys = keys_of_numbers(keys, self.kept.layout.arguments[part.argument].kind)
        if not self.kept.has_nulls:
            return keys, None
        present = self._column(VALID, self.kept.arguments.index(part.argument)).view(np.bool_)
        before = np.zeros(len(keys) + 1, np.int64)
        np.cumsum(present, out=before[1:])
        return keys[present], before

    def _column(self, name: str, column: int) -> npt.NDArray[Any]:
        matrix, (codes, fresh) = self._rings.pool[name], self._cells
        out = np.empty(self._size, matrix.dtype)
        row_values.list_values(self.codes, self._starts, self._rings.groups, matrix, column, out)
        row_values.list_fresh(codes, self._following.copy(), fresh[name][1:], column, out)
        return out

    def extents(self, codes: Codes, first: Integers, end: Integers, part: Values) -> tuple[Integers, Integers]:
        """Where the values of the panes `first` to `end` of these groups lie among those of the part."""
        which = np.searchsorted(self.codes, codes)
        lows = np.maximum(first + self._first[which], self._starts[which])
        highs = end + self._first[which]
        _, before = self.values[part]
        return (lows, highs) if before is None else (before[lows], before[highs])
