"""Results that leave at once: as lines to standard output or to a server, or as batches to a function of the user's."""

from __future__ import annotations

import selectors
import socket
import sys
from collections.abc import Callable
from logging import getLogger

import pyarrow as pa

from windrow.errors import ConfigurationError, UnavailableError, reason_of
from windrow.sinks.base import Sink, fitted
from windrow.sinks.terminal import writable
from windrow.sinks.text import delimited_lines, header_line, json_lines
from windrow.sources.addresses import host_and_port, known_options, options_of

PATIENCE = 10.0
"""Seconds in which whoever reads must take what is sent."""
log = getLogger("windrow")


class CallbackSink(Sink):
    """Hands every batch to a function; what that raises ends the run."""

    def __init__(self, function: Callable[[pa.RecordBatch], object]) -> None:
        self.function = function

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            self.function(batch)

    def close(self) -> None:
        """The function has all."""

    def abort(self) -> None:
        """What was handed over stays."""


class LineSink(Sink):
    """Rows as lines of JSON or CSV."""

    def __init__(self, schema: pa.Schema, format: str) -> None:
        self.schema = schema
        self.format = format

    @property
    def head(self) -> bytes:
        """What comes before the first row, for each who reads."""
        return header_line(self.schema, ",") if self.format == "csv" else b""

    def write(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            fit = fitted(batch, self.schema)
            self.send(json_lines(fit) if self.format == "json" else delimited_lines(fit, ","))

    def send(self, lines: bytes) -> None:
        """Give whole lines out."""
        raise NotImplementedError

    def close(self) -> None:
        """All was sent."""

    def abort(self) -> None:
        """What was sent stays."""


class StandardOutputSink(LineSink):
    """Lines on standard output, for the next program of a pipe."""

    def __init__(self, schema: pa.Schema, format: str) -> None:
        super().__init__(schema, format)
        self.begun = False

    def send(self, lines: bytes) -> None:
        with writable():
            if sys.stdout is None:
                raise OSError("it is closed")
            sys.stdout.buffer.write(lines if self.begun else self.head + lines)
            sys.stdout.buffer.flush()
        self.begun = True


class TcpSink(LineSink):
    """Lines to a server."""

    def __init__(self, schema: pa.Schema, format: str, address: str) -> None:
        super().__init__(schema, format)
        self.address = address
        host, port = host_and_port(address, "output")
        try:
            self.connection = socket.create_connection((host, port), timeout=PATIENCE)
            self.connection.sendall(self.head)
        except OSError as error:
            raise _unreachable(address, error) from error

    def send(self, lines: bytes) -> None:
        try:
            self.connection.sendall(lines)
        except OSError as error:
            raise _unreachable(self.address, error) from error

    def close(self) -> None:
        self.connection.close()

    def abort(self) -> None:
        self.connection.close()


class TcpServerSink(LineSink):
    """Lines to everyone who is connected; who comes later gets what comes later. Who does not read is let go."""

    def __init__(self, schema: pa.Schema, format: str, address: str) -> None:
        super().__init__(schema, format)
        host, port = host_and_port(address, "output")
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self.listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise ConfigurationError(
                f"must be a port of this machine that is free ({reason_of(error)})",
                parameter="output",
                value=address,
                hint="end who listens there, or take another port",
            ) from error
        self.listener.setblocking(False)
        self.clients: dict[socket.socket, str] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def send(self, lines: bytes) -> None:
        while self.selector.select(0):
            client, peer = self.listener.accept()
            client.settimeout(PATIENCE)
            self.clients[client] = f"{peer[0]}:{peer[1]}"
            self._send_to(client, self.head)
        for client in list(self.clients):
            self._send_to(client, lines)

    def _send_to(self, client: socket.socket, lines: bytes) -> None:
        try:
            client.sendall(lines)
        except OSError as error:
            log.warning("reader lost", extra={"peer": self.clients[client], "reason": reason_of(error)})
            client.close()
            del self.clients[client]

    def close(self) -> None:
        for client in self.clients:
            client.close()
        self.selector.close()
        self.listener.close()

    def abort(self) -> None:
        self.close()


def _unreachable(address: str, error: OSError) -> UnavailableError:
    return UnavailableError(
        f"must be a server that takes what it is sent ({reason_of(error)})",
        parameter="output",
        value=address,
        hint="start it first, and see why it ended; to let readers connect here, add ?listen=true",
    )


def open_tcp(address: str, schema: pa.Schema) -> Sink:
    """The sink at `tcp://host:port?format=json&listen=true`."""
    plain, options = options_of(address)
    known_options(address, options, ("format", "listen"), "output")
    format, listen = options.get("format", "json"), options.get("listen", "false")
    if format not in ("json", "csv"):
        raise ConfigurationError("must be a known format", parameter="format", value=format, allowed=("json", "csv"))
    if listen not in ("true", "false"):
        raise ConfigurationError("must be true or false", parameter="listen", value=listen)
    return (TcpServerSink if listen == "true" else TcpSink)(schema, format, plain)
