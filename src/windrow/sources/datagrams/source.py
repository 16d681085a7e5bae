"""`udp://host:port`: rows that come in datagrams, as a network card or a circuit sends them.

Nobody sends a datagram twice: what is lost is lost, and counted. So rows count at most once, and a position only says
how many there were.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from logging import getLogger
from typing import Any

import pyarrow as pa

from windrow.errors import ConfigurationError, SourceError
from windrow.frames.tuples import TupleLayout
from windrow.semantics.progress.policies import START, Punctuation
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.sources.addresses import host_and_port, known_options, options_of
from windrow.sources.base import (
    BATCH_ROWS,
    ElementReader,
    Given,
    Position,
    Sign,
    Source,
    cut,
    narrow,
)
from windrow.sources.conform import encoded_schema, plain_schema
from windrow.sources.datagrams.readings import PackedReading, TextReading
from windrow.sources.datagrams.receiving import Interpretation, Receiving
from windrow.sources.datagrams.records import Piece
from windrow.sources.datagrams.ring import Lines, Ring
from windrow.sources.datagrams.sockets import SocketBuffer, bound, granted_by
from windrow.sources.live.endless import EndlessSource
from windrow.sources.messages import FORMATS, MessageFormat, message_format
from windrow.sources.rejects import Reject, Rejects

log = getLogger("windrow")
FRAMES = ("packed", "bare", *FORMATS)
OPTIONS = ("frames", "types", "order", "buffer", "wait", "idle", "end", "offload", "interface")
_BUFFER = 64 << 20
_WAIT = 2e-3
_NOW = 0.2
"""Seconds of silence after which all that was there has been read."""
_SIZES = {"": 1, "B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


@dataclass(frozen=True)
class UdpOptions:
    """What an address says behind its question mark."""

    frames: str = "packed"
    types: str | None = None
    big: bool = False
    buffer: int = _BUFFER
    wait: float = _WAIT
    idle: float | None = None
    ends: bool = True
    offload: bool = True
    interface: str | None = None

    @staticmethod
    def of(address: str, name: str) -> UdpOptions:
        """Of an address; `name` is what messages call the stream."""
        _, given = options_of(address)
        known_options(address, given, OPTIONS, name)
        frames = _chosen(given, "frames", FRAMES)
        if frames not in ("packed", "bare"):
            for option in ("types", "order"):
                if option in given:
                    raise ConfigurationError(f"is for frames=packed and bare, not for {frames}", parameter=option)
        return UdpOptions(
            frames=frames,
            types=given.get("types"),
            big=_chosen(given, "order", ("little", "big")) == "big",
            buffer=_size(given.get("buffer", str(_BUFFER))),
            wait=_seconds(given, "wait", _WAIT),
            idle=_seconds(given, "idle", None),
            ends=_chosen(given, "end", ("mark", "never")) == "mark",
            offload=_chosen(given, "offload", ("on", "off") if frames == "packed" else ("off", "on")) == "on",
            interface=given.get("interface"),
        )


def _chosen(given: dict[str, str], name: str, allowed: tuple[str, ...]) -> str:
    """One of some words, the first where nothing is said."""
    value = given.get(name, allowed[0])
    if value not in allowed:
        raise ConfigurationError("must be a known word", parameter=name, value=value, allowed=tuple(sorted(allowed)))
    return value


def _size(text: str) -> int:
    number = text.rstrip("KMGBkmgb ").strip()
    unit = text[len(text.rstrip("KMGBkmgb")) :].upper()
    if not number.isdigit() or unit not in _SIZES or int(number) * _SIZES[unit] < 1 << 10:
        raise ConfigurationError("must be a size of 1 KB at least", parameter="buffer", value=text, hint="write 64MB")
    return int(number) * _SIZES[unit]


def _seconds(given: dict[str, str], name: str, default: Any) -> Any:
    if name not in given:
        return default
    amount = Amount.of(given[name], name)
    if not amount.is_time or amount.number < 0:
        raise ConfigurationError(
            "must be a length of time", parameter=name, value=given[name], hint=f"write {name}=5 s"
        )
    return amount.resolve(Domain.TIME, name) / 1e6


def open_udp(address: str, *, name: str, schema: pa.Schema | None) -> UdpSource:
    """The source at an address; nothing is bound before it is read."""
    options = UdpOptions.of(address, name)
    plain, _ = options_of(address)
    host, port = host_and_port(plain, name)
    if schema is None or not len(schema):
        raise ConfigurationError(
            "must have declared columns, because datagrams do not name theirs",
            parameter=name,
            hint=f"CREATE STREAM {name} (time TIMESTAMP, ...) in SQL, schema=pa.schema(...) in Python",
        )
    format_, layout = None, None
    if options.frames in ("packed", "bare"):
        layout = TupleLayout.of(schema, options.types, name)
    else:
        format_ = message_format(options.frames, schema, "frames", name)
    columns = encoded_schema(plain_schema(schema))
    return UdpSource(name, columns, columns, plain, host, port, options, layout, format_)


@dataclass(frozen=True, eq=False)
class UdpSource(EndlessSource):
    """Datagrams that come to a port of this machine."""

    columns: pa.Schema
    """All there are, where only some are wanted."""
    address: str
    host: str
    port: int
    options: UdpOptions
    layout: TupleLayout | None
    format: MessageFormat | None

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.address,)

    def until_now(self) -> Source:
        """Ends once nothing waits any more."""
        return replace(self, options=replace(self.options, idle=_NOW))

    def describe(self) -> str:
        return f"datagrams at {self.address} ({self.options.frames})"

    def select(self, columns: Any) -> Source:
        return replace(self, schema=narrow(self.schema, columns, self.name))

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> UdpReader:
        wait = self.options.wait if batch_wait is None else min(batch_wait, self.options.wait)
        return UdpReader(self, position, batch_rows, wait)

    def reading(self) -> Interpretation:
        """How its datagrams are taken apart."""
        options = self.options
        if self.layout is None:
            return TextReading(ends=options.ends)
        header = options.frames == "packed"
        return PackedReading(self.layout, self.schema, header=header, big=options.big, ends=options.ends)


class UdpReader(ElementReader):
    """Reads what a thread of its own takes from the socket; a position goes on counting, and nothing else."""

    def __init__(self, source: UdpSource, position: Position | None, batch_rows: int, wait: float) -> None:
        if position is not None and not {"rows", "punctuations", "lost"}.issuperset(position):
            raise SourceError(
                "must be the stream that was read before",
                parameter=source.name,
                value=f"{source.describe()} in place of another source",
                hint="give the run the address it began with, or begin anew in an empty folder",
            )
        super().__init__(iter(()), position)
        self.source, self.batch_rows, self.wait = source, batch_rows, wait
        self._lost_before = 0 if position is None else int(position.get("lost", 0))
        self._waiting: deque[Given] = deque()
        self._promised = START
        self._lines = 0
        options, reading = source.options, source.reading()  # which may take a while, in which nothing must come
        made = bound(
            source.host,
            source.port,
            options.buffer,
            parameter=source.name,
            value=source.address,
            interface=options.interface,
        )
        self.buffer = SocketBuffer(options.buffer, granted_by(made))
        """What the kernel gave the socket."""
        if self.buffer.note:
            log.warning("%s: %s", source.name, self.buffer.note)
        self.port = int(made.getsockname()[1])
        """Where it listens; a port of the system's choice where the address has 0."""
        self.ring = Ring(options.buffer)
        self.receiving = Receiving(made, self.ring, reading, together=options.offload, idle=options.idle)
        self._enough = 1 << 20

    @property
    def lost(self) -> int:
        """Datagrams that did not come in, in all runs over this stream."""
        return self._lost_before + self.receiving.lost

    @property
    def came(self) -> int:
        """Datagrams that came in."""
        return self.receiving.came

    @property
    def position(self) -> Position:
        lost = {"lost": self.lost} if self.lost else {}
        rows, punctuations = self.rows, self.punctuations
        return {"rows": rows, **({"punctuations": punctuations} if punctuations else {}), **lost}

    def poll(self, timeout: float | None = None) -> Any:
        while True:
            if self._waiting:
                return self._given(self._waiting.popleft())
            item = self.ring.take(self._enough, 0.0 if timeout == 0 else self.wait, timeout)
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, Sign):
                return item
            self._waiting.extend(self._elements(item))

    def _given(self, element: Given) -> Any:
        return element if isinstance(element, Rejects) else self.counted(element)

    def _elements(self, item: Any) -> Any:
        """What came, as a source gives it."""
        if isinstance(item, Piece):
            yield from cut(item.batch(self.source.schema), self.batch_rows)
        elif isinstance(item, Lines):
            yield from self._rows_of(item)
        elif isinstance(item, Punctuation):
            if item.value > self._promised:  # one that was overtaken promises less than is known
                self._promised = item.value
                yield item
        else:
            yield Rejects.of(self.source.name, item)

    def _rows_of(self, lines: Lines) -> Any:
        format_, first = self.source.format, self._lines
        assert format_ is not None
        if self.source.options.frames == "raw":
            found = format_.read(lines, self.source.schema)
            batch, bad = found.batch, [(place, lines[place], reason) for place, reason in found.bad]
            self._lines += len(lines)
        else:
            block = b"\n".join(lines)
            batch, bad = format_.read_lines(block, self.source.schema)
            self._lines += block.count(b"\n") + 1
        yield from cut(batch, self.batch_rows)
        if bad:
            place = self.source.address
            rejects = [Reject(place, None, first + number, reason, payload) for number, payload, reason in bad]
            yield Rejects.of(self.source.name, rejects)

    def close(self) -> None:
        self.receiving.close()
