"""Temporary folders: nobody else can look into them, and what a killed process left is removed by the next one.

All of a process lie in one folder, `windrow-...` among the system's temporary files. It is locked as long as the
process lives, so the owner of one that can be locked is dead.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from windrow.durable.folder_lock import LOCK, CheckpointLock
from windrow.errors import ConfigurationError, reason_of

PREFIX = "windrow-"


@dataclass(frozen=True)
class _Home:
    """The folder of one process."""

    path: Path
    lock: CheckpointLock
    owner: int

    @property
    def is_mine(self) -> bool:
        """Not in a forked child, which has its parent's variables; nor where a cleaner of old files removed it."""
        return self.owner == os.getpid() and self.path.is_dir()

    def remove(self) -> None:
        if self.owner == os.getpid():
            shutil.rmtree(self.path, ignore_errors=True)
            self.lock.__exit__()


_home: _Home | None = None


def temporary_folder(purpose: str) -> Path:
    """A new folder of this process, gone when the process is."""
    global _home
    try:
        if _home is None or not _home.is_mine:
            _home = _made()
            atexit.register(_home.remove)
            remove_abandoned(_home.path)
        return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_home.path))
    except OSError as error:
        raise ConfigurationError(
            f"must be a folder for temporary files that can be written ({reason_of(error)})",
            parameter="TMPDIR",
            value=os.environ.get("TMPDIR", "/tmp"),
            hint="set TMPDIR to a folder of yours on a disk with room",
        ) from error


def _made() -> _Home:
    """The folder has its name only when it is locked, so that no other process takes it for abandoned."""
    asked = os.environ.get("TMPDIR") or None  # which `tempfile` passes by where it cannot be written
    draft = Path(tempfile.mkdtemp(prefix=f".{PREFIX}", dir=asked))  # which nobody but its owner may enter
    lock = CheckpointLock(draft)
    lock.__enter__()
    return _Home(draft.rename(draft.with_name(draft.name.removeprefix("."))), lock, os.getpid())


def remove_abandoned(mine: Path) -> None:
    """Remove the folders that processes of the same user left when they were killed."""
    for folder in mine.parent.glob(f"{PREFIX}*"):
        if folder != mine and _is_alike(folder, mine):
            try:
                with CheckpointLock(folder):
                    shutil.rmtree(folder, ignore_errors=True)
            except ConfigurationError:  # its owner lives
                continue


def _is_alike(folder: Path, mine: Path) -> bool:
    """Whether a folder was made by this module for the same user."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    own = mine.stat()
    return (status.st_uid, status.st_mode) == (own.st_uid, own.st_mode) and (folder / LOCK).is_file()
