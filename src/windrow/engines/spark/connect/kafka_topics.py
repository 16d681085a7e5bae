"""Topics of Kafka as streams of Spark: a Python data source that pre-aggregates in its reader.

Messages are read by the same client and made into rows by the same code as in process, so their rows never pass through
the JVM, and no connector is needed in it. Where each micro-batch begins and ends is in Spark's own log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from windrow.engines.spark.session.loaded_later import LoadedLater
from windrow.errors import ConfigurationError, SourceError
from windrow.sources.base import Given
from windrow.sources.kafka.places import Extent, check_offsets
from windrow.sources.kafka.source import KafkaSource
from windrow.sources.kafka.spans import Span, TopicEnds, read_span, shared_out, spans_between

Offset: TypeAlias = dict[str, Any]
Work: TypeAlias = Callable[[Iterator[Given], int, bool], Iterator[pa.RecordBatch]]
"""Turns what a task reads into the batches Spark gets, with the task's place among those of its micro-batch, and
whether the stream ends with it."""
_LOOK_EVERY = 0.05
"""Seconds between two looks at a topic."""
_LIMIT = "maxOffsetsPerTrigger"


@dataclass(frozen=True)
class Topic:
    """What is read and how; with `closes` the stream ends behind what is there when reading begins."""

    source: KafkaSource
    work: Work
    closes: bool

    @cached_property
    def most(self) -> int | None:
        """How many messages a micro-batch may have."""
        asked = self.source.address.options.get(_LIMIT)
        if asked is not None and (not asked.isdigit() or int(asked) < 1):
            raise ConfigurationError("must be a whole number of at least 1", parameter=_LIMIT, value=asked)
        return None if asked is None else int(asked)


class TopicStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Says up to where there are messages; tasks read one partition each."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.must_finish = False
        self.aim: Extent | None = None
        """What was there when reading began, where it ends there."""
        self.looked: tuple[float, Extent] | None = None

    @cached_property
    def ends(self) -> TopicEnds:
        return TopicEnds(self.topic.source)

    def initialOffset(self) -> Offset:  # noqa: N802
        return _offset(self.ends.start())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self.topic.most is None else ReadMaxRows(self.topic.most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self.must_finish = True
        self.aim = self._now()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        if start.get("ended"):
            return start
        source, begun, extent = self.topic.source, _offsets(start), self._now()
        check_offsets(source.address, source.name, begun, extent)
        if self.must_finish or self.topic.closes:
            extent = self.aim = self.aim or extent
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        reached = {**begun, **shared_out(begun, extent, most)}
        is_over = all(reached.get(partition, 0) >= high for partition, high in extent.high.items())
        return _offset(reached, ended=is_over and self.topic.closes)

    def _now(self) -> Extent:
        """What the topic holds; once it was seen, brokers that do not answer are waited for."""
        before, patience = self.looked, self.topic.source.address.patience
        if before is not None and (rest := before[0] + _LOOK_EVERY - time.monotonic()) > 0:
            time.sleep(rest)
        until = time.monotonic() + patience
        while True:
            try:
                extent = self.ends.now()
            except SourceError:
                if before is None or time.monotonic() > until:
                    raise
            else:
                self.looked = time.monotonic(), extent
                return extent

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        spans = spans_between(_offsets(start), _offsets(end))
        pieces = [InputPartition((span.partition, span.first, span.behind)) for span in spans]
        return [*pieces, InputPartition(None)] if end.get("ended") and not start.get("ended") else pieces

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if partition.value is None:
            yield from self.topic.work(iter(()), 1 << 30, True)
        else:
            span = Span(*partition.value)
            yield from self.topic.work(read_span(self.topic.source, span), span.partition, False)

    def stop(self) -> None:
        if "ends" in vars(self):
            self.ends.close()

    def __getstate__(self) -> dict[str, Any]:
        """Without its connection, which each process has for itself."""
        return {name: value for name, value in vars(self).items() if name != "ends"}


def _offset(offsets: dict[int, int], *, ended: bool = False) -> Offset:
    found: Offset = {"partitions": {str(partition): offset for partition, offset in sorted(offsets.items())}}
    return {**found, "ended": True} if ended else found


def _offsets(offset: Offset) -> dict[int, int]:
    return {int(partition): place for partition, place in offset["partitions"].items()}


def topic_class(name: str, schema: StructType | str, topic: Topic) -> type[DataSource]:
    """The format `name` that reads a topic: register it, then `readStream.format(name).load()`."""
    topic = replace(topic, work=LoadedLater(topic.work))

    class TopicSource(DataSource):  # defined in here so that it travels by value, with what it reads
        @classmethod
        def name(cls) -> str:
            return name

        def schema(self) -> StructType | str:
            return schema

        def streamReader(self, schema: StructType) -> Any:  # noqa: N802
            return TopicStream(topic)

    return TopicSource
