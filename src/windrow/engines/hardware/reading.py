"""Whole streams with their times and the promise before each row, as the input of every engine finds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Array, Integers, value_type
from windrow.engines.local.reading import Reading, interleaved
from windrow.engines.run import Requests
from windrow.hardware.feeding import promises_of
from windrow.operators.base import Batch, EarlyRows
from windrow.operators.input.input import Input
from windrow.physical import nodes
from windrow.pipeline.build import operator_of
from windrow.pipeline.graph import progress_of
from windrow.pipeline.metrics import SourceMetrics
from windrow.semantics.progress.policies import END, START, External, Punctuation
from windrow.sources.base import BATCH_ROWS, Source
from windrow.sources.rejects import Rejects, unreadable


@dataclass(frozen=True)
class WholeStream:
    """All rows of a stream that were not too far ahead, and what was counted of it."""

    rows: pa.Table
    times: Integers
    promises: Integers
    """The promise before each row; `START` before the first."""
    metrics: SourceMetrics

    def __len__(self) -> int:
        return len(self.times)

    def column(self, name: str) -> Array:
        """A column in one piece, plain values where it was a dictionary."""
        found = self.rows[name].combine_chunks()
        kind = value_type(found.type)
        return found.cast(kind) if found.type != kind else found


def read_whole(
    reads: Sequence[nodes.Read], sources: Mapping[str, Source], requests: Requests
) -> tuple[dict[str, WholeStream], list[tuple[int, int]]]:
    """Streams to their end by name, and the order in which every engine in this process reads them: runs of a side and
    so many rows.
    """
    taken = {read.asked.name: _Taken(read) for read in reads}
    readings = {name: Reading(sources[name].open(batch_rows=BATCH_ROWS), one.stage) for name, one in taken.items()}
    sides = {name: side for side, name in enumerate(taken)}
    turns: list[tuple[int, int]] = []
    with closing(interleaved(readings)) as elements:
        for name, element in elements:
            requests.heed()
            if isinstance(element, Rejects):
                raise unreadable(element)
            count = taken[name].take(element)
            if count:
                turns.append((sides[name], count))
    return {name: one.whole() for name, one in taken.items()}, turns


class _Taken:
    """What was read of one stream so far."""

    def __init__(self, read: nodes.Read) -> None:
        stage = operator_of(read)[1]
        assert isinstance(stage, Input)
        self.stream = read.asked
        self.stage = stage
        self.rows: list[pa.RecordBatch] = []
        self.times: list[Integers] = []
        self.promised: list[Integers] = []
        self.bound = START

    def take(self, element: pa.RecordBatch | Punctuation) -> int:
        """An element through the input; how many rows it brought."""
        if isinstance(element, Punctuation):
            found = self.stage.punctuate(element)
        else:
            found = self.stage.process(Batch.unread(element))
        before = len(self.rows)
        for one in found:
            if isinstance(one, Punctuation):
                self.bound = one.value if one.value != END else self.bound
            elif isinstance(one, Batch) and len(one):
                whole = one.compact()
                self.rows.append(whole.data)
                self.times.append(whole.times)
                self.promised.append(np.full(len(whole), self.bound, np.int64))
            else:
                assert isinstance(one, (Batch, EarlyRows))
        return sum(map(len, self.rows[before:]))

    def whole(self) -> WholeStream:
        times = np.concatenate([np.empty(0, np.int64), *self.times])
        promises = np.concatenate([np.empty(0, np.int64), *self.promised])
        if len(times) and not isinstance(self.stream.policy, External) and self.stage.grid is not None:
            promises = promises_of(self.stream.policy, self.stage.slack, times)
        schema = self.rows[0].schema if self.rows else self.stream.schema
        return WholeStream(pa.Table.from_batches(self.rows, schema), times, promises, progress_of(self.stage))
