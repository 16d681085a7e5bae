"""What was given out is on the disk before a checkpoint counts, and nothing else in its folder is touched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

DATA = pa.table({"t": [1, 2, 30]})


def query() -> wr.Query:
    return wr.stream(DATA, time="t").window(range=5).agg(n=wr.count())


@pytest.mark.parametrize("name", ["mine.arrow", "results.arrow", "results-mine.arrow", "late-1.parquet"])
def test_files_of_others_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("precious")
    first = query().run(checkpoint=str(tmp_path)).table
    assert first.equals(query().run(checkpoint=str(tmp_path), restore=True).table)
    assert "precious" == (tmp_path / name).read_text()


def test_strays_of_a_checkpoint_that_never_counted_go(tmp_path: Path) -> None:
    query().run(checkpoint=str(tmp_path))
    (tmp_path / "results-77.arrow").write_text("half")
    query().run(checkpoint=str(tmp_path), restore=True)
    assert not (tmp_path / "results-77.arrow").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells the names of open files there")
def test_all_files_are_durable_before_the_checkpoint_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_fsync(handle: int) -> None:
        done.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def note_replace(self: Path, target: Any) -> Any:
        done.append(f"{self.name} renamed")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(Path, "replace", note_replace)
    query().run(checkpoint=str(tmp_path))
    counts = done.index("1.draft renamed")
    before, after = done[:counts], done[counts + 1 :]
    written = {path.name for path in tmp_path.glob("*.arrow")}
    assert written
    assert written == set(before[: len(written)])
    manifest = ["manifest.json.draft", "manifest.json.draft renamed", "1.draft"]
    assert ["state-1.chunks", tmp_path.name, *manifest] == before[len(written) :]
    assert [tmp_path.name] == after
