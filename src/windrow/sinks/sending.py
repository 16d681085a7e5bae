"""Rows on their way to whoever listens at an address, counted: datagrams over UDP, lines over TCP."""

from __future__ import annotations

import socket
from abc import ABC, abstractmethod
from time import monotonic, sleep

import pyarrow as pa

from windrow.errors import ConfigurationError, reason_of
from windrow.sinks.datagrams.sink import DatagramWriter, seconds_of
from windrow.sinks.text import delimited_lines, header_line, json_lines
from windrow.sources.addresses import host_and_port, known_options, options_of, scheme_of

_PATIENCE = 10.0
_KNOCK = 20e-3


class Emitting(ABC):
    """Somebody who takes rows and sends them on."""

    def __init__(self) -> None:
        self.count = 0

    @abstractmethod
    def rows(self, batch: pa.RecordBatch) -> None:
        """Send rows."""

    @abstractmethod
    def punctuation(self, value: int) -> None:
        """Send a promise."""

    @abstractmethod
    def end(self) -> None:
        """Nothing more comes."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection."""

    @abstractmethod
    def sent(self) -> tuple[str, int]:
        """What rows went out in, in words, and how many bytes that were."""

    def account(self, address: str, seconds: float) -> str:
        """How much was sent, and how fast."""
        what, size = self.sent()
        seconds = max(seconds, 1e-6)
        speed = f"{self.count / seconds:,.0f} rows/s, {8 * size / seconds / 1e9:.3g} Gbit/s"
        return f"{self.count:,} rows{what} sent to {options_of(address)[0]} in {seconds:.2f} s ({speed})"


class EmittingDatagrams(Emitting):
    """Over UDP."""

    def __init__(self, address: str, schema: pa.Schema) -> None:
        super().__init__()
        self.writer = DatagramWriter(address, schema, "--to")

    def rows(self, batch: pa.RecordBatch) -> None:
        self.writer.rows(batch)
        self.count += batch.num_rows

    def punctuation(self, value: int) -> None:
        self.writer.punctuation(value)

    def end(self) -> None:
        self.writer.end()

    def close(self) -> None:
        self.writer.close()

    def sent(self) -> tuple[str, int]:
        sender = self.writer.sender
        nobody = ", of which the other side refused some: nobody listens there" if sender.refused else ""
        return f" in {sender.sent:,} datagrams{nobody}", self.writer.bytes


class EmittingLines(Emitting):
    """Over TCP."""

    def __init__(self, address: str, schema: pa.Schema) -> None:
        super().__init__()
        plain, given = options_of(address)
        known_options(address, given, ("frames", "wait"), "--to")
        self.format, self.address, self.bytes = given.get("frames", "json"), plain, 0
        if self.format not in ("json", "csv"):
            raise ConfigurationError(
                "must be json or csv over TCP", parameter="--frames", value=self.format, allowed=("json", "csv")
            )
        until = monotonic() + (seconds_of(given["wait"]) if "wait" in given else 0.0)
        self.connection = self._connected(until)
        if self.format == "csv":
            self._send(header_line(schema, ","))

    def _connected(self, until: float) -> socket.socket:
        """Tried again up to a moment."""
        while True:
            try:
                return socket.create_connection(host_and_port(self.address, "--to"), timeout=_PATIENCE)
            except OSError as error:
                if monotonic() >= until:
                    raise self._unreachable(error) from error
            sleep(_KNOCK)

    def rows(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self._send(json_lines(batch) if self.format == "json" else delimited_lines(batch, ","))
            self.count += batch.num_rows

    def punctuation(self, value: int) -> None:
        raise ConfigurationError(
            "is for packed frames over UDP, which carry promises", parameter="--punctuate", value=self.address
        )

    def end(self) -> None:
        """The end of the connection says it."""

    def close(self) -> None:
        self.connection.close()

    def sent(self) -> tuple[str, int]:
        return "", self.bytes

    def _send(self, lines: bytes) -> None:
        try:
            self.connection.sendall(lines)
        except OSError as error:
            raise self._unreachable(error) from error
        self.bytes += len(lines)

    def _unreachable(self, error: OSError) -> ConfigurationError:
        return ConfigurationError(
            f"must be the address of somebody who listens ({reason_of(error)})",
            parameter="--to",
            value=self.address,
            hint="start the one that receives first",
        )


def open_emitting(address: str, schema: pa.Schema) -> Emitting:
    """Somebody who sends to an address."""
    return (EmittingDatagrams if scheme_of(address) == "udp" else EmittingLines)(address, schema)
