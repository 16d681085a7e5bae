"""A coded column on the disk, for rows that are more than memory is to hold.

A column that is spilled keeps its headers, so that bounds are looked at without reading; each look into its rows reads
the bytes of the blocks they are in, and compares their checksums before anything is made of them. Files are private
to the process, hold some columns each, and go with the last of them.
"""

from __future__ import annotations

import os
import weakref
import zlib
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.errors import DataError
from windrow.operators.compression.coded_column import CodedColumn


class SpillFile:
    """Bytes that were written one after the other, until nobody needs any of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self.size = 0
        weakref.finalize(self, _gone, self.file, path)

    def append(self, content: memoryview) -> int:
        """Write bytes; returns where they begin."""
        start, done = self.size, 0
        while done < len(content):
            done += os.pwrite(self.file, content[done:], start + done)
        self.size += len(content)
        return start

    def read(self, start: int, stop: int) -> bytes:
        pieces = []
        while start < stop:
            piece = os.pread(self.file, stop - start, start)
            if not piece:
                raise _damaged(self.path, f"ends at byte {start:,}")
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)


def _gone(file: int, path: Path) -> None:
    os.close(file)
    path.unlink(missing_ok=True)


@dataclass(frozen=True, eq=False)
class SpilledColumn:
    """A coded column whose bytes are in a file."""

    headers: CodedColumn
    """The column without its bytes."""
    file: SpillFile
    place: int
    """Where byte 0 of the column is."""
    checks: npt.NDArray[np.uint32]
    """A checksum for each block."""

    @staticmethod
    def of(column: CodedColumn, file: SpillFile) -> SpilledColumn:
        content: Any = memoryview(column.data)  # type: ignore[arg-type]
        offsets = column.offsets.tolist()
        place = file.append(content[offsets[0] : offsets[-1]]) - offsets[0]
        checks = [zlib.crc32(content[a:b]) for a, b in pairwise(offsets)]
        return SpilledColumn(replace(column, data=np.empty(0, np.uint8)), file, place, np.array(checks, np.uint32))

    @property
    def size(self) -> int:
        return self.headers.size

    def __len__(self) -> int:
        return self.size

    def table(self) -> pa.Table:
        return self.loaded(0, self.size).table()

    def read(self) -> npt.NDArray[Any]:
        return self.loaded(0, self.size).read()

    def take(self, rows: npt.NDArray[Any] | slice) -> npt.NDArray[Any]:
        return self.loaded(0, self.size).take(rows)

    def slice(self, start: int, stop: int) -> SpilledColumn:
        first, last = self._blocks(start, stop)
        return replace(self, headers=self.headers.slice(start, stop), checks=self.checks[first:last])

    def search(self, value: int, side: str = "left") -> int:
        """Where a value would go into sorted values; reads one block at most."""
        beyond = self.headers.greatests > value if side == "right" else self.headers.greatests >= value
        for block in np.flatnonzero(beyond):
            start, stop = (int(at) for at in self.headers.starts[block : block + 2])
            place = start + self.loaded(start, stop).search(value, side)
            if place < stop:
                return place
        return self.size

    @property
    def least(self) -> int:
        return int(self.headers.leasts.min())

    @property
    def greatest(self) -> int:
        return int(self.headers.greatests.max())

    @property
    def nbytes(self) -> int:
        """Of what is in memory."""
        return self.headers.nbytes + self.checks.nbytes

    @property
    def spilled_bytes(self) -> int:
        return int(self.headers.offsets[-1] - self.headers.offsets[0])

    def _blocks(self, start: int, stop: int) -> tuple[int, int]:
        """The first block of some rows, and the one behind the last."""
        starts: Integers = self.headers.starts
        if stop <= start:
            return 0, 0
        return int(starts.searchsorted(start, side="right")) - 1, int(starts.searchsorted(stop, side="left"))

    def loaded(self, start: int, stop: int) -> CodedColumn:
        """Some rows as a column in memory."""
        first, last = self._blocks(start, stop)
        offsets = self.headers.offsets[first : last + 1].tolist()
        if not offsets[1:]:
            return self.headers.slice(0, 0)
        content = memoryview(self.file.read(self.place + offsets[0], self.place + offsets[-1]))
        for block, (low, high) in enumerate(pairwise(offsets), first):
            if zlib.crc32(content[low - offsets[0] : high - offsets[0]]) != self.checks[block]:
                raise _damaged(self.file.path, f"has changed at byte {self.place + low:,} since it was written")
        return self.headers.with_bytes(first, last, np.frombuffer(content, np.uint8)).slice(
            start - int(self.headers.starts[first]), stop - int(self.headers.starts[first])
        )


def _damaged(path: Path, what: str) -> DataError:
    return DataError(
        f"must be as they were written: {path} {what}",
        parameter="kept rows",
        hint="start the run again, from its checkpoint where there is one, and check the disk",
    )
