"""Lines over TCP: from a server that is connected to, or from any number of clients that connect here."""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from logging import getLogger

import pyarrow as pa

from windrow.errors import ConfigurationError, UnavailableError, reason_of
from windrow.sources.addresses import host_and_port, known_options, options_of
from windrow.sources.base import BATCH_ROWS, Position, Reader, Source
from windrow.sources.conform import encoded_schema, plain_schema
from windrow.sources.live.endless import EndlessSource
from windrow.sources.live.line_cutter import LineCutter
from windrow.sources.live.reader import LiveReader
from windrow.sources.messages import MessageFormat, empty, message_format
from windrow.sources.rejects import Reject

CHUNK = 1 << 20
PATIENCE = 10.0
"""Seconds in which a server must answer."""
MOST_CLIENTS = 1000
log = getLogger("windrow")


@dataclass(frozen=True)
class TcpSource(EndlessSource):
    """Lines of one server, to the end of the connection; or of all who connect, for ever."""

    address: str
    host: str
    port: int
    listens: bool
    format: MessageFormat
    ends: bool = False
    """Whether it ends when all who connected have gone."""

    def until_now(self) -> Source:
        return replace(self, ends=True)

    def describe(self) -> str:
        return f"{'whoever connects to ' if self.listens else ''}{self.address}"

    def open(
        self, position: Position | None = None, *, batch_rows: int = BATCH_ROWS, batch_wait: float | None = None
    ) -> Reader:
        return TcpReader(self, position, batch_rows)


class TcpReader(LiveReader):
    """Reads what is there on any connection; each has lines of its own."""

    def __init__(self, source: TcpSource, position: Position | None, batch_rows: int) -> None:
        super().__init__(source.name, position, batch_rows)
        self.source = source
        self.selector = selectors.DefaultSelector()
        self.listener: socket.socket | None = None
        self.cutters: dict[socket.socket, LineCutter] = {}
        if source.listens:
            self.listener = _listening(source)
            self.selector.register(self.listener, selectors.EVENT_READ)
        else:
            self._add_connection(_connected(source), f"{source.host}:{source.port}")

    @property
    def port(self) -> int:
        """Where it listens, also where any free port was asked for."""
        assert self.listener is not None
        port: int = self.listener.getsockname()[1]
        return port

    def _add_connection(self, connection: socket.socket, peer: str) -> None:
        connection.setblocking(False)
        self.selector.register(connection, selectors.EVENT_READ)
        self.cutters[connection] = LineCutter(self.source.format, self.source.schema, peer)
        log.info("connected", extra={"source": self.name, "peer": peer})

    def fill(self, timeout: float | None) -> tuple[Iterable[pa.RecordBatch], Sequence[Reject]]:
        batches, rejects = list[pa.RecordBatch](), list[Reject]()
        for key, _ in self.selector.select(timeout):
            if key.fileobj is self.listener:
                self._accept()
                continue
            assert isinstance(key.fileobj, socket.socket)
            batch, bad = self._read(key.fileobj)
            batches += [batch] if batch.num_rows else []
            rejects += bad
        return batches, rejects

    def _accept(self) -> None:
        assert self.listener is not None
        try:
            connection, peer = self.listener.accept()
        except OSError as error:  # gone already, or no descriptor is left
            log.warning("connection refused", extra={"source": self.name, "reason": reason_of(error)})
            return
        if len(self.cutters) >= MOST_CLIENTS:
            connection.close()
            log.warning("connection refused", extra={"source": self.name, "reason": f"{MOST_CLIENTS} are open"})
            return
        self._add_connection(connection, f"{peer[0]}:{peer[1]}")

    def _read(self, connection: socket.socket) -> tuple[pa.RecordBatch, list[Reject]]:
        cutter = self.cutters[connection]
        try:
            chunk = connection.recv(CHUNK)
        except (BlockingIOError, InterruptedError):
            return cutter.take(b"")
        except OSError as error:
            log.warning("connection lost", extra={"source": self.name, "peer": cutter.name, "reason": reason_of(error)})
            self._remove(connection)
            return empty(cutter.schema), cutter.abandon("the connection was lost in the middle of it")
        if chunk:
            return cutter.take(chunk)
        self._remove(connection)
        log.info("disconnected", extra={"source": self.name, "peer": cutter.name})
        return cutter.finish()

    def _remove(self, connection: socket.socket) -> None:
        self.selector.unregister(connection)
        connection.close()
        del self.cutters[connection]
        self.has_ended = self.listener is None or (self.source.ends and not self.cutters)

    def close(self) -> None:
        for connection in list(self.cutters):
            self._remove(connection)
        if self.listener is not None:
            self.listener.close()
        self.selector.close()


def _listening(source: TcpSource) -> socket.socket:
    try:
        family = socket.getaddrinfo(source.host, source.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((source.host, source.port), family=family, backlog=128)
    except OSError as error:
        raise ConfigurationError(
            f"must be a port of this machine that is free ({reason_of(error)})",
            parameter=source.name,
            value=source.address,
            hint="end who listens there, or take another port; port 0 takes any",
        ) from error
    listener.setblocking(False)
    log.info("listening", extra={"source": source.name, "port": listener.getsockname()[1]})
    return listener


def _connected(source: TcpSource) -> socket.socket:
    try:
        return socket.create_connection((source.host, source.port), timeout=PATIENCE)
    except OSError as error:
        raise UnavailableError(
            f"must be a server that answers ({reason_of(error)})",
            parameter=source.name,
            value=source.address,
            hint="start it first; to be the server oneself, add ?listen=true",
        ) from error


def open_tcp(address: str, *, name: str, schema: pa.Schema | None) -> Source:
    """The source at `tcp://host:port?format=json&listen=true`."""
    plain, options = options_of(address)
    known_options(address, options, ("format", "listen"), name)
    listen = options.get("listen", "false")
    if listen not in ("true", "false"):
        raise ConfigurationError("must be true or false", parameter="listen", value=listen)
    columns = None if schema is None else plain_schema(schema)
    found = message_format(options.get("format", "json"), columns, "format", name)
    assert columns is not None
    host, port = host_and_port(plain, name)
    return TcpSource(name, encoded_schema(columns), plain, host, port, listen == "true", found)
