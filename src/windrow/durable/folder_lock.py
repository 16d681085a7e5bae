"""One run at a time on a checkpoint folder, whichever engine it runs on.

The lock is one of the operating system on the file `windrow.lock` in the folder: it is gone when its process is, in
whatever way that ended, and so is never stale. The file holds only who has it, for the message to the one that comes
second; a folder may be moved, copied or restored together with such a file. A run on another host is refused where the
file system hands locks on, as NFS does from version 4; where it has no locks at all, the folder is refused.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import sys
import threading
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeAlias

from windrow.errors import ConfigurationError, reason_of

LOCK = "windrow.lock"
_COMMAND_LENGTH = 200
_NOTE_LENGTH = 4096

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # locked bytes cannot be read there, so one behind the note
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _free(handle: int) -> None:
        os.lseek(handle, 1 << 30, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

    _TAKEN: tuple[type[OSError], ...] = (PermissionError, BlockingIOError)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _free(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)

    _TAKEN = (BlockingIOError,)

Identity: TypeAlias = tuple[int, int]
"""A file, whatever it is called: its device and its number there."""

_held: dict[Identity, int] = {}
"""The locks of this process with their open files: over NFS the system lets a process take its own lock again."""
_guard = threading.Lock()


def _forget() -> None:
    """A forked child has nothing: its copies of the open files would keep the locks when the parent is gone."""
    for handle in _held.values():
        os.close(handle)
    _held.clear()
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forget)


def _note() -> bytes:
    """Who has a lock, as the lock file has it."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")
    command = shlex.join(sys.argv)[:_COMMAND_LENGTH]
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now, "command": command}).encode()


def _holder(path: Path) -> str:
    """Who has a lock; not known where that is not in the file: it is of another program, or just being written."""
    try:
        with path.open("rb") as file:
            note = json.loads(file.read(_NOTE_LENGTH))
        pid, host, since, command = note["pid"], note["host"], note["since"], note["command"]
    except (OSError, ValueError, TypeError, KeyError):
        return "another run"
    own = host == socket.gethostname()
    who = "this process" if own and pid == os.getpid() else f"process {pid}"
    return f"{who} on {'this machine' if own else host} since {since} ({command})"


class CheckpointLock:
    """Holds a folder as a context manager; makes the folder where there is none.

    Entering raises a `ConfigurationError` when another run has the folder, in this process or any other.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / LOCK
        self._mine: Identity | None = None

    def __enter__(self) -> CheckpointLock:
        with _guard:
            self._mine, handle = self._taken()
            _held[self._mine] = handle
            with suppress(OSError):  # who has it is a courtesy: on a full disk the lock holds all the same
                os.ftruncate(handle, 0)
                os.write(handle, _note())
        return self

    def __exit__(self, *_: object) -> None:
        with _guard:
            handle = None if self._mine is None else _held.pop(self._mine, None)
            if handle is None:  # a forked child leaves the block, too, and has no lock
                return
            with suppress(OSError):
                os.ftruncate(handle, 0)
                _free(handle)
            os.close(handle)

    def _taken(self) -> tuple[Identity, int]:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if identity(self.path) in _held:
                raise self._refused()
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise unusable(self.folder, error) from error
        try:
            _take(handle)
        except OSError as error:
            os.close(handle)
            raise self._refused() if isinstance(error, _TAKEN) else unusable(self.folder, error) from error
        status = os.fstat(handle)
        return (status.st_dev, status.st_ino), handle

    def _refused(self) -> ConfigurationError:
        return ConfigurationError(
            f"must be used by one run at a time; {_holder(self.path)} has it",
            parameter="checkpoint",
            value=str(self.folder),
            hint="wait for that run to end or stop it, or give this one a folder of its own",
        )


def identity(path: Path) -> Identity | None:
    """None where there is nothing, or nothing that may be looked at."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def unusable(folder: Path, error: OSError) -> ConfigurationError:
    """The error for a folder in which nothing can be written, with the system's reason."""
    is_file = isinstance(error, (FileExistsError, NotADirectoryError))
    reason = "it is a file, or lies in one" if is_file else reason_of(error)
    return ConfigurationError(
        f"must be a folder that can be written ({reason})",
        parameter="checkpoint",
        value=str(folder),
        hint="choose another folder, mend its permissions or make room on its disk",
    )
