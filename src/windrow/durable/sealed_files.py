"""Files that survive a power cut once they count, and of which it is known when a bit has changed since.

Who writes a file gets its *seal*, the number of its bytes and a checksum over all of them, and keeps it elsewhere; who
reads the file compares before anything is made of its bytes. What keeps seals is JSON that bears its own.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from windrow.errors import reason_of

_PIECE = 1 << 20


class Damaged(Exception):
    """A file is not what was written; `what` is in which way."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path} {what}")
        self.path = path
        self.what = what


@dataclass(frozen=True)
class Seal:
    """What a file held when it was written.

    >>> Seal.of(b"rows")
    Seal(size=4, checksum='...')
    """

    size: int
    checksum: str

    @staticmethod
    def of(content: bytes) -> Seal:
        return Seal(len(content), _checksum(content).hexdigest())

    def compare(self, path: Path, found: Seal) -> None:
        """Raise `Damaged` unless the file is as it was."""
        if found.size != self.size:
            is_empty = "is empty" if not found.size else f"has {found.size:,} bytes"
            raise Damaged(path, f"{is_empty} where {self.size:,} were written")
        if found.checksum != self.checksum:
            raise Damaged(path, "has changed since it was written: its checksum differs")


def _checksum(content: bytes = b"") -> Any:
    return hashlib.blake2b(content, digest_size=16)


class SealedWriter(io.RawIOBase):
    """Hands on to a file and seals what passes."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = 0
        self.checksum = _checksum()

    def write(self, content: Any) -> int:
        written = self.file.write(content)
        self.checksum.update(content)
        self.size += written
        return written

    def writable(self) -> bool:
        return True

    def seal(self) -> Seal:
        return Seal(self.size, self.checksum.hexdigest())


def make_durable(folder: Path) -> None:
    """Have the names in a folder on the disk before going on: a power cut must not undo it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def write_sealed(path: Path) -> Iterator[SealedWriter]:
    """A new file, on the disk with its seal when the block ends; its name is when its folder was made durable."""
    with path.open("wb") as file:
        yield SealedWriter(file)
        file.flush()
        os.fsync(file.fileno())


def write_stream(path: Path, batches: Sequence[pa.RecordBatch]) -> Seal:
    """Batches of one schema as an Arrow stream in a new file."""
    with write_sealed(path) as out, pa.ipc.new_stream(out, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return out.seal()


def read_stream(path: Path, seal: Seal) -> pa.RecordBatchReader:
    """The stream of a file that is as it was; else errors as those of `verify`.

    All is compared before Arrow sees any of it: it does not promise to survive bytes that it did not write.
    """
    return pa.ipc.open_stream(read_sealed(path, seal))


def read_sealed(path: Path, seal: Seal) -> bytes:
    """All of a file that is as it was; else errors as those of `verify`."""
    with _readable(path):
        content = path.read_bytes()
    seal.compare(path, Seal.of(content))
    return content


def verify(path: Path, seal: Seal) -> None:
    """Raise `Damaged` unless a file is as it was, and `PermissionError` where it may not be read."""
    size, checksum = 0, _checksum()
    with _readable(path), path.open("rb") as file:
        while piece := file.read(_PIECE):
            size += len(piece)
            checksum.update(piece)
    seal.compare(path, Seal(size, checksum.hexdigest()))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError:
        raise
    except FileNotFoundError as error:
        raise Damaged(path, "is missing") from error
    except OSError as error:
        raise Damaged(path, f"cannot be read ({reason_of(error)})") from error


def write_json(path: Path, content: Any) -> None:
    """Values under a checksum of their own, in place of what was there, as a whole or not at all.

    The first line is the checksum over all bytes behind it.
    """
    body = b'"content": ' + json.dumps(content, indent=1).encode() + b"}\n"
    draft = path.with_name(f"{path.name}.draft")
    with write_sealed(draft) as file:
        file.write(_first_line(body) + body)
    draft.replace(path)
    make_durable(path.parent)


def _first_line(body: bytes) -> bytes:
    return b'{"checksum": "%s",\n' % _checksum(body).hexdigest().encode()


def read_json(path: Path) -> Any:
    """The values that `write_json` wrote; errors as those of `verify`."""
    with _readable(path):
        content = path.read_bytes()
    first, body = content[: len(_first_line(b""))], content[len(_first_line(b"")) :]
    if first != _first_line(body):
        raise Damaged(path, "has changed since it was written: its checksum differs" if content else "is empty")
    return json.loads(content)["content"]
