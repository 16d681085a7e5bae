"""What figures depend on: the commit is told apart from what has changed since."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from _machine import commit_of


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A commit with a source and a line of history."""
    (tmp_path / "benchmarks" / "history").mkdir(parents=True)
    (tmp_path / "source.py").write_text("1\n", encoding="utf-8")
    (tmp_path / "benchmarks" / "history" / "cpu.jsonl").write_text("{}\n", encoding="utf-8")
    someone = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "."], [*someone, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    return tmp_path


def test_commit_is_plain_while_only_the_history_grows(repository: Path) -> None:
    (repository / "benchmarks" / "history" / "cpu.jsonl").write_text("{}\n{}\n", encoding="utf-8")
    (repository / "new.txt").write_text("not part of it", encoding="utf-8")
    assert commit_of(repository).isalnum()


def test_commit_has_a_plus_once_a_source_has_changed(repository: Path) -> None:
    plain = commit_of(repository)
    (repository / "source.py").write_text("2\n", encoding="utf-8")
    assert f"{plain}+" == commit_of(repository)


def test_commit_is_unknown_outside_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "unknown" == commit_of(tmp_path)
