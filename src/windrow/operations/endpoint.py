"""Metrics and health over HTTP, for Prometheus and whoever watches over a run.

Nothing a client does can harm the run: a request has a few seconds and a few thousand bytes, there are only so many at
a time, and what is answered was published before. The text of the metrics is made at most a few times a second.
"""

from __future__ import annotations

import html
import socket
import socketserver
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from threading import BoundedSemaphore, Lock, Thread, current_thread
from time import monotonic
from typing import Any

from windrow.errors import ConfigurationError, reason_of
from windrow.operations.board import Board, Health
from windrow.operations.families import CONTENT_TYPE
from windrow.operations.process import version

MOST_REQUESTS = 16
"""That are served at a time; others are closed at once."""
MOST_BYTES = 8192
"""Of a request with all its headers."""
PATIENCE = 5.0
"""Seconds that a client has for its request, and again for taking the answer."""
FRESH = 0.1
"""Seconds for which a text is given again."""
_PAGES = {
    "/metrics": "the metrics of the run, as OpenMetrics",
    "/health": "200 while the run is well, else 503 and why",
    "/ready": "200 once its sources are open and were looked at",
}


class MetricsEndpoint:
    """Serves one board until it is closed, from threads of its own.

    It listens from the beginning, so that a port that is taken is refused before a run begins.
    """

    def __init__(self, board: Board, host: str, port: int) -> None:
        self.server = _listening(board, host, port)
        name, number = self.server.server_address[:2]
        text = name.decode() if isinstance(name, (bytes, bytearray)) else str(name)
        self.url = f"http://[{text}]:{number}" if ":" in text else f"http://{text}:{number}"
        """Where it is found; with port 0, the one that was free."""
        self._thread = Thread(target=self.server.serve_forever, args=(0.1,), name="windrow-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Serve nobody any more. A run that nobody holds is closed by any thread, also by the one that serves."""
        if current_thread() is self._thread:
            Thread(target=self._close, name="windrow-metrics-end", daemon=True).start()
        else:
            self._close()

    def _close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def check_address(host: Any, port: Any) -> None:
    """Refuse what cannot be an address."""
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
        raise ConfigurationError(
            "must be a port from 0 (one that is free) to 65535", parameter="metrics_port", value=port
        )
    if not isinstance(host, str) or not host:
        raise ConfigurationError("must be a name or an address of this machine", parameter="metrics_host", value=host)


def _listening(board: Board, host: str, port: int) -> _Server:
    check_address(host, port)
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return _Server(board, family, address)
    except OSError as error:
        taken = f"must be an address to listen at ({reason_of(error)})"
        hint = "give another port, or 0 for one that is free; --metrics-host says where to listen"
        raise ConfigurationError(taken, parameter="metrics_port", value=f"{host}:{port}", hint=hint) from None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, board: Board, family: socket.AddressFamily, address: Any) -> None:
        self.address_family = family
        self.board = board
        self.places = BoundedSemaphore(MOST_REQUESTS)
        self._lock, self._text, self._made = Lock(), b"", -FRESH
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Without asking for the name of this machine, which may take long where names are not served."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "windrow", self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self.places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self.places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away, or said nothing that makes sense, concerns nobody."""

    def text(self) -> bytes:
        """The metrics; made anew only once the last text is old."""
        with self._lock:
            if monotonic() - self._made >= FRESH:
                self._text, self._made = self.board.text().encode(), monotonic()
            return self._text


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version = "Windrow"
    sys_version = ""
    timeout = PATIENCE

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(PATIENCE)
        self.rfile.close()
        self.rfile = BytesIO(_head_of(self.connection))  # all of it, so that nothing is waited for later

    def handle(self) -> None:
        if self.rfile.read(1):
            self.rfile.seek(0)
            super().handle()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        answers: dict[str, Callable[[], None]] = {
            "/metrics": lambda: self._answer(200, CONTENT_TYPE, self.server.text()),
            "/health": lambda: self._tell(self.server.board.health()),
            "/ready": lambda: self._tell(self.server.board.readiness()),
            "/": lambda: self._answer(200, "text/html; charset=utf-8", _page().encode()),
        }
        answer = answers.get(path)
        if answer is None:
            self._answer(404, "text/plain; charset=utf-8", b"not found: see /\n")
        else:
            answer()

    do_HEAD = do_GET  # noqa: N815 - the same

    def _tell(self, health: Health) -> None:
        line = " ".join(health.reason.split())
        self._answer(200 if health.ok else 503, "text/plain; charset=utf-8", f"{line}\n".encode("utf-8", "replace"))

    def _answer(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""


def _head_of(connection: socket.socket) -> bytes:
    """A request up to the blank line behind its headers; nothing where it is too long or takes too long."""
    head, until = b"", monotonic() + PATIENCE
    with suppress(OSError):
        while b"\r\n\r\n" not in head and b"\n\n" not in head:
            left = until - monotonic()
            if left <= 0 or len(head) > MOST_BYTES:
                return b""
            connection.settimeout(left)
            more = connection.recv(4096)
            if not more:
                return b""
            head += more
        connection.settimeout(PATIENCE)
        return head
    return b""


def _page() -> str:
    listed = "".join(f'<li><a href="{path}">{path}</a>: {html.escape(what)}</li>' for path, what in _PAGES.items())
    title = f"Windrow {version()}"
    return f"<!doctype html><html lang=en><title>{title}</title><h1>{title}</h1><ul>{listed}</ul></html>\n"
