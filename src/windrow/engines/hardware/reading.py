"""Whole streams with their times and the promise before each row, as the input of every engine finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from windrow.pipeline.metrics import SourceMetrics, known
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import END, START, External, Punctuation
from windrow.sources.base import BATCH_ROWS, Source


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


def read_whole(read: nodes.Read, source: Source, requests: Requests) -> WholeStream:
    """A stream to its end."""
    stage = operator_of(read)[1]
    assert isinstance(stage, Input)
    taken = _Taken(read.asked, stage)
    for _, element in _elements({read.asked.name: (source, stage)}, requests):
        taken.take(element)
    return taken.whole()


def read_by_arrival(
    reads: tuple[nodes.Read, nodes.Read], sources: Mapping[str, Source], requests: Requests
) -> tuple[tuple[WholeStream, WholeStream], list[tuple[int, int]]]:
    """Two streams in the order in which every engine in this process reads them: runs of a side and so many rows."""
    stages = [operator_of(read)[1] for read in reads]
    names = [read.asked.name for read in reads]
    taken: list[_Taken] = []
    given: dict[str, tuple[Source, Input]] = {}
    for read, stage in zip(reads, stages, strict=True):
        assert isinstance(stage, Input)
        taken.append(_Taken(read.asked, stage))
        given[read.asked.name] = sources[read.asked.name], stage
    turns: list[tuple[int, int]] = []
    for name, element in _elements(given, requests):
        side = names.index(name)
        count = taken[side].take(element)
        if count:
            turns.append((side, count))
    return (taken[0].whole(), taken[1].whole()), turns


def _elements(
    given: Mapping[str, tuple[Source, Input]], requests: Requests
) -> Iterator[tuple[str, pa.RecordBatch | Punctuation]]:
    readings = {name: Reading(source.open(batch_rows=BATCH_ROWS), stage) for name, (source, stage) in given.items()}
    with closing(interleaved(readings)) as elements:
        for one in elements:
            requests.heed()
            yield one


class _Taken:
    """What was read of one stream so far."""

    def __init__(self, stream: Stream, stage: Input) -> None:
        self.stream = stream
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
        return WholeStream(pa.Table.from_batches(self.rows, schema), times, promises, self._metrics())

    def _metrics(self) -> SourceMetrics:
        stage, counted = self.stage, self.stage.counters
        kind = "punctuation" if isinstance(self.stream.policy, External) else "row"
        jump = stage.disorder.jump(counted.rows_in, stage.slack, kind)
        high = known(stage.high)
        return SourceMetrics(counted.rows_in, high, None, True, counted.early, stage.disorder.behind, jump)
