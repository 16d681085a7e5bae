"""The folder of a run on Spark, before Spark starts: whose it is, and whether all of it is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from windrow.durable.manifests import SPARK_MANIFEST
from windrow.durable.sealed_files import read_json, write_json
from windrow.engines.spark.running.checkpoint import check_output, claim, working_folder
from windrow.engines.spark.running.logs import check_sums, given_files
from windrow.errors import ConfigurationError, SourceError
from windrow.sharded.chunks import VERSION
from windrow.sources import open_source

HINT = "Hint: bring the folder back from a copy, or run the query from the start in an empty folder."


def refused(message: str) -> Any:
    return pytest.raises(ConfigurationError, match=f"^{re.escape(message)}$")


def made(shards: int = 2) -> Any:
    """As much of a query's frames as a claim looks at."""
    return SimpleNamespace(bundle=SimpleNamespace(signature=["stream s"], shards=range(shards)))


def restore(folder: Path) -> None:
    with working_folder(str(folder), restore=True):
        pass


def write(path: Path, text: str) -> None:
    """A file with its checksums, as Hadoop writes both."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = text.encode()
    path.write_bytes(content)
    sums = [zlib.crc32(content[start : start + 512]) for start in range(0, len(content), 512)]
    path.with_name(f".{path.name}.crc").write_bytes(b"crc\0" + struct.pack(f">i{len(sums)}I", 512, *sums))


def part(folder: Path, number: int) -> str:
    """The line for a file in the log of a folder of Parquet files, and the file."""
    path = folder / f"part-{number}.parquet"
    path.write_bytes(b"rows" * number)
    return json.dumps({"path": f"file://{path}", "size": 4 * number})


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A checkpoint after micro-batches 0 to 2, the last of which is planned and given but not committed."""
    folder = tmp_path / "state"
    with working_folder(str(folder), restore=False):
        claim(folder, made(), {}, ledger=True)
    schema = f"file:{folder}/spark/state/0/_stateSchema/default/0_ab"
    write(folder / "spark/metadata", '{"id":"1"}')
    write(folder / "spark/state/0/_metadata/v2/0", "v2\n" + json.dumps({"paths": [schema], "more": "x" * 600}))
    write(folder / "spark/state/0/_stateSchema/default/0_ab", "v3")
    (folder / "given").mkdir()
    for batch in range(3):
        write(folder / f"spark/offsets/{batch}", f'v1\n{{"rows": {batch}}}')
        write(folder / f"given/_spark_metadata/{batch}", "v1\n" + part(folder / "given", batch))
        if batch < 2:
            write(folder / f"spark/commits/{batch}", "v1\n{}")
    restore(folder)
    return folder


def test_a_folder_that_holds_a_run_is_refused_unless_it_is_restored(whole: Path) -> None:
    message = (
        f"`checkpoint` holds a run already, got {whole}. Hint: go on from it with restore, or choose an empty folder."
    )
    with refused(message), working_folder(str(whole), restore=False):
        pass
    with working_folder(str(whole), restore=True):
        claim(whole, made(), {}, ledger=True)


def test_a_folder_of_another_engine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "manifest.json").touch()
    message = (
        f"`checkpoint` must be of a run on Spark; this one is of a run in process, got {tmp_path}. "
        "Hint: go on with engine='local', or choose an empty folder."
    )
    with refused(message):
        restore(tmp_path)


def test_one_run_at_a_time(whole: Path) -> None:
    message = r"^`checkpoint` must be used by one run at a time; this process on this machine since .* has it, got "
    with working_folder(str(whole), restore=True), pytest.raises(ConfigurationError, match=message):
        restore(whole)
    restore(whole)


