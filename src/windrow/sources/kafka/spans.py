"""Parts of a topic that are read by themselves, by as many processes as there are: from one offset up to another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from logging import WARNING
from typing import Any

from windrow.errors import SourceError
from windrow.events import tell
from windrow.sources.base import TICK_SECONDS, Given
from windrow.sources.kafka.client import library, made, partitions_of, settings_of, text_of
from windrow.sources.kafka.outages import Connection
from windrow.sources.kafka.places import Extent, asking, check_offsets, committed_extent, expired, first_offsets
from windrow.sources.kafka.source import KafkaSource
from windrow.sources.kafka.taken import TakenMessages
from windrow.sources.rejects import Reject, Rejects

MOST = 16_384


@dataclass(frozen=True)
class Span:
    """Messages of one partition."""

    partition: int
    first: int
    behind: int


def connected(source: KafkaSource) -> tuple[Any, Connection]:
    """A consumer that reads what it is told to."""
    connection = Connection(source.name, source.address)
    ours = {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "error_cb": connection.faults.note,
        "stats_cb": connection.note_statistics,
    }
    defaults = {"group.id": "windrow", "isolation.level": "read_committed", "statistics.interval.ms": 1000}
    settings = {**settings_of(source.address, source.name, defaults), **ours}
    return made("Consumer", settings, source.name, source.address.shown), connection


class TopicEnds:
    """Asks, again and again, what a topic holds."""

    def __init__(self, source: KafkaSource) -> None:
        self.source = source
        self.consumer, self.connection = connected(source)
        self.asking = asking(source.address)

    def now(self) -> Extent:
        """What may be read now, transactions that are not committed left out."""
        source = self.source
        partitions = partitions_of(self.consumer, source.address, source.name, self.connection.faults)
        return committed_extent(self.asking, source.address, partitions, source.name)

    def start(self) -> dict[int, int]:
        """Where a first run begins."""
        extent = self.now()
        offsets = first_offsets(self.consumer, self.source.address, extent, self.source.name)
        check_offsets(self.source.address, self.source.name, offsets, extent)
        return offsets

    def close(self) -> None:
        self.consumer.close()


def spans_between(start: Mapping[int, int], end: Mapping[int, int]) -> list[Span]:
    """One span a partition, where there is something to read."""
    return [Span(p, start.get(p, 0), behind) for p, behind in sorted(end.items()) if behind > start.get(p, 0)]


def shared_out(start: Mapping[int, int], extent: Extent, most: int | None) -> dict[int, int]:
    """Up to where to read when at most so many messages are wanted: of each partition in proportion to what it has.

    >>> shared_out({0: 0, 1: 0}, Extent({0: 0, 1: 0}, {0: 300, 1: 100}), 100)
    {0: 75, 1: 25}
    """
    left = {p: max(0, high - start.get(p, 0)) for p, high in extent.high.items()}
    total = sum(left.values())
    if most is None or total <= most:
        return {p: start.get(p, 0) + count for p, count in left.items()}
    return {p: start.get(p, 0) + min(count, -(-count * most // total)) for p, count in left.items()}


def read_span(source: KafkaSource, span: Span) -> Iterator[Given]:
    """The rows of a span and what is none; expired messages are told first."""
    consumer, connection = connected(source)
    try:
        yield from _SpanReading(source, span, consumer, connection).elements()
    finally:
        consumer.close()


class _SpanReading:
    """One reading of a span."""

    def __init__(self, source: KafkaSource, span: Span, consumer: Any, connection: Connection) -> None:
        self.source = source
        self.span = span
        self.consumer = consumer
        self.connection = connection
        self.next = span.first

    def elements(self) -> Iterator[Given]:
        self._assign()
        while self.next < self.span.behind:
            good, faulty = list[Any](), list[Any]()
            for message in self._consumed():
                (good if message.error() is None else faulty).append(message)
            if good:
                self.next = good[-1].offset() + 1
                yield from self._decoded([one for one in good if one.offset() < self.span.behind])
            for message in faulty:
                yield from self._heed(message)

    def _assign(self) -> None:
        topic = self.source.address.topic
        self.consumer.assign([library().TopicPartition(topic, self.span.partition, self.next)])

    def _consumed(self) -> Sequence[Any]:
        try:
            one = self.consumer.poll(TICK_SECONDS)
            found = [] if one is None else [one, *self.consumer.consume(MOST - 1, 0)]
        except library().KafkaException as error:
            raise SourceError("cannot be read", parameter=self.source.name, value=text_of(error)) from error
        self.connection.look(bool(found))
        return found

    def _decoded(self, messages: Sequence[Any]) -> Iterator[Given]:
        if not messages:
            return
        taken = TakenMessages.of(messages, self.source.address.topic)
        decoded = self.source.decoder.decode(taken)
        if decoded.batch.num_rows:
            yield decoded.batch
        if decoded.bad:
            yield Rejects.of(self.source.name, [taken.reject(place, reason) for place, reason in decoded.bad])

    def _heed(self, message: Any) -> Iterator[Given]:
        error, codes = message.error(), library().KafkaError
        if error.code() == codes._PARTITION_EOF:
            self.next = max(self.next, message.offset())
        elif error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            yield self._behind_expired()
        elif error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC, codes.TOPIC_AUTHORIZATION_FAILED):
            raise SourceError(
                f"cannot be read any more ({text_of(error)})",
                parameter=self.source.name,
                value=self.source.address.shown,
            )

    def _behind_expired(self) -> Rejects:
        """Messages are gone, an error unless the address says otherwise."""
        address, name, partition, wanted = self.source.address, self.source.name, self.span.partition, self.next
        extent = committed_extent(asking(address), address, [partition], name)
        check_offsets(address, name, {partition: wanted}, extent)
        low = max(wanted, extent.low[partition])
        if not address.goes_on_without_expired:
            raise expired(address, name, {partition: (wanted, low)})
        told = f"{address.text}: messages {wanted} to {low - 1} of partition {partition} expired before they were read"
        tell("source.expired", told, level=WARNING, source=name, messages=low - wanted)
        self.next = low
        self._assign()
        reason = f"it expired before it was read, and so did all up to offset {low - 1}"
        return Rejects.of(name, [Reject(address.topic, partition, wanted, reason, b"")])
