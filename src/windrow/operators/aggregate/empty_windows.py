"""Windows without rows, for EMIT EMPTY: those between two reported ones of the same group.

More of them in a row than the query allows are refused before the first is written: one row of a wrong clock would
otherwise fill the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.errors import DataError
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.state.groups import Codes
from windrow.operators.state.timeline import Answers
from windrow.plan.nodes import WindowAggregate
from windrow.semantics.progress.policies import START

CHUNK = 1 << 18


class LastReported:
    """The number of the last window that each group was reported in."""

    def __init__(self, node: WindowAggregate, grouping: Grouping, output: pa.Schema) -> None:
        self.node = node
        self.grouping = grouping
        self.kind: pa.DataType = output.field("window_end").type
        self.windows: Integers = np.empty(0, np.int64)

    def gaps(self, answers: Answers, ends: Callable[[Integers], Integers]) -> Iterator[tuple[Integers, Codes]]:
        """Numbers and group of the windows passed over since each group's last; then these are the last.

        `ends` tells where windows of some numbers end.
        """
        windows, codes, groups = answers.windows, answers.codes, self.grouping.count
        if groups > len(self.windows):
            self.windows = np.concatenate([self.windows, np.full(2 * groups - len(self.windows), START, np.int64)])
        order = np.lexsort((windows, codes))
        before = np.empty(len(order), np.int64)
        sorted_codes, sorted_windows = codes[order], windows[order]
        heads = np.ones(len(order), np.bool_)
        heads[1:] = sorted_codes[1:] != sorted_codes[:-1]
        before[1:] = sorted_windows[:-1]
        before[heads] = self.windows[sorted_codes[heads]]
        self.windows[sorted_codes] = sorted_windows
        passed = np.where(before == START, 0, sorted_windows - before - 1)
        worst = int(np.argmax(passed)) if len(passed) else 0
        if len(passed) and passed[worst] > self.node.most_empty:
            first, last = ends(np.array([before[worst] + 1, sorted_windows[worst] - 1]))
            self._refuse(int(passed[worst]), sorted_codes[worst : worst + 1], int(first), int(last))
        for i in np.flatnonzero(passed).tolist():
            for first in range(int(before[i]) + 1, int(sorted_windows[i]), CHUNK):
                empty = np.arange(first, min(first + CHUNK, int(sorted_windows[i])))
                yield empty, np.full(len(empty), sorted_codes[i], np.int32)

    def _refuse(self, number: int, code: Codes, first: int, last: int) -> NoReturn:
        names = [name for name, _ in self.node.keys]
        values = (column[0].as_py() for column in self.grouping.groups.decode(code))
        group = "".join(f", {name} = {value!r}" for name, value in zip(names, values, strict=True))
        shown = [str(pa.scalar(end, pa.int64()).cast(self.kind)) for end in (first, last)]
        raise DataError(
            f"must fill no more than {self.node.most_empty:,} windows between two rows of a group",
            parameter="EMIT EMPTY",
            value=f"{number:,} empty ones, which end from {shown[0]} to {shown[1]}{group}",
            hint="where a wrong clock made the gap, LEAD 1 HOUR in CREATE STREAM (lead='1 h') sets its rows aside; "
            f"to have them all, say EMIT EMPTY UP TO {number} (emit('empty', most={number}))",
        )

    @property
    def earliest(self) -> int | None:
        """The earliest of them; None when no group was reported."""
        known = self.windows[self.windows != START]
        return int(known.min()) if len(known) else None
