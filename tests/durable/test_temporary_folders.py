"""Temporary folders are private, and what a killed process left is gone after the next start."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from windrow.durable import temporary_folders as temporary
from windrow.durable.folder_lock import LOCK
from windrow.errors import ConfigurationError

SAY = "import sys; from windrow.durable.temporary_folders import temporary_folder as t; print(t('run'), flush=True); "
LIVES, ENDS, DIES = "sys.stdin.read()", "pass", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


def process(tmp: Path, then: str) -> tuple[subprocess.Popen[str], Path]:
    """A process with a temporary folder, and that folder."""
    env = {**os.environ, "PYTHONPATH": "src", "TMPDIR": str(tmp)}
    command = [sys.executable, "-c", SAY + then]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert started.stdout is not None
    folder = Path(started.stdout.readline().strip())
    if then != LIVES:
        started.communicate()
    return started, folder


def test_nobody_else_can_look_into_a_folder_and_a_process_that_ends_leaves_none(tmp_path: Path) -> None:
    living, folder = process(tmp_path, LIVES)
    assert tmp_path == folder.parent.parent
    assert [0o700, 0o700] == [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)]
    living.communicate()
    assert [] == list(tmp_path.iterdir())


def test_a_folder_that_was_asked_for_and_is_not_there_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setattr(temporary, "_home", None)
    with pytest.raises(
        ConfigurationError, match=r"^`TMPDIR` must be a folder for temporary files .*, got .*/missing\. "
    ):
        temporary.temporary_folder("rows")


def test_folders_of_the_dead_are_removed_and_those_of_the_living_are_not(tmp_path: Path) -> None:
    living, used = process(tmp_path, LIVES)
    (used / "state").write_text("in use")
    _, left = process(tmp_path, DIES)
    assert left.is_dir()
    foreign = [tmp_path / f"windrow-{name}" for name in ("no-lock", "open", "file")]
    foreign[0].mkdir(mode=0o700)
    foreign[1].mkdir(mode=0o755)
    (foreign[1] / LOCK).touch()
    foreign[2].touch()
    link = tmp_path / "windrow-link"
    link.symlink_to(used.parent)
    process(tmp_path, ENDS)
    assert sorted([used.parent, link, *foreign]) == sorted(tmp_path.iterdir())
    assert "in use" == (used / "state").read_text()
    living.communicate()


def test_a_forked_child_has_a_folder_of_its_own_and_leaves_that_of_its_parent(tmp_path: Path) -> None:
    fork = """
import os
child = os.fork()
if child == 0:
    print(t("run"), flush=True)
    sys.exit()
os.waitpid(child, 0)
sys.stdin.read()"""
    env = {**os.environ, "PYTHONPATH": "src", "TMPDIR": str(tmp_path)}
    script = SAY.replace("; print", "\nprint") + fork
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, input="", capture_output=True, text=True, env=env, check=True)
    first, second = map(Path, done.stdout.splitlines())
    assert first.parent != second.parent
    assert [] == list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing"
    monkeypatch.setattr(temporary, "_home", None)
    monkeypatch.setattr("tempfile.tempdir", str(missing))
    monkeypatch.setenv("TMPDIR", str(missing))
    pattern = (
        rf"\A`TMPDIR` must be a folder for temporary files that can be written \(no such file or directory\), got "
        rf"{missing}\. Hint: set TMPDIR to a folder of yours on a disk with room\.\Z"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        temporary.temporary_folder("run")
