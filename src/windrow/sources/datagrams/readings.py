"""What datagrams hold: frames of packed rows, bare rows, or text; and those that hold nothing of the stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.frames.header import VERSION
from windrow.frames.tuples import TupleLayout
from windrow.operators.kernels import datagrams as kernels
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Sign
from windrow.sources.datagrams.receiving import SLOT, Inbox, Interpretation
from windrow.sources.datagrams.records import Gatherer
from windrow.sources.datagrams.ring import Item, Lines, Refused
from windrow.sources.rejects import Reject

_SENDERS = 256
"""Whose numbers are followed at once."""
_SPANS = 1 << 14
_PUNCTUATION_BYTES = 64


class PackedReading(Interpretation):
    """Rows of fixed width, in frames with a header or bare."""

    def __init__(self, layout: TupleLayout, schema: pa.Schema, *, header: bool, big: bool, ends: bool) -> None:
        self.layout, self.header, self.big, self.ends = layout, header, big, ends
        self.gatherer = Gatherer(layout, schema, max(1 << 17, 32 * SLOT // layout.size), big)
        self.known = np.zeros((_SENDERS, 4), np.uint64)
        self.heard = 0
        """Senders so far."""
        self.senders = np.zeros((_SENDERS + 1, 4), np.int64)
        self.seen = np.zeros((_SENDERS, kernels.WINDOW // 64), np.uint64)
        self.spans = np.zeros((_SPANS, 5), np.int64)
        self.owners = np.zeros(1024, np.int64)
        self._compile()

    def _compile(self) -> None:
        """Call every loop once without a datagram: the first ones would be lost while they are compiled."""
        data, none, cursor = np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(2, np.int64)
        kernels.owners_of(np.zeros((0, 4), np.uint64), self.known, 0, self.senders, none)
        if self.header:
            expected = self.layout.schema_id, self.layout.size, self.layout.null_bytes, self.big
            kernels.deframe(data, none, none, none, none, *expected, self.senders, self.seen, cursor, self.spans)
        else:
            kernels.bare(none, none, none, none, self.layout.size, cursor, self.spans)
        self.gatherer.gather(data, self.spans[:0], 0)
        kernels.gather_nulls(data, self.spans[:0], 0, np.zeros(0, np.bool_), 0)

    @property
    def missing(self) -> int:
        return int(self.senders[:, kernels.MISSING].sum())

    def items(self, inbox: Inbox, taken: int) -> Iterator[tuple[Item, int]]:
        if self.header:
            owners = self.owners[:taken]
            self.heard = kernels.owners_of(inbox.names[:taken], self.known, self.heard, self.senders, owners)
        cursor = np.zeros(2, np.int64)
        while cursor[0] < taken:
            spans = self.spans[: self._spans(inbox, taken, cursor)]
            yield from self._of_spans(inbox, spans)

    def _spans(self, inbox: Inbox, taken: int, cursor: Any) -> int:
        layout, owners = self.layout, self.owners[:taken]
        messages = inbox.places[:taken], inbox.sizes[:taken], inbox.segments[:taken], owners
        if not self.header:
            return int(kernels.bare(*messages, layout.size, cursor, self.spans))
        expected = layout.schema_id, layout.size, layout.null_bytes, self.big
        return int(kernels.deframe(inbox.data, *messages, *expected, self.senders, self.seen, cursor, self.spans))

    def _of_spans(self, inbox: Inbox, spans: Any) -> Iterator[tuple[Item, int]]:
        """Rows together up to what comes between them."""
        kinds = spans[:, kernels.KIND]
        first = 0
        for place in [*np.flatnonzero(kinds != kernels.ROWS).tolist(), len(spans)]:
            if place > first:
                yield self._rows(inbox, spans[first:place])
            if place < len(spans):
                yield from self._other(inbox, spans[place])
            first = place + 1

    def _rows(self, inbox: Inbox, spans: Any) -> tuple[Item, int]:
        rows = int(spans[:, kernels.COUNT].sum())
        return self.gatherer.gather(inbox.data, spans, rows), rows * self.gatherer.row_bytes

    def _other(self, inbox: Inbox, span: Any) -> Iterator[tuple[Item, int]]:
        at, kind = int(span[kernels.START]), int(span[kernels.KIND])
        if kind == kernels.PUNCTUATION:
            raw = inbox.data[at : at + 8 * int(span[kernels.COUNT])]
            for value in np.frombuffer(raw.tobytes(), ">i8" if self.big else "<i8"):
                yield Punctuation(int(value)), _PUNCTUATION_BYTES
        elif kind == kernels.END:
            if self.ends and self._all_ended():
                yield Sign.END, 0
        else:
            yield Refused([self._reject(inbox, at, int(span[kernels.SIZE]), kind)]), int(span[kernels.SIZE])

    def _all_ended(self) -> bool:
        """Whether every sender that was heard said so."""
        heard = self.senders[: min(self.heard, _SENDERS)]
        return bool((heard[:, kernels.ENDED] == 1).all()) if self.header else True

    def _reject(self, inbox: Inbox, at: int, size: int, kind: int) -> Reject:
        message = int(np.searchsorted(inbox.places, at, side="right")) - 1
        payload = inbox.data[at : at + size].tobytes()
        number = inbox.number_of(message, at - int(inbox.places[message]))
        return Reject(inbox.sender_of(message), None, number, self._why(kind, payload), payload)

    def _why(self, kind: int, payload: bytes) -> str:
        size, layout = len(payload), self.layout
        if kind == kernels.PART:
            return f"its {size} bytes are no whole number of rows of {layout.size} bytes"
        if kind == kernels.SCHEMA:
            given = int.from_bytes(payload[8:12], "little")
            return f"its rows are of schema {given:#010x}, not of {layout.schema_id:#010x} ({layout.text})"
        if kind == kernels.LENGTH:
            count = int.from_bytes(payload[6:8], "little")
            return f"it has {size} bytes, which is not what its {count} records take"
        if kind == kernels.FLAGS:
            return f"it has flags that nobody knows ({payload[5]})"
        if kind == kernels.TWICE:
            return f"frame {int.from_bytes(payload[12:20], 'little')} came before"
        if kind == kernels.ORDER:
            order = "little" if self.big else "big"
            return f"its numbers have the other byte order: say order={order}"
        return f"it is no frame of Windrow's, version {VERSION}"


class TextReading(Interpretation):
    """Messages, or lines of them; an empty datagram is the end."""

    def __init__(self, *, ends: bool) -> None:
        self.ends = ends

    @property
    def missing(self) -> int:
        return 0

    def items(self, inbox: Inbox, taken: int) -> Iterator[tuple[Item, int]]:
        lines = Lines()
        for at, size, step in zip(inbox.places[:taken], inbox.sizes[:taken], inbox.segments[:taken], strict=True):
            for byte in range(0, int(size), int(step or size or 1)):
                lines.append(inbox.data[at + byte : at + min(size, byte + (step or size))].tobytes())
            if size == 0 and self.ends:
                yield lines, sum(map(len, lines))
                yield Sign.END, 0
                return
        yield lines, sum(map(len, lines))
