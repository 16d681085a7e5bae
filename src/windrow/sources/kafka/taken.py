"""Messages that were taken from the client together, those of one partition behind each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.sources.kafka.decoding import HEADERS
from windrow.sources.rejects import Reject

Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class TakenMessages:
    """Some messages, as `decoding` asks for them; and up to where they go in each partition."""

    messages: Sequence[Any]
    topic: str

    @staticmethod
    def of(messages: Sequence[Any], topic: str) -> TakenMessages:
        """Messages as they came."""
        places = [message.partition() for message in messages]
        if places.count(places[0]) != len(places):
            order = sorted(range(len(places)), key=places.__getitem__)
            messages = [messages[place] for place in order]
        return TakenMessages(messages, topic)

    @cached_property
    def values(self) -> list[bytes | None]:
        return [message.value() for message in self.messages]

    def column(self, name: str) -> pa.Array[Any]:
        found = self.messages
        if name == "_key":
            keys = [message.key() for message in found]
            return pa.array([key.encode() if isinstance(key, str) else key for key in keys], pa.binary())
        if name == "_headers":
            return pa.array([_headers(message.headers()) for message in found], HEADERS)
        if name == "_partition":
            return pa.array([message.partition() for message in found], pa.int32())
        if name == "_offset":
            return pa.array([message.offset() for message in found], pa.int64())
        if name == "_timestamp":
            stamps = [message.timestamp() for message in found]
            times = [None if kind == 0 else time for kind, time in stamps]
            return pa.array(times, pa.int64()).cast(pa.timestamp("ms", "UTC"))
        return pa.array([self.topic] * len(found), pa.string())

    @cached_property
    def counts(self) -> list[tuple[int, int]]:
        """How many messages of which partition, in their order."""
        found = groupby(self.messages, key=lambda message: message.partition())
        return [(partition, sum(1 for _ in same)) for partition, same in found]

    @cached_property
    def offsets(self) -> dict[int, int]:
        """By partition, the offset behind the last."""
        ends = np.cumsum([count for _, count in self.counts])
        return {p: self.messages[end - 1].offset() + 1 for (p, _), end in zip(self.counts, ends, strict=True)}

    def rows(self, good: Places | None) -> list[list[int]]:
        """How many rows of which partition there are, in their order, where `good` messages are rows (None: all)."""
        if good is None:
            return [list(pair) for pair in self.counts]
        ends = np.cumsum([count for _, count in self.counts])
        counts = np.diff(np.searchsorted(good, ends), prepend=0)
        return [[p, int(count)] for (p, _), count in zip(self.counts, counts, strict=True) if count]

    def reject(self, place: int, reason: str) -> Reject:
        """A message that is no row."""
        one = self.messages[place]
        return Reject(self.topic, one.partition(), one.offset(), reason, one.value() or b"")


def _headers(headers: Any) -> list[dict[str, Any]] | None:
    if not headers:
        return None
    pairs = headers.items() if isinstance(headers, dict) else headers
    return [{"key": key, "value": value.encode() if isinstance(value, str) else value} for key, value in pairs]
