"""Metrics over real HTTP, also to clients that mean harm."""

from __future__ import annotations

import http.client
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from windrow.engines.pulse import Pulse
from windrow.errors import ConfigurationError
from windrow.operations import endpoint
from windrow.operations.board import Board, RunFacts
from windrow.operations.endpoint import MetricsEndpoint
from windrow.pipeline.metrics import Metrics
from windrow.semantics.scalars.amounts import Domain

LONG = 30.0


@pytest.fixture
def board() -> Board:
    return Board(RunFacts("local", (Domain.TIME,)), Pulse())


@pytest.fixture
def served(board: Board) -> Iterator[MetricsEndpoint]:
    one = MetricsEndpoint(board, "127.0.0.1", 0)
    yield one
    one.close()


def address(served: MetricsEndpoint) -> tuple[str, int]:
    parts = urlsplit(served.url)
    return str(parts.hostname), int(parts.port or 0)


def get(served: MetricsEndpoint, path: str, method: str = "GET") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(*address(served), timeout=LONG)
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"], body


def connected(served: MetricsEndpoint, *sent: bytes) -> socket.socket:
    client = socket.create_connection(address(served), timeout=LONG)
    for piece in sent:
        client.sendall(piece)
    return client


def answer_of(client: socket.socket) -> bytes:
    """Everything until the other side closes, or resets."""
    found = b""
    try:
        while more := client.recv(1 << 18):
            found += more
    except ConnectionResetError:
        pass
    client.close()
    return found


def test_the_last_metrics_are_served(board: Board, served: MetricsEndpoint) -> None:
    board.publish(Metrics(rows_in=7))
    status, kind, text = get(served, "/metrics?name=x")
    assert (200, "application/openmetrics-text; version=1.0.0; charset=utf-8") == (status, kind)
    found = {s.name: s.value for f in text_string_to_metric_families(text) for s in f.samples}
    assert (7, 0, 1) == (found["windrow_rows_in_total"], found["windrow_ready"], found["windrow_up"])
    assert found["process_open_fds"] > 0
    assert found["process_resident_memory_bytes"] > 1 << 20


def test_health_and_readiness(board: Board, served: MetricsEndpoint) -> None:
    assert (200, "ok\n") == get(served, "/health")[::2]
    assert (503, "not ready: sources are being opened\n") == get(served, "/ready")[::2]
    board.pulse.tick()
    assert (200, "ok\n") == get(served, "/ready")[::2]
    board.failure = "it broke\nin two lines"
    assert (503, "failed: it broke in two lines\n") == get(served, "/health")[::2]


def test_the_first_page_names_the_others(served: MetricsEndpoint) -> None:
    status, kind, page = get(served, "/")
    assert (200, "text/html; charset=utf-8") == (status, kind)
    for path in ("/metrics", "/health", "/ready"):
        assert f'href="{path}"' in page


def test_what_is_not_there_and_what_is_not_done(served: MetricsEndpoint) -> None:
    assert 404 == get(served, "/etc/passwd")[0]
    assert 501 == get(served, "/metrics", "POST")[0]
    assert (200, "") == get(served, "/health", "HEAD")[::2]


def test_a_port_that_is_taken_is_one_line(served: MetricsEndpoint, board: Board) -> None:
    host, port = address(served)
    message = rf"\A`metrics_port` must be an address to listen at \(.*in use.*\), got {host}:{port}\. Hint: [^\n]*\Z"
    with pytest.raises(ConfigurationError, match=message):
        MetricsEndpoint(board, host, port)


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("127.0.0.1", 65536, r"\A`metrics_port` must be a port from 0 \(one that is free\) to 65535, got 65536\.\Z"),
        ("127.0.0.1", True, r"\A`metrics_port` must be a port"),
        ("127.0.0.1", "9000", r"\A`metrics_port` must be a port"),
        ("", 0, r"\A`metrics_host` must be a name or an address of this machine"),
        ("no such host.invalid", 0, r"\A`metrics_port` must be an address to listen at"),
    ],
)
def test_addresses_that_cannot_be(host: Any, port: Any, message: str, board: Board) -> None:
    with pytest.raises(ConfigurationError, match=message):
        MetricsEndpoint(board, host, port)


def test_a_client_that_never_ends_its_request_is_let_go(
    served: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "PATIENCE", 0.3)
    assert b"" == answer_of(connected(served, b"GET /metrics HTTP/1.1\r\nHost: x\r\n"))
    drip = connected(served, b"G")
    closed = Event()
    for _ in range(1000):  # one that keeps the connection busy gains no time by it
        try:
            drip.sendall(b"x")
        except OSError:
            closed.set()
            break
        Event().wait(0.01)
    drip.close()
    assert closed.is_set()
    assert 200 == get(served, "/health")[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 1000,
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET /health HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\n\r\n",
    ],
)
def test_requests_that_are_none_harm_nobody(sent: bytes, served: MetricsEndpoint, capfd: Any) -> None:
    try:
        client = connected(served, sent)
    except (BrokenPipeError, ConnectionResetError):  # it was closed while this was still being sent
        client = connected(served)
        client.shutdown(socket.SHUT_WR)
    assert b" 200 " not in answer_of(client)
    assert 200 == get(served, "/health")[0]
    assert ("", "") == capfd.readouterr()


def test_many_connections_at_once_leave_no_thread_for_each(
    served: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    before = threading.active_count()
    with ExitStack() as clients:
        for _ in range(200):
            clients.enter_context(connected(served))
        assert b"" == answer_of(connected(served))  # all places are taken: closed at once
        assert threading.active_count() <= before + endpoint.MOST_REQUESTS
    for _ in range(1000):
        try:
            assert 200 == get(served, "/health")[0]
            break
        except (http.client.HTTPException, OSError):  # those that left are still noticed
            Event().wait(0.01)
    else:
        pytest.fail("nobody is served any more")


def test_a_client_that_takes_nothing_does_not_hold_others_up(
    board: Board, served: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "PATIENCE", 0.5)
    monkeypatch.setattr(board, "text", lambda: "x" * (12 << 20))
    sleepy = connected(served, b"GET /metrics HTTP/1.1\r\n\r\n")
    assert 200 == get(served, "/health")[0]
    assert len(answer_of(sleepy)) > 0


def test_many_scrapes_make_the_text_once(
    board: Board, served: MetricsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def text() -> str:
        made.append(1)
        return "# EOF\n"

    monkeypatch.setattr(endpoint, "FRESH", LONG)
    monkeypatch.setattr(board, "text", text)
    assert ["# EOF\n"] * 5 == [get(served, "/metrics")[2] for _ in range(5)]
    assert 1 == len(made)


def test_it_may_be_closed_by_the_thread_that_serves(board: Board) -> None:
    """As happens when the last hold on a run is let go there."""
    one = MetricsEndpoint(board, "127.0.0.1", 0)
    one.server.service_actions = one.close  # type: ignore[method-assign]  # which that thread calls
    one._thread.join(LONG)
    assert not one._thread.is_alive()
