"""Replay a source as a stream of micro-batches: a Python data source made for one query."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.engines.spark.session.loaded_later import LoadedLater
from windrow.sources import Element, Source, elements_of
from windrow.sources.base import grown, shrunk
from windrow.sources.replayed.spans import (
    Offset,
    RowSpan,
    clear_errors,
    cut_span,
    offset,
    read_span,
    seams_of,
    span_between,
)

Work: TypeAlias = Callable[[Iterator[Element], RowSpan], Iterator[pa.RecordBatch]]
"""Turns the elements of a span into the batches Spark gets."""

_PATIENCE = 0.1
"""Seconds' worth of rows that a paced stream waits for, so that its micro-batches are not single rows."""


@dataclass(frozen=True)
class Replay:
    """What is replayed and how: `work` on every span, at most `batch_rows` rows a micro-batch in up to `partitions`
    pieces, at most `rate` rows a second of wall clock."""

    source: Source
    work: Work
    batch_rows: int
    partitions: int = 1
    rate: float | None = None
    token: str = field(default_factory=lambda: uuid.uuid4().hex)

    @cached_property
    def total(self) -> int:
        """The rows of the source; where it does not know them they are counted by reading one column."""
        with clear_errors(self.source):
            known = self.source.total_rows
            if known is not None:
                return known
            narrow = self.source.select(self.source.schema.names[:1])
            return sum(element.num_rows for element in elements_of(narrow) if isinstance(element, pa.RecordBatch))

    @cached_property
    def _seams(self) -> Sequence[int] | None:
        with clear_errors(self.source):
            return seams_of(self.source) if self.partitions > 1 else []

    def pieces(self, span: RowSpan) -> list[InputPartition]:
        """The spans that tasks read."""
        return [InputPartition(piece) for piece in cut_span(span, self.partitions, self._seams)]

    def read(self, piece: InputPartition) -> Iterator[pa.RecordBatch]:
        """What `work` makes of one of them."""
        span: RowSpan = piece.value
        return self.work(read_span(self.token, self.source, span), span)


class ReplayStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Gives offsets as far as the source goes, the micro-batch's limit lets it and the clock has come.

    With `Trigger.AvailableNow` a paced stream waits for its next rows: an offset that does not move ends the query.
    """

    def __init__(
        self,
        replay: Replay,
        clock: Callable[[], float] = time.monotonic,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        self.replay = replay
        self.clock = clock
        self.wait = wait
        self.must_finish = False
        self.began: tuple[float, int] | None = None
        """When this run asked for rows first, and from which row on."""

    def initialOffset(self) -> Offset:  # noqa: N802
        return offset(0, False)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self.replay.batch_rows)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.must_finish = True

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        first, total = start["rows"], self.replay.total
        if first > total:
            raise shrunk(self.replay.source, first)
        if start.get("ended"):
            if first < total:
                raise grown(self.replay.source, first, total)
            return start
        if isinstance(limit, ReadAllAvailable) and not self.must_finish:  # the one micro-batch, as with `Trigger.Once`
            return offset(total, True)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self.replay.batch_rows
        last = min(total, first + most, self._due(first))
        return offset(last, last == total)

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return offset(self.replay.total, True)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self.replay.pieces(span_between(start, end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.replay.read(partition)

    def _due(self, first: int) -> int:
        """The row up to which the clock allows to read."""
        rate = self.replay.rate
        if rate is None:
            return self.replay.total
        began, row = self.began = self.began or (self.clock(), first)
        wanted = min(first + max(1, int(rate * _PATIENCE)), self.replay.total)
        while (due := row + int((self.clock() - began) * rate)) < wanted and self.must_finish:
            self.wait((wanted - due) / rate)
        return max(first, due)


class ReplayBatch(DataSourceReader):
    """The whole source at once."""

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def partitions(self) -> Sequence[InputPartition]:
        return self.replay.pieces(RowSpan(0, self.replay.total, True))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.replay.read(partition)


def replay_class(name: str, schema: StructType | str, replay: Replay) -> type[DataSource]:
    """The format `name` that replays a source: register it, then `readStream.format(name).load()`.

    `schema` is that of the batches its work gives. Source and work travel to other processes by pickling. Every
    span of a stream is a function of its offsets, and the last one has `ends`, with rows or without.
    """
    replay = replace(replay, work=LoadedLater(replay.work))

    class ReplaySource(DataSource):  # defined in here so that it travels by value, with what it replays
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> StructType | str:
            return schema

        def streamReader(self, schema: StructType) -> Any:  # noqa: N802
            return ReplayStream(replay)

        def reader(self, schema: StructType) -> Any:
            return ReplayBatch(replay)

    return ReplaySource
