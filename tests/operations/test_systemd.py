"""Word to systemd, over a socket as it has one."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow.operations.systemd import Notifier

LONG = 30.0


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as one:
        one.bind(str(tmp_path / "notify"))
        one.settimeout(LONG)
        yield one


def test_what_is_said_arrives(heard: socket.socket) -> None:
    one = Notifier({"NOTIFY_SOCKET": heard.getsockname()})
    one.ready()
    one.alive()
    one.status("12 rows\nin")
    one.stopping()
    assert [b"READY=1", b"WATCHDOG=1", b"STATUS=12 rows in", b"STOPPING=1"] == [heard.recv(100) for _ in range(4)]


@pytest.mark.skipif(not Path("/proc").exists(), reason="such sockets are Linux's")
def test_a_socket_without_a_file() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(f"\0windrow-test-{os.getpid()}")
        heard.settimeout(LONG)
        Notifier({"NOTIFY_SOCKET": f"@windrow-test-{os.getpid()}"}).ready()
        assert b"READY=1" == heard.recv(100)


def test_without_systemd_nothing_is_said_and_a_socket_that_is_gone_harms_nobody(tmp_path: Path) -> None:
    assert not Notifier({}).is_wanted
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()


def test_a_listener_that_takes_nothing_does_not_hold_the_run_up(heard: socket.socket) -> None:
    one = Notifier({"NOTIFY_SOCKET": heard.getsockname()})
    for _ in range(10_000):
        one.alive()


@pytest.mark.parametrize(
    ("expected", "environment"),
    [
        (15.0, {"WATCHDOG_USEC": "30000000"}),
        (15.0, {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}),
        (None, {"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}),
        (None, {"WATCHDOG_USEC": "soon"}),
        (None, {"WATCHDOG_USEC": "0"}),
        (None, {}),
    ],
)
def test_how_often_the_watchdog_wants_to_hear(expected: float | None, environment: dict[str, str]) -> None:
    assert expected == Notifier({"NOTIFY_SOCKET": "/x", **environment}).watchdog_seconds
    assert None is Notifier(environment).watchdog_seconds
