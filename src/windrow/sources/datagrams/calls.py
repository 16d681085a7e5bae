"""System calls that take or give many datagrams at once, on Linux; the interpreter's lock is free meanwhile.

`MessageHeaders` is what both calls work on: an array of headers, each of which names a place in memory, an address and
a place for notes. It is made once and used again and again.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Lengths = npt.NDArray[np.int64]

_MESSAGE = np.dtype(
    {
        "names": ["name", "name_size", "parts", "part_count", "notes", "notes_size", "flags", "size"],
        "formats": ["<u8", "<u4", "<u8", "<u8", "<u8", "<u8", "<i4", "<u4"],
        "offsets": [0, 8, 16, 24, 32, 40, 48, 56],
        "itemsize": 64,
    }
)
"""`struct mmsghdr` where pointers have 8 bytes."""
_PART = np.dtype([("at", "<u8"), ("size", "<u8")])
_NOTE = np.dtype([("size", "<u8"), ("level", "<i4"), ("kind", "<i4"), ("value", "<i4"), ("rest", "<i4")])
"""`struct cmsghdr` with a number behind it."""
_NAME_BYTES = 32
WAIT_FOR_ONE = 0x10000
SOL_UDP, UDP_SEGMENT, UDP_GRO = 17, 103, 104
_NOTED = 20


def _system() -> Any:
    """The C library where it has the calls as they are expected here; None elsewhere."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return None
    found = ctypes.CDLL(None, use_errno=True)
    return found if hasattr(found, "recvmmsg") and hasattr(found, "sendmmsg") else None


SYSTEM = _system()
"""None: datagrams go one by one through the calls that Python has."""


class MessageHeaders:
    """So many message headers for one of the calls."""

    def __init__(self, count: int) -> None:
        self.headers = np.zeros(count, _MESSAGE)
        self.parts = np.zeros(count, _PART)
        self.names = np.zeros((count, _NAME_BYTES // 8), np.uint64)
        self.notes = np.zeros(count, _NOTE)
        self.headers["parts"] = self.parts.ctypes.data + _PART.itemsize * np.arange(count, dtype=np.uint64)
        self.headers["part_count"] = 1
        self._at = ctypes.c_void_p(self.headers.ctypes.data)

    def point_at(self, data: Bytes, places: Lengths, size: int | Lengths) -> None:
        """Where each message lies, and how long it is or may be."""
        self.parts["at"][: len(places)] = (data.ctypes.data + places).astype(np.uint64)
        self.parts["size"][: len(places)] = size

    def with_names(self) -> None:
        """Ask for the address of each sender."""
        step = np.uint64(_NAME_BYTES) * np.arange(len(self.names), dtype=np.uint64)
        self.headers["name"] = np.uint64(self.names.ctypes.data) + step

    def with_notes(self) -> None:
        """Each message has room for a note of the kernel, or one for it."""
        step = np.uint64(_NOTE.itemsize) * np.arange(len(self.notes), dtype=np.uint64)
        self.headers["notes"] = np.uint64(self.notes.ctypes.data) + step

    def receive(self, number: int, *, flags: int = WAIT_FOR_ONE) -> int:
        """Wait for one message and take all that are there; an `OSError` where the call fails."""
        headers = self.headers
        headers["name_size"] = _NAME_BYTES
        headers["notes_size"] = _NOTE.itemsize
        taken = SYSTEM.recvmmsg(number, self._at, len(headers), flags, None)
        return _checked(taken)

    def segments(self, taken: int) -> npt.NDArray[np.int64]:
        """How long the datagrams are that a message holds; 0: it is one."""
        notes, noted = self.notes[:taken], self.headers["notes_size"][:taken] >= _NOTED
        noted &= (notes["level"] == SOL_UDP) & (notes["kind"] == UDP_GRO)
        found: npt.NDArray[np.int64] = np.where(noted, notes["value"], 0).astype(np.int64)
        return found

    def cut_into(self, size: int) -> None:
        """Have the kernel cut each message into datagrams of this size."""
        self.with_notes()
        self.headers["notes_size"] = _NOTE.itemsize
        self.notes["size"], self.notes["level"], self.notes["kind"] = _NOTED - 2, SOL_UDP, UDP_SEGMENT
        self.notes["value"] = size  # two bytes, the lowest ones first

    def without_notes(self) -> None:
        """Each message is one datagram."""
        self.headers["notes"], self.headers["notes_size"] = 0, 0

    def send(self, number: int, first: int, count: int) -> int:
        """Send some; returns how many went out. An `OSError` where the first did not."""
        at = ctypes.c_void_p(self.headers.ctypes.data + first * _MESSAGE.itemsize)
        return _checked(SYSTEM.sendmmsg(number, at, count, 0))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
