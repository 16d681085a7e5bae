"""Datagrams laid into an inbox by hand, and what a reading makes of them."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.frames.packing import Datagrams
from windrow.frames.tuples import TupleLayout
from windrow.semantics.progress.policies import Punctuation
from windrow.sources.base import Sign
from windrow.sources.conform import encoded_schema
from windrow.sources.datagrams.readings import PackedReading
from windrow.sources.datagrams.receiving import Inbox
from windrow.sources.datagrams.records import Piece
from windrow.sources.datagrams.ring import Refused


def inbox() -> Inbox:
    """One that nobody sends to."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        return Inbox(made, together=False)


def lay(into: Inbox, datagrams: Sequence[bytes], segments: Sequence[int] = (), ports: Sequence[int] = ()) -> int:
    """Put datagrams where the kernel would; `segments` cut them, `ports` are those of their senders."""
    into.before, into.came = into.came, into.came + len(datagrams)
    for place, datagram in enumerate(datagrams):
        at = int(into.places[place])
        into.data[at : at + len(datagram)] = np.frombuffer(datagram, np.uint8)
        into.sizes[place] = len(datagram)
        into.segments[place] = segments[place] if segments else 0
        port = ports[place] if ports else 7000
        name = socket.AF_INET.to_bytes(2, "little") + port.to_bytes(2, "big") + bytes([127, 0, 0, 1])
        into.messages.names[place] = np.frombuffer(name.ljust(32, b"\0"), np.uint64)
    return len(datagrams)


class Reader:
    """A reading with an inbox of its own; what it gives is gathered."""

    def __init__(self, schema: pa.Schema, types: str | None = None, **settings: Any) -> None:
        self.schema = encoded_schema(schema)
        given = {"header": True, "big": False, "ends": True, **settings}
        self.layout = TupleLayout.of(schema, types)
        self.reading = PackedReading(self.layout, self.schema, **given)
        self.inbox = inbox()
        self.rows: list[dict[str, Any]] = []
        self.given: list[Any] = []
        """Counts of rows, promises, reasons and the end, in order."""

    def read(self, *datagrams: bytes | Datagrams, **how: Any) -> None:
        each = [one for some in datagrams for one in (some.each() if isinstance(some, Datagrams) else [some])]
        for start in range(0, len(each), self.inbox.count):
            taken = lay(self.inbox, each[start : start + self.inbox.count], **how)
            for item, _ in self.reading.items(self.inbox, taken):
                self._note(item)

    def _note(self, item: Any) -> None:
        if isinstance(item, Piece):
            batch = item.batch(self.schema)
            batch.validate(full=True)
            self.rows += batch.to_pylist()
            self.given.append(len(batch))
        elif isinstance(item, Refused):
            self.given += [one.reason for one in item]
        else:
            assert isinstance(item, (Punctuation, Sign))
            self.given.append(item.value if isinstance(item, Punctuation) else item)