def test_a_folder_of_other_state_is_refused(whole: Path) -> None:
    shards = (
        "`checkpoint` must have as many shards as this run (3), got 2 shards. "
        "Hint: set spark.sql.shuffle.partitions to 2, or begin with an empty checkpoint folder."
    )
    with refused(shards):
        claim(whole, made(3), {}, ledger=True)
    way = (
        "`checkpoint` must be of a run whose results are written to a place of Spark's, such as parquet:FOLDER; those "
        f"of this one were given to this process, got {whole}. "
        "Hint: go on with the same kind of output, or begin with an empty checkpoint folder."
    )
    with refused(way):
        claim(whole, made(), {}, ledger=False)
    version = (
        f"`checkpoint` must be of state format {VERSION}, got format 2. "
        "Hint: begin with an empty checkpoint folder, or go on with the Windrow that wrote it."
    )
    (whole / SPARK_MANIFEST).write_text(
        json.dumps({"version": 2, "query": ["stream s"], "shards": 2})
    )  # it had no checksum
    with refused(version):
        claim(whole, made(), {}, ledger=True)


def test_a_run_killed_while_it_claims_its_folder_can_be_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            claim(tmp_path, made(), {}, ledger=True)
    for _ in range(2):
        restore(tmp_path)
        claim(tmp_path, made(), {}, ledger=True)
    assert ["stream s"] == read_json(tmp_path / SPARK_MANIFEST)["query"]


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("windrow.engines.spark.running.checkpoint.write_json", full)
    message = (
        f"`checkpoint` must be a folder that can be written (no space left on device), got {tmp_path}. "
        "Hint: choose another folder, mend its permissions or make room on its disk."
    )
    with refused(message):
        claim(tmp_path, made(), {}, ledger=True)


CHANGED = "has changed since it was written: its checksum differs"
LOST: dict[str, tuple[str, str]] = {
    SPARK_MANIFEST: (SPARK_MANIFEST, "is missing where {folder}/spark is there"),
    "spark/offsets": ("spark/offsets/1", "is missing"),
    "spark/offsets/2": ("spark/offsets/2", "is missing"),
    "spark/commits": ("spark/commits/1", "is missing"),
    "given/_spark_metadata": ("given/_spark_metadata/1", "is missing"),
    "given": ("given/_spark_metadata/1", "is missing"),
    "spark": ("spark/offsets/2", "is missing"),
}
"""What is lost, and what is told of it."""


@pytest.mark.parametrize("lost", LOST)
def test_a_half_copied_folder_is_refused(lost: str, whole: Path) -> None:
    path = whole / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    named, what = LOST[lost]
    with refused(f"`checkpoint` must hold a whole checkpoint; {whole / named} {what.format(folder=whole)}. {HINT}"):
        restore(whole)


def test_what_a_run_leaves_that_is_killed_between_two_files_is_whole(whole: Path) -> None:
    (whole / "given/_spark_metadata/2").unlink()
    restore(whole)
    (whole / "spark/offsets/2").unlink()
    restore(whole)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: (path.stat().st_size - 1) // 512 * 512])


@pytest.mark.parametrize("harm", [flipped, cut])
def test_every_damaged_log_is_named(harm: Callable[[Path], None], whole: Path) -> None:
    logs = [path for path in sorted(whole.rglob("*")) if path.with_name(f".{path.name}.crc").exists()]
    assert 11 == len(logs)
    for path in [*logs, whole / SPARK_MANIFEST]:
        sound = path.read_bytes()
        harm(path)
        message = rf"^`checkpoint` must hold a whole checkpoint; {path} (has changed|is cut off|is empty).*\. {HINT}$"
        with pytest.raises(ConfigurationError, match=message):
            restore(whole)
        path.write_bytes(sound)
    restore(whole)


def test_a_folder_that_was_moved_names_its_own_files(whole: Path, tmp_path: Path) -> None:
    moved = tmp_path / 'an other, "moved"'
    whole.rename(moved)
    restore(moved)
    operator = moved / "spark/state/0/_metadata/v2/0"
    named = json.loads(operator.read_text().partition("\n")[2])["paths"]
    assert [f"file:{moved}/spark/state/0/_stateSchema/default/0_ab"] == named
    check_sums(operator)
    assert [moved / "given" / f"part-{number}.parquet" for number in range(3)] == given_files(moved / "given")


