"""What one task sees of the partitions of a stream, and how its rows tell the shards of which partition they are.

Partitions go by names in text (`semantics.progress.partitions.named`). Where a lead decides which rows count, rows are
sent with the name of their partition in a column more, for their own columns may be gone by then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers, value_type
from windrow.operators.input.partitions import partition_row
from windrow.operators.input.policy import lead_among_rows
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.plan.nodes import Stream
from windrow.semantics.progress.partitions import named, partitioned_by
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sharded.task_progress import PartitionSeen, Stretches

COLUMN = "\0partition"
"""No column of a stream is called that."""


@dataclass
class _Tally:
    """Of one partition."""

    seen: PartitionSeen = field(default_factory=PartitionSeen)
    stretches: Stretches | None = None
    passed: Stretches | None = None


class PartitionTally:
    """The partitions of the rows that one task reads."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.lead = lead_among_rows(stream)
        self.schema = pa.schema((n, value_type(stream.schema.field(n).type)) for n in partitioned_by(stream.policy))
        self.groups = Groups(self.schema.types)
        self.each: list[_Tally] = []
        self.names: list[str] = []
        self.highs: Integers = np.empty(0, np.int64)

    def codes(self, data: pa.RecordBatch) -> Codes:
        """The number of each row's partition."""
        if len(data) == 0:
            return NO_CODES
        codes = self.groups.encode([data.column(name) for name in self.schema.names])
        known = len(self.names)
        if self.groups.count > known:
            rows = zip(*(column.to_pylist() for column in self.groups.keys(known, self.groups.count)), strict=True)
            self.names += map(named, rows)
            self.each += [_Tally() for _ in range(self.groups.count - known)]
            self.highs = np.concatenate([self.highs, np.full(self.groups.count - known, START)])
        return codes

    def add(self, times: Integers, codes: Codes) -> None:
        """Rows that are not early by themselves."""
        np.maximum.at(self.highs, codes, times)
        for code in np.unique(codes).tolist():
            self.each[code].seen.ended = False
        if self.lead is not None:
            for code, part in _by_code(times, codes):
                one = self.each[code]
                one.stretches = one.stretches or Stretches(self.stream.name, self.lead)
                one.stretches.add(part)

    def add_passed(self, times: Integers, codes: Integers) -> None:
        """Those of them that passed the filters, where it matters."""
        assert self.lead is not None
        for code, part in _by_code(times, codes):
            one = self.each[code]
            one.passed = one.passed or Stretches(self.stream.name, self.lead)
            one.passed.add(part)

    def announce(self, punctuation: Punctuation) -> None:
        """What an element says of one partition."""
        (code,) = self.codes(partition_row(self.schema, punctuation, self.stream.name)).tolist()
        seen = self.each[code].seen
        seen.announced, seen.ended = True, punctuation.value == END
        if not seen.ended:
            seen.promised = max(seen.promised, punctuation.value)

    def found(self) -> dict[str, PartitionSeen]:
        """What was seen of those of which something was, by name."""
        found = {}
        for name, one, high in zip(self.names, self.each, self.highs.tolist(), strict=True):
            one.seen.high = high
            one.seen.stretches = one.stretches.found if one.stretches is not None else []
            one.seen.passed = one.passed.found if one.passed is not None else []
            if high != START or one.seen.announced:
                found[name] = one.seen
        return found

    def labelled(self, data: pa.RecordBatch, codes: Integers) -> pa.RecordBatch:
        """Rows with the names of their partitions."""
        names = pa.DictionaryArray.from_arrays(arrow(codes.astype(np.int32)), pa.array(self.names, pa.string()))
        return data.append_column(COLUMN, names)


def unlabelled(data: pa.RecordBatch, limits: Mapping[str, int]) -> tuple[pa.RecordBatch, Integers]:
    """Rows without the names of their partitions, and what is given for each of these (START: nothing)."""
    column: Any = data.column(COLUMN)
    each = np.array([limits.get(name, START) for name in column.dictionary.to_pylist()], np.int64)
    return data.drop_columns([COLUMN]), each[np.asarray(column.indices)]


def _by_code(times: Integers, codes: Integers | Codes) -> list[tuple[int, Integers]]:
    """The times of each partition."""
    order = np.argsort(codes, kind="stable")
    ordered, sorted_times = codes[order], times[order]
    cuts = [0, *(np.flatnonzero(np.diff(ordered)) + 1).tolist(), len(codes)]
    return [(int(ordered[start]), sorted_times[start:stop]) for start, stop in pairwise(cuts) if stop > start]
