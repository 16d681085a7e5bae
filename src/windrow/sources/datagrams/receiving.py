"""The thread that empties a socket: many datagrams a call, taken apart where they lie, given to the ring.

Datagrams are read into a small stretch of memory that stays in the cache, and their fields go from there into columns
at once. Where few were waiting, the thread naps for a moment: a call and a pass for every datagram would cost more
than all else.
"""

from __future__ import annotations

import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from errno import EAGAIN, EINTR, EWOULDBLOCK
from threading import Thread
from typing import Any

import numpy as np

from windrow.errors import SourceError, reason_of
from windrow.sources.base import Sign
from windrow.sources.datagrams.calls import SYSTEM, MessageHeaders
from windrow.sources.datagrams.ring import Item, Ring
from windrow.sources.datagrams.sockets import coalesce, dropped, granted_by

SLOT = 65536
"""Bytes of the longest message."""
_STEP = SLOT + 64 * 9
"""From one slot to the next: not a power of two, such that their beginnings do not fight for places in the cache."""
_SINGLE, _TOGETHER = 256, 16
"""MessageHeaders a call, where each is one datagram, and where it may be many."""
_PACE = 20e9
"""Bytes a second that nobody sends: a buffer is left alone for no longer than it lasts at this pace."""
_NAP = 0.5e-3


class Inbox:
    """MessageHeaders as they come, in memory that is used again and again."""

    def __init__(self, made: socket.socket, together: bool) -> None:
        self.socket = made
        self.together = together and coalesce(made)
        self.count = 1 if SYSTEM is None else _TOGETHER if self.together else _SINGLE
        self.data = np.zeros(self.count * _STEP, np.uint8)
        self.places = np.arange(self.count, dtype=np.int64) * _STEP
        self.sizes = np.zeros(self.count, np.int64)
        self.segments = np.zeros(self.count, np.int64)
        self.messages = MessageHeaders(self.count)
        self.messages.point_at(self.data, self.places, SLOT)
        self.messages.with_names()
        if self.together:
            self.messages.with_notes()
        self.addresses: list[Any] = []
        self.before = 0
        """Datagrams that came before those at hand."""
        self.came = 0
        """Datagrams that came, these included."""

    @property
    def names(self) -> Any:
        return self.messages.names

    def fill(self) -> int:
        """Wait for messages, but not long; how many came."""
        if SYSTEM is None:
            return self._fill_one()
        try:
            taken = self.messages.receive(self.socket.fileno())
        except OSError as error:
            if error.errno in (EAGAIN, EWOULDBLOCK, EINTR):
                return 0
            raise
        self.sizes[:taken] = self.messages.headers["size"][:taken]
        if self.together:
            segments = self.segments[:taken] = self.messages.segments(taken)
            many = segments > 0
            found = int((-(-self.sizes[:taken][many] // segments[many])).sum()) + int((~many).sum())
        else:
            found = taken
        self.before, self.came = self.came, self.came + found
        return taken

    def _fill_one(self) -> int:
        try:
            raw: Any = self.data
            size, address = self.socket.recvfrom_into(raw, SLOT)
        except (BlockingIOError, TimeoutError, InterruptedError):
            return 0
        self.sizes[0] = size
        self.addresses = [address]
        name = repr(address).encode()[:32].ljust(32, b"\0")
        self.messages.names[0] = np.frombuffer(name, np.uint64)
        self.before, self.came = self.came, self.came + 1
        return 1

    def number_of(self, message: int, byte: int) -> int:
        """Which datagram begins there, counted from 0."""
        held = [
            -(-int(size) // int(step)) if step else 1
            for size, step in zip(self.sizes[:message], self.segments[:message], strict=True)
        ]
        step = int(self.segments[message])
        return self.before + sum(held) + (byte // step if step else 0)

    def sender_of(self, message: int) -> str:
        """The address a message came from, as text."""
        if SYSTEM is None:
            host, port = self.addresses[0][:2]
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raw = self.names[message].tobytes()
        family, port = int.from_bytes(raw[:2], "little"), int.from_bytes(raw[2:4], "big")
        if family == socket.AF_INET:
            return f"{socket.inet_ntop(socket.AF_INET, raw[4:8])}:{port}"
        if family == socket.AF_INET6:
            return f"[{socket.inet_ntop(socket.AF_INET6, raw[8:24])}]:{port}"
        return ""


class Interpretation(ABC):
    """How what is in the inbox becomes items of the ring."""

    @abstractmethod
    def items(self, inbox: Inbox, taken: int) -> Iterator[tuple[Item, int]]:
        """What so many messages hold, with its bytes."""

    @property
    @abstractmethod
    def missing(self) -> int:
        """Datagrams that did not come, by their numbers."""


class Receiving:
    """A socket and the thread that empties it."""

    def __init__(
        self, made: socket.socket, ring: Ring, reading: Interpretation, *, together: bool, idle: float | None
    ) -> None:
        """The stream ends when nothing came for `idle` seconds."""
        self.socket, self.ring, self.reading, self.idle = made, ring, reading, idle
        self.inbox = Inbox(made, together)
        self.nap = min(_NAP, granted_by(made) / _PACE)
        self._dropped = 0
        self._thread = Thread(target=self._run, daemon=True, name="windrow-datagrams")
        self._thread.start()

    @property
    def came(self) -> int:
        """Datagrams so far."""
        return self.inbox.came

    @property
    def lost(self) -> int:
        """Datagrams that are missing: by their numbers, or by what the kernel could not keep, whatever is more.

        The kernel counts those that came here, numbers count those lost on the way, too.
        """
        if self.socket.fileno() >= 0:
            self._dropped = max(self._dropped, dropped(self.socket))
        return max(self._dropped, self.reading.missing)

    def close(self) -> None:
        """The port is free afterwards."""
        self.ring.stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._empty()
            self.ring.put(Sign.END, 0)
        except BaseException as error:
            self.ring.put(_fault(error), 0)
        finally:
            self._dropped = max(self._dropped, dropped(self.socket))
            self.socket.close()

    def _empty(self) -> None:
        """Until the stream ends or nobody wants more."""
        ring, inbox, heard = self.ring, self.inbox, time.monotonic()
        while ring.make_room():
            taken = inbox.fill()
            if not taken:
                if self.idle is not None and time.monotonic() - heard >= self.idle:
                    return
                continue
            if self.idle is not None:
                heard = time.monotonic()
            for item, size in self.reading.items(inbox, taken):
                if item is Sign.END:
                    return
                ring.put(item, size)
            if taken < inbox.count // 2:
                time.sleep(self.nap)


def _fault(error: BaseException) -> BaseException:
    if not isinstance(error, OSError) or isinstance(error, SourceError):
        return error
    made = SourceError(
        f"broke while datagrams were read ({reason_of(error)})", hint="see to the network, and run again"
    )
    made.__cause__ = error
    return made
