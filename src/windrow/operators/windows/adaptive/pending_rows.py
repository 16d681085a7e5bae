"""Rows that wait until there are enough of them, or their windows close: few large steps cost less than many small."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.windows.base import GroupedRows
from windrow.semantics.progress.policies import END


class Pending:
    """Rows as they came."""

    def __init__(self) -> None:
        self.batches: list[GroupedRows] = []
        self.count = 0
        self.least = END
        """The least time of any."""

    def put(self, rows: GroupedRows) -> None:
        self.batches.append(rows)
        self.count += len(rows)
        self.least = min(self.least, rows.span[0])

    def take(self) -> GroupedRows:
        """Remove and return all rows; there must be one."""
        rows = self.batches[0] if len(self.batches) == 1 else joined_rows(self.batches)
        self.batches, self.count, self.least = [], 0, END
        return rows

    def codes_in_use(self) -> list[Codes]:
        return [rows.group_codes() for rows in self.batches]

    def remap(self, mapping: Codes) -> None:
        """Codes of groups have changed: `mapping[old] = new`."""
        self.batches = [rows.recoded(mapping[rows.codes]) if len(rows.codes) else rows for rows in self.batches]

    @property
    def nbytes(self) -> int:
        return sum(map(_bytes_of, self.batches))


def _bytes_of(rows: GroupedRows) -> int:
    lifted: list[npt.NDArray[Any]] = []
    for v in rows.lifted.values():
        lifted += [v.numbers, v.keys, v.valid, *v.marks.values()]
    lifted += [v.times for v in rows.lifted.values() if v.times is not rows.times]
    others = [*rows.keys.values(), *rows.numbers.values()]
    return rows.times.nbytes + rows.codes.nbytes + sum(array.nbytes for array in (*lifted, *others))


def joined_rows(batches: Sequence[GroupedRows]) -> GroupedRows:
    """The rows of all batches of one operator, one after the other."""
    sizes = [len(rows) for rows in batches]
    first = batches[0]
    times = np.concatenate([rows.times for rows in batches])
    codes = np.concatenate([rows.codes for rows in batches])
    found = GroupedRows(times, codes, {})
    found.keys = {part: np.concatenate([rows.keys[part] for rows in batches]) for part in first.keys}
    found.valid = {e: _validity([rows.valid[e] for rows in batches], sizes) for e in first.valid}
    found.numbers = {part: np.concatenate([rows.numbers[part] for rows in batches]) for part in first.numbers}
    found.lifted = {e: _lifted([rows.lifted[e] for rows in batches], sizes, times) for e in first.lifted}
    spans = [rows.span for rows in batches]
    found.__dict__["span"] = min(low for low, _ in spans), max(high for _, high in spans)
    return found


def _lifted(parts: Sequence[Lifted], sizes: Sequence[int], times: npt.NDArray[np.int64]) -> Lifted:
    numbers = np.concatenate([part.numbers for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    marks = {sketch: np.concatenate([part.marks[sketch] for part in parts]) for sketch in parts[0].marks}
    return Lifted(numbers, keys, _validity([part.valid for part in parts], sizes), times, marks)


def _validity(parts: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> npt.NDArray[Any]:
    """No array at all stands for rows that are all valid."""
    if not any(len(part) for part in parts):
        return parts[0]
    whole = [part if len(part) else np.ones(size, np.uint8) for part, size in zip(parts, sizes, strict=True)]
    return np.concatenate(whole)
