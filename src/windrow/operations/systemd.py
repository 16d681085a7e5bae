"""Word to systemd: that a run is ready, that it lives, that it ends. See sd_notify(3) and Type=notify."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

_PATIENCE = 1.0
"""Seconds that what is said once waits to be heard."""


class Notifier:
    """Sends datagrams to the socket that systemd names; without one it does nothing.

    >>> Notifier({}).ready(), Notifier({}).watchdog_seconds
    (None, None)
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self.address = environment.get("NOTIFY_SOCKET", "")
        self.watchdog_seconds = _watchdog(environment) if self.address else None
        """Within how many seconds it must be told that the run lives; None: never."""

    @property
    def is_wanted(self) -> bool:
        return bool(self.address)

    def ready(self) -> None:
        self._send("READY=1", wait=_PATIENCE)

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1", wait=_PATIENCE)

    def status(self, line: str) -> None:
        """One line for `systemctl status`."""
        self._send("STATUS=" + " ".join(line.split()))

    def _send(self, text: str, *, wait: float = 0.0) -> None:
        """What comes again need not wait for a listener who is busy."""
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.settimeout(wait)
            out.sendto(text.encode("utf-8", "replace"), address)


def _watchdog(environment: Mapping[str, str]) -> float | None:
    """Half of the time that systemd waits, as it recommends; what is meant for another process is not for this one."""
    with suppress(ValueError):
        is_mine = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        microseconds = int(environment.get("WATCHDOG_USEC", ""))
        if is_mine and microseconds > 0:
            return microseconds / 2e6
    return None
