"""One run at a time on a checkpoint folder: the second is told who has it, and a dead one has nothing."""

from __future__ import annotations

import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from windrow.durable import folder_lock as checkpoint_lock
from windrow.durable.folder_lock import LOCK, CheckpointLock
from windrow.errors import ConfigurationError, WindrowError

HOLD = """
import os, sys
from windrow.durable.folder_lock import CheckpointLock
with CheckpointLock(sys.argv[1]):
    child = os.fork() if sys.argv[2:] else 0
    if not child:
        print(os.getpid(), flush=True)
    sys.stdin.read()
"""
"""Holds a folder until its standard input ends; with a second argument it has a forked child that lives as long."""

SINCE = r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"


def refusal(folder: Path, who: str) -> str:
    got = re.escape(str(folder))
    return (
        rf"\A`checkpoint` must be used by one run at a time; {who} has it, got {got}\. "
        r"Hint: wait for that run to end or stop it, or give this one a folder of its own\.\Z"
    )


@contextmanager
def held_elsewhere(folder: Path, *options: str) -> Iterator[tuple[int, int]]:
    """Another process has the folder: its number, and that of its child or else its own. Both end with the block."""
    command = [sys.executable, "-W", "ignore", "-c", HOLD, str(folder), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())


def test_the_second_run_is_told_who_has_the_folder(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as (pid, _):
        who = rf"process {pid} on this machine {SINCE} \(-c {re.escape(str(tmp_path))}\)"
        with pytest.raises(ConfigurationError, match=refusal(tmp_path, who)), CheckpointLock(tmp_path):
            pass
    with CheckpointLock(tmp_path):  # it ended
        pass


def test_a_killed_run_has_nothing_and_neither_has_its_forked_child(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path, "fork") as (pid, child):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.kill(child, 0)  # lives on
        with CheckpointLock(tmp_path):
            pass


def test_threads_of_one_process_are_refused_too(tmp_path: Path) -> None:
    refused: list[WindrowError] = []

    def try_it() -> None:
        try:
            CheckpointLock(tmp_path / "x" / "..").__enter__()
        except WindrowError as error:
            refused.append(error)

    (tmp_path / "x").mkdir()
    with CheckpointLock(tmp_path):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    assert re.search(refusal(tmp_path / "x" / "..", rf"this process on this machine {SINCE} \(.*\)"), str(refused[0]))
    with CheckpointLock(tmp_path):
        pass


def test_what_a_lock_file_says_locks_nothing(tmp_path: Path) -> None:
    """A folder that was copied while a run had it, or left by a killed run, is free."""
    with CheckpointLock(tmp_path / "a"):
        assert (tmp_path / "a" / LOCK).stat().st_size > 0
        shutil.copytree(tmp_path / "a", tmp_path / "b")
        with CheckpointLock(tmp_path / "b"):
            pass
    assert 0 == (tmp_path / "a" / LOCK).stat().st_size


@pytest.mark.parametrize("said", [b"", b"{", b"\xff", b"[1]", b'{"pid": 3}'])
def test_a_holder_that_does_not_say_who_it_is(tmp_path: Path, said: bytes) -> None:
    with CheckpointLock(tmp_path):
        (tmp_path / LOCK).write_bytes(said)
        with pytest.raises(ConfigurationError, match=refusal(tmp_path, "another run")), CheckpointLock(tmp_path):
            pass


def test_a_forked_child_that_leaves_the_block_frees_nothing(tmp_path: Path) -> None:
    lock = CheckpointLock(tmp_path)
    with lock:
        inside, handles = dict(checkpoint_lock._held), list(checkpoint_lock._held.values())
        checkpoint_lock._held.clear()  # what a child finds after it was forked
        lock.__exit__()
        checkpoint_lock._held.update(inside)
        assert os.fstat(handles[0]).st_size > 0


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EACCES, "permission denied"), (errno.EROFS, "read-only file system"), (errno.ENOLCK, "no locks available")],
)
def test_a_folder_without_locks_or_leave_to_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    if number == errno.ENOLCK:
        monkeypatch.setattr(checkpoint_lock, "_take", fail)
    else:
        monkeypatch.setattr(os, "open", fail)
    pattern = (
        rf"\A`checkpoint` must be a folder that can be written \({reason}\), got {re.escape(str(tmp_path))}\. Hint: "
    )
    with pytest.raises(ConfigurationError, match=pattern), CheckpointLock(tmp_path):
        pass


@pytest.mark.parametrize("below", ["", "below"])
def test_a_file_is_no_folder(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    pattern = r"\A`checkpoint` must be a folder that can be written \(it is a file, or lies in one\), got .*file"
    with pytest.raises(ConfigurationError, match=pattern), CheckpointLock(tmp_path / "file" / below):
        pass
