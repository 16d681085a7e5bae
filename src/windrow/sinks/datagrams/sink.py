"""`udp://host:port`: results that leave as datagrams as soon as they are there, each at most once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.frames.header import MOST_BYTES
from windrow.frames.packing import Datagrams, Packer
from windrow.frames.tuples import TupleLayout
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.sinks.base import Sink, fitted
from windrow.sinks.datagrams.lines import lines_of, packed_lines
from windrow.sinks.datagrams.sender import Sender
from windrow.sources.addresses import host_and_port, known_options, options_of
from windrow.sources.base import Delivery

FRAMES = ("packed", "bare", "json", "csv")
OPTIONS = ("frames", "types", "order", "numbers", "size", "offload", "wait")
END_TIMES = 3
"""So often it is said that nothing more comes: once may be lost."""
_LARGEST = 65507


@dataclass(frozen=True)
class DatagramOptions:
    """How rows leave, as the address says it."""

    frames: str = "packed"
    types: str | None = None
    big: bool = False
    numbered: bool = True
    size: int = MOST_BYTES
    offload: bool = True
    wait: float | None = None
    """Seconds to wait for somebody who listens."""

    @staticmethod
    def of(address: str, parameter: str) -> DatagramOptions:
        _, given = options_of(address)
        known_options(address, given, OPTIONS, parameter)
        frames = _chosen(given, "frames", FRAMES)
        size = given.get("size", str(MOST_BYTES))
        if not size.isdigit() or not 64 <= int(size) <= _LARGEST:
            raise ConfigurationError(f"must be a number of bytes from 64 to {_LARGEST}", parameter="size", value=size)
        return DatagramOptions(
            frames=frames,
            types=given.get("types"),
            big=_chosen(given, "order", ("little", "big")) == "big",
            numbered=_chosen(given, "numbers", ("on", "off")) == "on",
            size=int(size),
            offload=_chosen(given, "offload", ("on", "off")) == "on",
            wait=None if "wait" not in given else _wait(given["wait"], frames),
        )


def _chosen(given: dict[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = given.get(name, allowed[0])
    if value not in allowed:
        raise ConfigurationError("must be a known word", parameter=name, value=value, allowed=tuple(sorted(allowed)))
    return value


def seconds_of(text: str) -> float:
    """How long to wait."""
    amount = Amount.of(text, "wait")
    if not amount.is_time or amount.number < 0:
        raise ConfigurationError("must be a length of time", parameter="wait", value=text, hint="write wait=10 s")
    return amount.resolve(Domain.TIME, "wait") / 1e6


def _wait(text: str, frames: str) -> float:
    if frames == "bare":
        hint = "start the one that receives first, or send frames=packed"
        raise ConfigurationError("needs a datagram without rows, which bare ones have not", parameter="wait", hint=hint)
    return seconds_of(text)


class DatagramWriter:
    """Rows, promises and an end on their way to an address."""

    def __init__(self, address: str, schema: pa.Schema, parameter: str = "output") -> None:
        self.options = options = DatagramOptions.of(address, parameter)
        plain, _ = options_of(address)
        host, port = host_and_port(plain, parameter)
        self.schema = schema
        self.packer: Packer | None = None
        if options.frames in ("packed", "bare"):
            layout = TupleLayout.of(schema, options.types, parameter)
            self.packer = Packer(
                layout,
                header=options.frames == "packed",
                big=options.big,
                numbered=options.numbered,
                most_bytes=options.size,
            )
        self.sender = Sender(host, port, offload=options.offload, parameter=parameter, value=plain)
        self.bytes = 0
        if options.wait is not None:
            probe = b"\n" if self.packer is None else self.packer.probe()
            try:
                self.sender.wait_for_listener(probe, options.wait)
            except BaseException:
                self.sender.close()
                raise

    @property
    def rows_each(self) -> int:
        """About how many rows a datagram has."""
        return 1 if self.packer is None else self.packer.rows_each

    def rows(self, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        if self.packer is not None:
            self._send([self.packer.rows(batch)])
        else:
            found = packed_lines(lines_of(batch, self.options.frames), self.options.size)
            self._send(Datagrams.of(one) for one in found)

    def punctuation(self, value: int) -> None:
        if self.packer is None or not self.packer.header:
            raise ConfigurationError(
                "carry promises, no other frames do", parameter="frames=packed", value=self.options.frames
            )
        self._send([self.packer.punctuation(value)])

    def end(self) -> None:
        """Nothing more comes."""
        if self.packer is None or not self.packer.header:
            self._send([Datagrams.of(b"")])
        else:
            self._send([self.packer.end() for _ in range(END_TIMES)])

    def _send(self, datagrams: Iterable[Datagrams]) -> None:
        for one in datagrams:
            self.sender.send(one)
            self.bytes += len(one.data)

    def close(self) -> None:
        self.sender.close()


class UdpSink(Sink):
    """Sends every batch; the end of the answer is told as well."""

    delivery: ClassVar[Delivery] = Delivery.AT_MOST_ONCE
    only_appends: ClassVar[bool] = True

    def __init__(self, address: str, schema: pa.Schema) -> None:
        self.schema = schema
        self.writer = DatagramWriter(address, schema)
        self.is_open = True

    def write(self, batch: pa.RecordBatch) -> None:
        self.writer.rows(fitted(batch, self.schema))

    def close(self) -> None:
        if self.is_open:
            self.is_open = False
            try:
                self.writer.end()
            finally:
                self.writer.close()

    def abort(self) -> None:
        if self.is_open:
            self.is_open = False
            self.writer.close()


def open_udp(address: str, schema: pa.Schema) -> Sink:
    """The sink at an address."""
    return UdpSink(address, schema)
