"""One place by any spelling is one place; what merely looks alike is not."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from windrow.query.places import Meeting, Place, places_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """data/a.parquet and data/b.parquet, other names for them, and a folder beside."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("data/a.parquet", "data/b.parquet", "elsewhere/c.parquet", "data/sub/x.parquet", "od[d].csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link.parquet").symlink_to("data/a.parquet")
    (tmp_path / "shortcut").symlink_to("data")
    (tmp_path / "data" / "c.parquet").symlink_to("../elsewhere/c.parquet")
    os.link("data/b.parquet", "twin.parquet")
    return tmp_path


def meet(written: str, read: str, **kind: bool) -> Meeting | None:
    found = [one.meets(other) for one in places_of(written, written=True, **kind) for other in places_of(read)]
    return next((meeting for meeting in found if meeting is not None), None)


@pytest.mark.parametrize(
    ("written", "read", "meeting"),
    [
        ("data/a.parquet", "data/a.parquet", Meeting.SAME),
        ("./data/../data//a.parquet", "data/a.parquet", Meeting.SAME),
        ("data/sub/../a.parquet", "link.parquet", Meeting.SAME),
        ("link.parquet", "data/a.parquet", Meeting.SAME),
        ("shortcut/a.parquet", "data/a.parquet", Meeting.SAME),
        ("twin.parquet", "data/b.parquet", Meeting.SAME),
        ("~/data/a.parquet", "data/a.parquet", Meeting.SAME),
        ("od[d].csv", "od[d].csv", Meeting.SAME),
        ("data/new.parquet", "data", Meeting.INSIDE),
        ("shortcut/new.csv", "data/", Meeting.INSIDE),
        ("data/sub/new.csv", "data", Meeting.INSIDE),
        ("link.parquet", "data", Meeting.INSIDE),
        ("twin.parquet", "data", Meeting.SAME),
        ("elsewhere/c.parquet", "data", Meeting.SAME),
        ("data/new.parquet", "data/*.parquet", Meeting.MATCHES),
        ("data/a.parquet", "d*/[ab].parquet", Meeting.MATCHES),
        ("data/one/two/new.parquet", "data/**/*.parquet", Meeting.MATCHES),
        ("twin.parquet", "data/*.parquet", Meeting.SAME),
        ("elsewhere/c.parquet", "data/?.parquet", Meeting.SAME),
        ("data", "data/*.parquet", Meeting.HOLDS),
        ("data", "data/a.parquet", Meeting.HOLDS),
        (".", "data", Meeting.HOLDS),
        ("elsewhere", "data", Meeting.HOLDS),
        ("parquet:data", "parquet:./data", Meeting.SAME),
        ("parquet:data", "data/a.parquet", Meeting.HOLDS),
        ("json:new", "json:new/*", None),
        ("csv:data/in-1/out", "csv:data/in-*", Meeting.MATCHES),
        ("csv:data/in-1", "csv:data/in-{1,2}?sep=;", Meeting.SAME),
        ("parquet:data?compression=none", "delta:shortcut", Meeting.SAME),
        ("s3a://bucket/in/new.parquet", "s3://bucket/in", Meeting.INSIDE),
        ("s3a://bucket/in/../in/", "parquet:s3a://bucket/in", Meeting.SAME),
        ("s3://bucket", "s3://bucket/in/*.csv", Meeting.HOLDS),
        ("s3://bucket/in/x.csv", "s3://bucket/in/*.csv", Meeting.MATCHES),
        ("kafka://a:1,b:2/trades", "kafka://b:2,a:1/trades?startingOffsets=earliest", Meeting.SAME),
        ("kafka://a/trades?sasl.password=x", "kafka://a:9092/trades", Meeting.SAME),
        ("table:Answers", "table:`answers`", Meeting.SAME),
        ("new[1].parquet", ".", Meeting.INSIDE),
        ("data/new[1].parquet", "data/*", Meeting.MATCHES),
        ("csv:new-{1,2}", "csv:new-1", None),
        ("new[1].parquet", "data", None),
        ("new.parquet", "data", None),
        ("data/new.csv", "data/*.parquet", None),
        ("data/new/x.parquet", "data/*.parquet", None),
        ("data/_new.parquet", "data", None),
        ("data/.new.parquet", "data/*", None),
        ("database/x.parquet", "data", None),
        ("s3a://other/in", "s3a://bucket/in", None),
        ("table:answers", "kafka://a:1/answers", None),
        ("kafka://a:1/answers", "kafka://a:1/trades", None),
        ("console:", "data", None),
        ("-", "-", None),
        ("/dev/null", "/dev/null", None),
        ("", "", None),
        ("new\0.parquet", "data/a.parquet", None),
        ("x" * 300, "data", None),
    ],
)
def test_how_what_is_written_meets_what_is_read(written: str, read: str, meeting: Meeting | None) -> None:
    assert meeting == meet(written, read)


def test_uris_of_files_are_paths(folder: Path) -> None:
    (folder / "a b").mkdir()
    for uri in (f"file:{folder}/a b", f"file://{folder}/a%20b", f"FILE://localhost{folder}/a b"):
        assert Meeting.SAME == meet("a b", uri)
        assert Meeting.SAME == meet(uri, "parquet:a b")
        assert Meeting.INSIDE == meet(f"{uri}/x.csv", "a b")


def test_a_folder_that_is_not_there_yet() -> None:
    assert Meeting.HOLDS == Place("state", "", Path("/state"), is_folder=True).meets(
        Place("", "", Path("/state/x.csv"))
    )
    assert Meeting.INSIDE == meet("parquet:new/answers", "parquet:new")
    assert Meeting.INSIDE == meet("data/state", "data", folder=True)


def test_hidden_files_count_only_where_all_do() -> None:
    (outer,), (inner,) = places_of("data", folder=True), places_of("data/_state", folder=True)
    assert None is inner.meets(outer)
    assert Meeting.INSIDE == inner.meets(replace(outer, private=True))
