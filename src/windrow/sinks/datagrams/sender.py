"""Many datagrams in few calls: the kernel cuts large pieces into datagrams where it can, or takes many at once."""

from __future__ import annotations

import socket
from contextlib import suppress
from errno import EAGAIN, ECONNREFUSED, EINTR, EINVAL, EIO, EMSGSIZE, ENOBUFS, EOPNOTSUPP
from time import monotonic, sleep
from typing import Any

import numpy as np

from windrow.errors import ConfigurationError, SourceError, reason_of
from windrow.frames.packing import Datagrams
from windrow.sources.datagrams.calls import SYSTEM, MessageHeaders
from windrow.sources.datagrams.sockets import HostAddress, grow

_CALL = 256
"""MessageHeaders in one call."""
_SEGMENTS = 64
"""So many datagrams the kernel makes of a piece."""
_LARGEST = 65507
_BUFFER = 4 << 20
_NAP = 0.2e-3
_KNOCK = 10e-3


class Sender:
    """A socket that sends to one address."""

    def __init__(
        self, host: str, port: int, *, offload: bool = True, parameter: str = "output", value: str = ""
    ) -> None:
        place = _place(host, port, parameter, value)
        self.socket = socket.socket(place.family, socket.SOCK_DGRAM)
        try:
            grow(self.socket, _BUFFER, sending=True)
            self.socket.connect(place.address)
        except OSError as error:
            self.socket.close()
            raise _unreachable(error, parameter, value) from error
        self.parameter, self.value = parameter, value
        self.offload = offload and SYSTEM is not None
        self.sent = 0
        """Datagrams that went out."""
        self.refused = 0
        """How often the other side said that nobody listens there."""
        self.messages = MessageHeaders(_CALL)

    def wait_for_listener(self, probe: bytes, seconds: float) -> None:
        """Wait until this machine, or the other one, does not say any more that nobody listens there."""
        until = monotonic() + seconds
        while True:
            before = self.refused
            for _ in range(2):  # what came of the first is told to the second
                self._one(probe)
                sleep(_KNOCK)
            if self.refused == before:
                break
            if monotonic() >= until:
                raise ConfigurationError(
                    "must be an address where somebody listens",
                    parameter=self.parameter,
                    value=self.value,
                    hint="start the one that receives, or wait longer",
                )
        self.sent = self.refused = 0

    def send(self, datagrams: Datagrams) -> None:
        """Send all of them, in their order."""
        if datagrams.size == 0:
            self._one(b"")
        elif SYSTEM is None:
            for one in datagrams.each():
                self._one(one)
        else:
            self._many(datagrams)

    def _many(self, datagrams: Datagrams) -> None:
        together = min(_SEGMENTS, _LARGEST // datagrams.size) if self.offload else 1
        step = max(1, together) * datagrams.size
        places = np.arange(0, len(datagrams.data), step, dtype=np.int64)
        sizes = np.minimum(step, len(datagrams.data) - places)
        if together > 1:
            self.messages.cut_into(datagrams.size)
        elif self.offload:
            self.messages.without_notes()
        for first in range(0, len(places), _CALL):
            count = len(places[first : first + _CALL])
            self.messages.point_at(datagrams.data, places[first : first + count], sizes[first : first + count])
            if not self._all(count):  # the kernel does not cut
                self.offload = False
                self.messages.without_notes()
                self._many(Datagrams(datagrams.data[first * step :], datagrams.size))
                return
            self.sent += int((-(-sizes[first : first + count] // datagrams.size)).sum())

    def _all(self, count: int) -> bool:
        """Send so many messages; False where the kernel takes none of this kind."""
        done = 0
        while done < count:
            try:
                done += self.messages.send(self.socket.fileno(), done, count - done)
            except OSError as error:
                if done == 0 and self.offload and error.errno in (EINVAL, EIO, EOPNOTSUPP, EMSGSIZE):
                    return False
                self._bear(error)
        return True

    def _one(self, datagram: bytes) -> None:
        while True:
            try:
                self.socket.send(datagram)
                self.sent += 1
                return
            except OSError as error:
                self._bear(error)

    def _bear(self, error: OSError) -> None:
        """What passes is waited for; what nobody wants was sent all the same."""
        if error.errno == ECONNREFUSED:
            self.refused += 1
        elif error.errno in (EAGAIN, ENOBUFS):
            sleep(_NAP)
        elif error.errno != EINTR:
            raise _unreachable(error, self.parameter, self.value) from error

    def close(self) -> None:
        with suppress(OSError):
            self.socket.close()


def _place(host: str, port: int, parameter: str, value: str) -> Any:
    try:
        return HostAddress.of(host, port, parameter, value)
    except SourceError as error:
        raise ConfigurationError(error.rule, parameter=parameter, value=value, hint=error.hint) from error


def _unreachable(error: OSError, parameter: str, value: str) -> ConfigurationError:
    return ConfigurationError(
        f"must be an address that datagrams can be sent to ({reason_of(error)})",
        parameter=parameter,
        value=value,
        hint="see to the network and to the size of the datagrams",
    )
