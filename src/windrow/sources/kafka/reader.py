"""One reading of a topic: all its partitions side by side, from offsets that the run's own checkpoints have.

No consumer group takes part: nothing is committed anywhere else, so rows count exactly once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from logging import WARNING
from time import monotonic
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.errors import SourceError
from windrow.events import tell
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sources.base import TICK_SECONDS, Given, Position, Sign
from windrow.sources.kafka.address import KafkaAddress
from windrow.sources.kafka.client import library, made, partitions_of, settings_of, text_of
from windrow.sources.kafka.decoding import Decoder
from windrow.sources.kafka.outages import Connection
from windrow.sources.kafka.places import Extent, check_offsets, ended_before, expired, extent_of, first_offsets
from windrow.sources.kafka.state import ReadState
from windrow.sources.kafka.taken import Places, TakenMessages
from windrow.sources.rejects import Reject, Rejects

MOST = 16_384
"""Messages that are taken from the client at once: many for whole-array work, few enough for memory."""


class Described(Protocol):
    """What is read: of `KafkaSource`."""

    @property
    def name(self) -> str: ...
    @property
    def address(self) -> KafkaAddress: ...
    @property
    def decoder(self) -> Decoder: ...
    @property
    def ends(self) -> bool: ...
    @property
    def announces(self) -> bool: ...


class KafkaReader:
    """Polls a topic."""

    def __init__(self, source: Described, position: Position | None, batch_rows: int) -> None:
        self.source = source
        self.address = source.address
        self.most = min(batch_rows, MOST)
        self.connection = Connection(source.name, source.address)
        self.ready: deque[tuple[Given, Position, Position]] = deque()
        """What is given next, with the positions where it begins and behind it."""
        self.done: set[int] = set()
        """Partitions that were read to their end, where the reading ends."""
        self.announced: set[int] = set()
        self.consumer = made("Consumer", self._settings(), source.name, self.address.shown)
        try:
            self._begin(position)
        except BaseException:
            self.consumer.close()
            raise

    def _settings(self) -> dict[str, Any]:
        defaults = {"group.id": "windrow", "isolation.level": "read_committed", "statistics.interval.ms": 1000}
        ours = {
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "error_cb": self.connection.faults.note,
            "stats_cb": self.connection.note_statistics,
        }
        return {**settings_of(self.address, self.source.name, defaults), **ours}

    def _begin(self, position: Position | None) -> None:
        name, address = self.source.name, self.address
        partitions = partitions_of(self.consumer, address, name, self.connection.faults)
        extent = extent_of(self.consumer, address, partitions, name)
        if position is None:
            self.state = ReadState(first_offsets(self.consumer, address, extent, name))
        else:
            self.state = ReadState.at(position, name, address)
        offsets = self.state.offsets
        check_offsets(address, name, offsets, extent)
        if self.state.ended and (error := ended_before(name, address, offsets, extent)):
            raise error
        offsets.update({partition: 0 for partition in partitions if partition not in offsets})
        self.ends = dict(extent.high) if self.source.ends else None
        self._position = self._begins = self.state.position()
        lost = {p: (offset, extent.low[p]) for p, offset in offsets.items() if offset < extent.low[p]}
        self._go_on_behind(lost)
        self._announce(extent)
        self._assign()

    @property
    def position(self) -> Position:
        return self._position

    @property
    def begins(self) -> Position:
        """Where what was given last begins: a reader that is opened there gives its rows first, in the same order."""
        return self._begins

    def poll(self, timeout: float | None = None) -> Given | Sign:
        until = None if timeout is None else monotonic() + timeout
        while not self.ready:
            if self.state.ended or self._is_over():
                self.state.ended = True
                self._position = self._begins = self.state.position()
                return Sign.END
            left = TICK_SECONDS if until is None else min(TICK_SECONDS, max(0.0, until - monotonic()))
            self._take(self._consumed(left))
            if not self.ready and until is not None and monotonic() >= until:
                return Sign.TICK
        given, self._begins, self._position = self.ready.popleft()
        return given

    def close(self) -> None:
        self.consumer.close()

    def _is_over(self) -> bool:
        return self.ends is not None and not self.state.first and self.done.issuperset(self.ends)

    def _put(self, given: Given, begins: Position | None = None) -> None:
        """To be given next; the state is behind it."""
        behind = self.state.position()
        self.ready.append((given, behind if begins is None else begins, behind))

    def _consumed(self, timeout: float) -> Sequence[Any]:
        """Messages that are there; the first of them is waited for."""
        first = self.state.first
        most = min(self.most, first[0][1]) if first else self.most
        try:
            one = self.consumer.poll(timeout)
            found = [] if one is None else [one, *(self.consumer.consume(most - 1, 0) if most > 1 else ())]
        except library().KafkaException as error:
            raise SourceError("cannot be read", parameter=self.source.name, value=text_of(error)) from error
        self.connection.look(bool(found))
        if new := self.connection.partitions.difference(self.state.offsets):
            self._add(sorted(new))
        return found

    # Which partitions are read.

    def _announce(self, extent: Extent) -> None:
        """Partitions that have messages are known before any of these, so that none is judged without the others."""
        for partition in extent.filled:
            self._tell(partition, START)
        for partition, end in (self.ends or {}).items():
            if self.state.offsets[partition] >= end:
                self._note_end(partition)

    def _tell(self, partition: int, value: int) -> None:
        if self.source.announces and (value == END or partition not in self.announced):
            self.announced.add(partition)
            self._put(Punctuation(value, group=(partition,)))

    def _add(self, partitions: Sequence[int]) -> None:
        """New ones are read from their beginning."""
        self.state.offsets.update(dict.fromkeys(partitions, 0))
        told = f"{self.address.text}: partitions {', '.join(map(str, partitions))} are new"
        tell("source.partitions_added", told, source=self.source.name, partitions=list(partitions))
        if self.ends is None:
            self._assign()

    def _assign(self) -> None:
        """Read on where the state is: all partitions, or the one whose rows come first."""
        first, offsets = self.state.first, self.state.offsets
        wanted = [first[0][0]] if first else [partition for partition in offsets if partition not in self.done]
        package, topic = library(), self.address.topic
        self.consumer.assign([package.TopicPartition(topic, p, offsets[p]) for p in sorted(wanted)])

    # What came.

    def _take(self, messages: Sequence[Any]) -> None:
        faulty = [message for message in messages if message.error() is not None]
        good = [message for message in messages if message.error() is None] if faulty else messages
        if self.ends is not None:
            good = self._before_the_end(good, self.ends)
        if good:
            self._decode(TakenMessages.of(good, self.address.topic))
        for message in faulty:
            self._heed(message)

    def _before_the_end(self, messages: Sequence[Any], ends: Mapping[int, int]) -> Sequence[Any]:
        return [message for message in messages if message.offset() < ends.get(message.partition(), 0)]

    def _decode(self, taken: TakenMessages) -> None:
        """Rows, then what is none."""
        for partition, _ in taken.counts:
            self._tell(partition, START)
        before, had_first = self.state.position(), len(self.state.first)
        decoded = self.source.decoder.decode(taken)
        batch, good = decoded.batch, decoded.good
        if self.state.given:
            batch, good = self._not_given(taken, batch, good)
        if batch.num_rows:
            begins = before if had_first else {**before, "first": taken.rows(good)}
            self.state.give(batch.num_rows, taken.offsets)
            if not decoded.bad:
                self.state.move(taken.offsets)
            self._put(batch, begins)
        self.state.move(taken.offsets)
        if decoded.bad:
            self._reject((taken.reject(place, reason) for place, reason in decoded.bad), before)
        if had_first > len(self.state.first):
            self._assign()
        for partition, offset in taken.offsets.items():
            if self.ends is not None and offset >= self.ends[partition]:
                self._note_end(partition)

    def _not_given(
        self, taken: TakenMessages, batch: pa.RecordBatch, good: Places | None
    ) -> tuple[pa.RecordBatch, Places]:
        """Without the rows that were given before the run was saved."""
        found = np.arange(len(taken.messages)) if good is None else good
        given = self.state.given
        rows = [taken.messages[place] for place in found.tolist()]
        new = [row.offset() >= given.get(row.partition(), 0) for row in rows]
        return batch.filter(pa.array(new, pa.bool_())), found[np.array(new, np.bool_)]

    def _reject(self, rejects: Iterable[Reject], begins: Position) -> None:
        self._put(Rejects.of(self.source.name, list(rejects)), begins)

    def _heed(self, message: Any) -> None:
        """What the client gives in place of a message."""
        error, codes, partition = message.error(), library().KafkaError, message.partition()
        if error.code() == codes._PARTITION_EOF:
            if not self.state.first:
                self.state.move({partition: message.offset()})
                self._note_end(partition)
        elif error.code() in (codes._AUTO_OFFSET_RESET, codes.OFFSET_OUT_OF_RANGE):
            self._find_expired(partition)
        elif error.code() in (codes.UNKNOWN_TOPIC_OR_PART, codes._UNKNOWN_TOPIC, codes.TOPIC_AUTHORIZATION_FAILED):
            raise SourceError(
                f"cannot be read any more ({text_of(error)})", parameter=self.source.name, value=self.address.shown
            )
        else:
            told = f"{self.address.text}: {text_of(error)}"
            tell("source.fault", told, level=WARNING, every=10.0, source=self.source.name)

    def _note_end(self, partition: int) -> None:
        if self.ends is not None and partition not in self.done and not self.state.first:
            self.done.add(partition)
            self._tell(partition, END)

    def _find_expired(self, partition: int) -> None:
        extent = extent_of(self.consumer, self.address, [partition], self.source.name)
        wanted, low = self.state.offsets[partition], extent.low[partition]
        check_offsets(self.address, self.source.name, {partition: wanted}, extent)
        if low > wanted:
            self._go_on_behind({partition: (wanted, low)})
        self._assign()

    def _go_on_behind(self, lost: Mapping[int, tuple[int, int]]) -> None:
        """Messages are gone; an error unless the address says otherwise, and then they are told as rejected."""
        if lost and not self.address.goes_on_without_expired:
            raise expired(self.address, self.source.name, lost)
        for partition, (first, behind) in sorted(lost.items()):
            before = self.state.position()
            self.state.first.clear()
            self.state.move({partition: behind})
            where = f"messages {first} to {behind - 1} of partition {partition}"
            told = f"{self.address.text}: {where} expired before they were read"
            tell("source.expired", told, level=WARNING, source=self.source.name, messages=behind - first)
            reason = f"it expired before it was read, and so did all up to offset {behind - 1}"
            self._reject([Reject(self.address.topic, partition, first, reason, b"")], before)
