from __future__ import annotations

import re
from pathlib import Path

import pytest

from windrow.errors import SourceError
from windrow.sources.files.paths import FileKind, find_files, kind_of


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("x")


def test_a_folder_is_its_visible_files_by_name(tmp_path: Path) -> None:
    touch(tmp_path, "b.csv", "a.csv", "_SUCCESS", ".a.csv.crc")
    assert ((tmp_path / "a.csv", tmp_path / "b.csv"), FileKind.CSV) == find_files(tmp_path, "s")


def test_a_pattern_is_the_files_that_match(tmp_path: Path) -> None:
    touch(tmp_path, "b.csv", "a.csv", "a.parquet")
    assert ((tmp_path / "a.csv", tmp_path / "b.csv"), FileKind.CSV) == find_files(str(tmp_path / "*.csv"), "s")


def test_a_relative_pattern_starts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "a.csv")
    monkeypatch.chdir(tmp_path)
    assert ((Path("a.csv"),), FileKind.CSV) == find_files("*.csv", "s")


def test_a_file_whose_name_looks_like_a_pattern_is_itself(tmp_path: Path) -> None:
    touch(tmp_path, "a[1].csv", "a1.csv")
    assert ((tmp_path / "a[1].csv",), FileKind.CSV) == find_files(tmp_path / "a[1].csv", "s")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.parquet", FileKind.PARQUET),
        ("a.PQ", FileKind.PARQUET),
        ("a.csv", FileKind.CSV),
        ("a.csv.gz", FileKind.CSV),
        ("a.tsv", FileKind.TSV),
        ("a.jsonl", FileKind.JSON),
        ("a.ndjson", FileKind.JSON),
        ("a.json", FileKind.JSON),
        ("a.txt", None),
    ],
)
def test_kinds_by_ending(name: str, kind: FileKind | None) -> None:
    assert kind == kind_of(Path(name))


def test_a_missing_file_says_what_is_missing(tmp_path: Path) -> None:
    folder = re.escape(str(tmp_path))
    pattern = (
        rf"^`trades` must be a file, a folder or a glob pattern that exists, got {folder}/no/a\.csv\. "
        rf"Hint: the folder {folder} exists, no/a\.csv is not in it\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        find_files(tmp_path / "no" / "a.csv", "trades")


@pytest.mark.parametrize("ending", ["", "/*.csv"])
def test_a_folder_or_pattern_without_files(tmp_path: Path, ending: str) -> None:
    pattern = (
        r"^`trades` must hold at least one file \(names that begin with '\.' or '_' do not count\), got "
        rf"{re.escape(str(tmp_path) + ending)}\. Hint: check the folder or the pattern\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        find_files(str(tmp_path) + ending, "trades")


def test_an_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    touch(tmp_path, "a.txt")
    pattern = (
        r"^`trades` must be files with a known ending \(one of \.parquet, \.pq, \.csv, .*\), got "
        rf"{re.escape(str(tmp_path))}/a\.txt\. Hint: rename the file, or name the files of one kind with a pattern\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        find_files(tmp_path / "a.txt", "trades")


def test_files_of_two_kinds_are_refused(tmp_path: Path) -> None:
    touch(tmp_path, "a.csv", "b.parquet")
    pattern = (
        rf"^`trades` must be files of one kind \(found CSV, Parquet\), got {re.escape(str(tmp_path))}\. "
        r"Hint: name the files of one kind with a pattern such as 'folder/\*\.parquet'\.$"
    )
    with pytest.raises(SourceError, match=pattern):
        find_files(tmp_path, "trades")


def test_no_path_is_not_the_folder_of_the_run() -> None:
    pattern = r"^`s` must be a file, a folder or a glob pattern that exists, got nothing\. Hint: name one; for all "
    with pytest.raises(SourceError, match=pattern):
        find_files("", "s")


@pytest.mark.parametrize("ending", ["", "/*", "/*.csv"])
def test_a_folder_among_the_files_is_not_left_out_unseen(tmp_path: Path, ending: str) -> None:
    (tmp_path / "b.csv").mkdir()
    touch(tmp_path, "a.csv", "b.csv/part-0.csv")
    pattern = (
        rf"^`s` must be files, or a folder of files without folders in it, got the folder {tmp_path}/b\.csv\. Hint"
    )
    with pytest.raises(SourceError, match=pattern):
        find_files(f"{tmp_path}{ending}", "s")


def test_folders_that_are_empty_hidden_or_passed_through_do_not_matter(tmp_path: Path) -> None:
    for name in ("empty", "_hidden", "deep"):
        (tmp_path / name).mkdir()
    touch(tmp_path, "a.csv", "_hidden/b.csv")
    assert ((tmp_path / "a.csv",), FileKind.CSV) == find_files(tmp_path, "s")
    touch(tmp_path, "deep/c.csv")
    both = (tmp_path / "a.csv", tmp_path / "deep" / "c.csv")
    assert (both, FileKind.CSV) == find_files(f"{tmp_path}/**/[ac].csv", "s")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * 300 + ".csv", r"`s` must be a path that can be read \(file name too long\), got a+\.csv\. Hint: check"),
        ("/dev/null", r"`s` must be a file, .* got /dev/null\. Hint: /dev/null is a device or a pipe, not a file\."),
    ],
)
def test_paths_that_are_no_files(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=rf"^{message}"):
        find_files(text, "s")