def test_files_that_the_ledger_lacks_are_named(whole: Path) -> None:
    from windrow.durable.sealed_files import Damaged

    (whole / "given/part-2.parquet").write_bytes(b"row")
    with pytest.raises(Damaged, match=r"part-2\.parquet has 3 bytes where 8 were written$"):
        given_files(whole / "given")
    (whole / "given/part-2.parquet").unlink()
    with pytest.raises(Damaged, match=r"part-2\.parquet is missing$"):
        given_files(whole / "given")
    write(whole / "given/_spark_metadata/1.compact", (whole / "given/_spark_metadata/1").read_text())
    (whole / "given/_spark_metadata/0").unlink()  # all before it is in it
    (whole / "given/_spark_metadata/2").unlink()
    assert ["part-1.parquet"] == [path.name for path in given_files(whole / "given")]


def test_an_output_that_was_moved_is_refused(whole: Path, tmp_path: Path) -> None:
    check_output(str(whole / "given"), whole / "spark")
    check_output(f"file://{whole / 'given'}", whole / "spark")
    (whole / "given").rename(tmp_path / "moved")
    message = (
        f"`output` must be where it was when its files were written, {whole / 'given'}: Spark finds them nowhere else, "
        f"got {tmp_path / 'moved'}. Hint: move it back, or write to a new folder and read the old files by their names."
    )
    with refused(message):
        check_output(str(tmp_path / "moved"), whole / "spark")


def test_an_output_of_another_run_is_refused(whole: Path, tmp_path: Path) -> None:
    """Spark takes a micro-batch for written when its number is in the log of the folder."""
    check_output(str(tmp_path / "new"), tmp_path / "begun")
    check_output("s3a://bucket/answers", tmp_path / "begun")
    message = (
        "`output` must not hold the results of another run: Spark would take those of this one for written, got "
        f"{whole / 'given'}. Hint: write to a new folder, or go on with that run by its checkpoint and restore."
    )
    with refused(message):
        check_output(str(whole / "given"), tmp_path / "begun")


def test_an_output_that_lacks_what_the_run_has_given_is_refused(whole: Path, tmp_path: Path) -> None:
    message = (
        "`output` must be the folder that the run has written to until now, with all that Spark has put there, got "
        f"{tmp_path / 'new'}. Hint: name that folder, bring it back from a copy, or begin with an empty checkpoint "
        "folder."
    )
    with refused(message):
        check_output(str(tmp_path / "new"), whole / "spark")


def test_the_manifest_is_written_once(whole: Path) -> None:
    before = (whole / SPARK_MANIFEST).stat().st_mtime_ns
    claim(whole, made(), {}, ledger=True)
    assert before == (whole / SPARK_MANIFEST).stat().st_mtime_ns
    write_json(whole / SPARK_MANIFEST, {"version": VERSION, "query": ["other"], "shards": 2, "ledger": True})
    with pytest.raises(ConfigurationError, match=r"^`checkpoint` must be of a query that keeps the same state"):
        claim(whole, made(), {}, ledger=True)


@pytest.mark.parametrize(
    ("content", "what"), [("t\n1\n2\n", "6 bytes, were 4"), ("t\n7\n", "written again since")], ids=["grew", "changed"]
)
def test_a_file_that_is_another_than_it_was(tmp_path: Path, content: str, what: str) -> None:
    path, folder = tmp_path / "s.csv", tmp_path / "state"
    path.write_text("t\n1\n")
    os.utime(path, (0, 0))
    claim(folder, made(), {"s": open_source(path, name="s")}, ledger=True)
    claim(folder, made(), {"s": open_source(path, name="s")}, ledger=True)
    path.write_text(content)
    claim(folder, made(), {"s": open_source(path, name="s")}, ledger=True)  # which may not have been read yet
    write(folder / "spark" / "commits" / "0", "v1")
    write(folder / "spark" / "offsets" / "0", 'v1\n{"rows": 1, "ended": true}')
    message = rf"^`s` must still be the data that was read before the checkpoint, got {path} \({what}\)\. Hint: bring "
    with pytest.raises(SourceError, match=message):
        claim(folder, made(), {"s": open_source(path, name="s")}, ledger=True)
