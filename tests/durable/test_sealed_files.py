"""What was written is what is read, or the file is called damaged, in words."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path

import pyarrow as pa
import pytest

from windrow.durable.sealed_files import Damaged, Seal, read_json, read_stream, verify, write_json, write_stream

TABLE = pa.table({"t": [1, 2, 3], "k": ["a", "b", None]})
on_linux = pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
CONTENT = {"version": 1, "read": {"s": 12}, "files": ["a", "b"]}


def flips(content: bytes) -> list[bytes]:
    """The content with one bit changed, in every possible way."""
    wrong = []
    for place in range(8 * len(content)):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        wrong.append(bytes(changed))
    return wrong


def write(path: Path, table: pa.Table) -> Seal:
    return write_stream(path, table.to_batches(max_chunksize=2))


def test_tables_come_back(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    for table in (TABLE, pa.table({"k": pa.array(["a", "b", "a"]).dictionary_encode()})):
        seal = write(path, table)
        verify(path, seal)
        assert table == read_stream(path, seal).read_all()
        assert Seal.of(path.read_bytes()) == seal


def test_every_flip_and_every_cut_of_a_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.arrow"
    seal = write(path, TABLE)
    whole = path.read_bytes()
    for place, wrong in enumerate(flips(whole)[::5] + [whole[:n] for n in range(len(whole))] + [whole + b"\0"]):
        path.write_bytes(wrong)
        with pytest.raises(Damaged, match=rf"\A{re.escape(str(path))} (has|is) ") as caught:
            read_stream(path, seal) if place % 2 else verify(path, seal)
        assert path == caught.value.path


def test_every_flip_and_every_cut_of_sealed_json_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_json(path, CONTENT)
    whole = path.read_bytes()
    assert CONTENT == read_json(path) == json.loads(whole)["content"]
    for wrong in flips(whole) + [whole[:n] for n in range(len(whole))]:
        path.write_bytes(wrong)
        with pytest.raises(Damaged):
            read_json(path)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (b"", r"is empty where \d+ were written"),
        (b"123", r"has 3 bytes where \d+ were written"),
        (b"x" * 2_000, r"has 2,000 bytes where \d+ were written"),
        (None, "is missing"),
    ],
)
def test_damage_in_words(tmp_path: Path, wrong: bytes | None, what: str) -> None:
    path = tmp_path / "x.arrow"
    seal = write(path, TABLE)
    path.unlink() if wrong is None else path.write_bytes(wrong)
    with pytest.raises(Damaged, match=rf"\A{re.escape(str(path))} {what}\Z"):
        verify(path, seal)


def test_json_in_words(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for content, what in ((b"", "is empty"), (b"{}", "has changed since it was written: its checksum differs")):
        path.write_bytes(content)
        with pytest.raises(Damaged, match=rf"\A.*x\.json {what}\Z"):
            read_json(path)
    with pytest.raises(Damaged, match=r"\A\S* cannot be read \(is a directory\)\Z"):
        read_json(tmp_path)


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PermissionError):
        read_json(tmp_path / "x.json")


@on_linux
def test_json_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    write_json(path, CONTENT)
    (tmp_path / "x.json.draft").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device"):
        write_json(path, {**CONTENT, "version": 2})
    assert CONTENT == read_json(path)


@on_linux
def test_a_full_disk_is_told_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.arrow").symlink_to("/dev/full")
    large = pa.table({"t": range(100_000)})
    for table in (TABLE, large):
        with pytest.raises(OSError, match="No space left on device"):
            write(tmp_path / "x.arrow", table)
