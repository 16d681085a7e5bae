"""Rows as window algorithms take them, and rows that wait: few large steps cost less than many small ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Custom, Integers, Values
from windrow.aggregates.kinds.custom import UserAggregate
from windrow.operators.kernels.input import span
from windrow.operators.state.columns.base import Lifted
from windrow.operators.state.customs import CustomCells, CustomState
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.state.values.value_rows import ValueRows
from windrow.semantics.progress.policies import END
from windrow.semantics.scalars.expressions import Expression


@dataclass
class GroupedRows:
    """Rows ready to be aggregated: times, group codes (empty: one group), lifted arguments."""

    times: Integers
    codes: Codes
    lifted: dict[Expression, Lifted]
    keys: dict[Values, Integers] = field(default_factory=dict)
    numbers: dict[Custom, npt.NDArray[Any]] = field(default_factory=dict)
    """Arguments of user aggregates, not lifted yet."""
    partitions: Codes = field(default_factory=lambda: NO_CODES)
    """For windows of rows, the partition that each counts in."""
    data: pa.RecordBatch | None = None
    """For windows of rows, which are lifted when they count; those that wait have their partition as their code."""

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def span(self) -> tuple[int, int]:
        """The smallest and the largest time; there must be one."""
        least, most = span(self.times)
        return int(least), int(most)

    def group_codes(self) -> Codes:
        return self.codes if len(self.codes) else np.zeros(len(self.times), np.int32)

    def take(self, rows: Any) -> GroupedRows:
        def cut(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return array[rows] if len(array) else array

        times = self.times[rows]
        lifted = {e: v.take(rows, times if v.times is self.times else None) for e, v in self.lifted.items()}
        return GroupedRows(
            times,
            cut(self.codes),
            lifted,
            {part: keys[rows] for part, keys in self.keys.items()},
            {part: numbers[rows] for part, numbers in self.numbers.items()},
            cut(self.partitions),
            None if self.data is None else self.data.take(arrow(np.arange(len(self))[rows])),
        )

    def recoded(self, codes: Codes) -> GroupedRows:
        rows = replace(self, codes=codes)
        rows.__dict__["span"] = self.span
        return rows

    def values(self, part: Values, places: Integers) -> tuple[Integers, Codes, Integers]:
        """(place, code, key) of the rows whose value is not NULL."""
        places, codes, keys = self._present(part.argument, places, self.group_codes(), self.keys[part])
        return places, codes, keys

    def custom_cells(self, part: Custom, places: Integers) -> CustomCells:
        """States of a user aggregate per (place, code), NULLs left out."""
        assert part.argument is not None
        assert isinstance(part.aggregate, UserAggregate)
        places, codes, numbers = self._present(part.argument, places, self.group_codes(), self.numbers[part])
        return CustomCells.of(places, codes, CustomState(part.aggregate, part.aggregate.lift(numbers)))

    def _present(self, argument: Expression, *arrays: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        """Of each array what belongs to rows whose argument is not NULL."""
        valid = self.lifted[argument].valid
        return arrays if len(valid) == 0 else tuple(array[valid.view(np.bool_)] for array in arrays)

    def keep_values(self, kept: ValueRows) -> None:
        """Note the values of rows at their times."""
        for part, log in kept.logs.items():
            log.add(*self.values(part, self.times))
        for custom, known in kept.customs.items():
            kept.customs[custom] = known.plus(self.custom_cells(custom, self.times))

    @property
    def nbytes(self) -> int:
        arrays: list[npt.NDArray[Any]] = [self.times, self.codes, *self.keys.values(), *self.numbers.values()]
        for v in self.lifted.values():
            arrays += [v.numbers, v.keys, v.valid, *v.marks.values(), *([v.times] if v.times is not self.times else [])]
        return sum(array.nbytes for array in arrays)

    @staticmethod
    def joined(batches: Sequence[GroupedRows]) -> GroupedRows:
        """The rows of all batches of one operator, one after the other."""
        if len(batches) == 1:
            return batches[0]
        first = batches[0]
        times = np.concatenate([rows.times for rows in batches])
        found = GroupedRows(times, np.concatenate([rows.codes for rows in batches]), {})
        found.keys = {part: np.concatenate([rows.keys[part] for rows in batches]) for part in first.keys}
        found.numbers = {part: np.concatenate([rows.numbers[part] for rows in batches]) for part in first.numbers}
        found.lifted = {e: _joined([rows.lifted[e] for rows in batches], batches, times) for e in first.lifted}
        spans = [rows.span for rows in batches]
        found.__dict__["span"] = min(low for low, _ in spans), max(high for _, high in spans)
        return found


def _joined(parts: Sequence[Lifted], batches: Sequence[GroupedRows], times: Integers) -> Lifted:
    numbers = np.concatenate([part.numbers for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    marks = {sketch: np.concatenate([part.marks[sketch] for part in parts]) for sketch in parts[0].marks}
    valid = [part.valid for part in parts]
    if any(map(len, valid)):  # no array at all stands for rows that are all valid
        valid = [own if len(own) else np.ones(len(rows), np.uint8) for own, rows in zip(valid, batches, strict=True)]
    return Lifted(numbers, keys, np.concatenate(valid), times, marks)


class Pending:
    """Rows as they came, until there are enough of them or their windows close."""

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
        rows = GroupedRows.joined(self.batches)
        self.batches, self.count, self.least = [], 0, END
        return rows

    def codes_in_use(self) -> list[Codes]:
        return [rows.group_codes() for rows in self.batches]

    def remap(self, mapping: Codes) -> None:
        self.batches = [rows.recoded(mapping[rows.codes]) if len(rows.codes) else rows for rows in self.batches]

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in self.batches)
