"""Sockets for datagrams: bound or connected as an address asks, with the buffer that the system grants."""

from __future__ import annotations

import ipaddress
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from errno import EADDRINUSE
from time import monotonic, sleep

from windrow.errors import SourceError, reason_of
from windrow.sources.datagrams.calls import SOL_UDP, SYSTEM, UDP_GRO

_RCVBUFFORCE, _SNDBUFFORCE, _MEMINFO = 33, 32, 55
_DROPS = 8
"""HostAddress of the drops in what the kernel tells of a socket's memory."""
_LEAVING = 0.5
LOOK_AROUND = 0.05
"""Seconds after which one who waits for datagrams looks whether he is still wanted."""


@dataclass(frozen=True)
class HostAddress:
    """A host and a port, in the family that they are of."""

    family: int
    address: tuple[object, ...]

    @staticmethod
    def of(host: str, port: int, parameter: str, value: str) -> HostAddress:
        """Looked up by name, where it is one."""
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        except (OSError, UnicodeError) as error:
            raise SourceError(
                f"must name a host that is known ({reason_of(error)})",
                parameter=parameter,
                value=value,
                hint="write an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them",
            ) from error
        return HostAddress(family, address)


@dataclass(frozen=True)
class SocketBuffer:
    """Bytes that were asked for, and that the kernel granted."""

    asked: int
    granted: int

    @property
    def note(self) -> str | None:
        """What to do about it where less was granted."""
        if self.granted >= self.asked:
            return None
        return (
            f"the kernel gave {self.granted:,} bytes of the {self.asked:,} asked for: raise its limit with "
            f"sysctl -w net.core.rmem_max={self.asked}"
        )


def bound(host: str, port: int, buffer: int, *, parameter: str, value: str, interface: str | None) -> socket.socket:
    """A socket that receives at an address, a member of it where it is a multicast group."""
    place = HostAddress.of(host, port, parameter, value)
    made = socket.socket(place.family, socket.SOCK_DGRAM)
    try:
        group = ipaddress.ip_address(str(place.address[0]).partition("%")[0])
        if group.is_multicast:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        _bind(made, place.address)
        if group.is_multicast:
            _join(made, group, interface)
        grow(made, buffer)
        made.settimeout(None)
        wait = struct.pack("ll", 0, int(LOOK_AROUND * 1e6))
        with suppress(OSError, AttributeError):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, wait)
    except OSError as error:
        made.close()
        raise SourceError(
            f"must be an address that can be listened at ({reason_of(error)})",
            parameter=parameter,
            value=value,
            hint="end what listens there, take another port, or name an address of this machine",
        ) from error
    return made


def _bind(made: socket.socket, address: tuple[object, ...]) -> None:
    """Take the port; one that was just in use by a run that ends now is waited for, but not long."""
    until = monotonic() + _LEAVING
    while True:
        try:
            made.bind(address)
            return
        except OSError as error:
            if error.errno != EADDRINUSE or monotonic() >= until:
                raise
        sleep(_LEAVING / 20)


def _join(made: socket.socket, group: ipaddress.IPv4Address | ipaddress.IPv6Address, interface: str | None) -> None:
    if isinstance(group, ipaddress.IPv4Address):
        own = socket.inet_aton(interface or "0.0.0.0")
        made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group.packed + own)
        return
    number = socket.if_nametoindex(interface) if interface else 0
    made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, group.packed + struct.pack("@I", number))


def grow(made: socket.socket, buffer: int, *, sending: bool = False) -> SocketBuffer:
    """Ask for a buffer, by the right of the superuser where there is that."""
    force, plain = (_SNDBUFFORCE, socket.SO_SNDBUF) if sending else (_RCVBUFFORCE, socket.SO_RCVBUF)
    size = min(buffer, (1 << 30) - 1)
    try:
        made.setsockopt(socket.SOL_SOCKET, force if SYSTEM is not None else plain, size)
    except OSError:
        with suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, plain, size)
    return SocketBuffer(size, granted_by(made, plain))


def granted_by(made: socket.socket, option: int = socket.SO_RCVBUF) -> int:
    """Bytes of the buffer; the kernel of Linux tells twice as many, for what it keeps beside."""
    return made.getsockopt(socket.SOL_SOCKET, option) // (2 if SYSTEM is not None else 1)


def coalesce(made: socket.socket) -> bool:
    """Whether neighbouring datagrams of one length come together from now on."""
    if SYSTEM is None:
        return False
    try:
        made.setsockopt(SOL_UDP, UDP_GRO, 1)
    except OSError:
        return False
    return True


def dropped(made: socket.socket) -> int:
    """How many datagrams the kernel threw away because the buffer was full; 0 where it does not tell."""
    if SYSTEM is None:
        return 0
    try:
        told = made.getsockopt(socket.SOL_SOCKET, _MEMINFO, 4 * (_DROPS + 1))
    except OSError:
        return 0
    return int(struct.unpack_from("=I", told, 4 * _DROPS)[0]) if len(told) >= 4 * (_DROPS + 1) else 0
