"""A run that would write over what it reads, or twice to one place, is refused before it begins."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

import windrow as wr
from windrow.cli import main
from windrow.engines.spark.connect import frame_sources as inputs
from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.query.places import Outputs
from windrow.sources import Source, addresses, open_source

ROWS = pa.table({"t": [1, 2, 30], "k": ["a", "b", "a"]})
LEAVE = "Hint: write to another place: a run must leave what it reads as it is."


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("rows.parquet", "data/one.parquet", "data/two.parquet"):
        parquet.write_table(ROWS, tmp_path / name)
    return tmp_path


def query(path: str | Path) -> wr.Query:
    return wr.stream(path, time="t", name="s").window(range=10).agg(n=wr.count()).late("side")


def refused(message: str, run: Callable[[], Any]) -> None:
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    with pytest.raises(wr.ConfigurationError, match=rf"\A{re.escape(message)}\Z"):
        run()
    assert before == {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def test_the_answer_is_not_written_over_the_rows(folder: Path) -> None:
    Path("link.parquet").symlink_to("rows.parquet")
    os.link("rows.parquet", "twin.parquet")
    for path in ("rows.parquet", "./data/../rows.parquet", folder / "rows.parquet", "link.parquet", "twin.parquet"):
        message = f"`output` must not be what the stream s reads (rows.parquet), got {path}. {LEAVE}"
        refused(message, lambda path=path: query("rows.parquet").write(path))  # type: ignore[misc]


def test_late_rows_checkpoints_and_metrics_are_not_either() -> None:
    refused(
        f"`late` must not lie in what the stream s reads (data), got data/late.parquet. {LEAVE}",
        lambda: query("data").write("answer.parquet", late="data/late.parquet"),
    )
    refused(
        f"`late` must not match what the stream s reads (data/*.parquet), got data/late.parquet. {LEAVE}",
        lambda: query("data/*.parquet").write("answer.parquet", late="data/late.parquet"),
    )
    refused(
        f"`checkpoint` must not be what the stream s reads (data), got data/. {LEAVE}",
        lambda: query("data").collect(checkpoint="data/"),
    )
    refused(
        f"`checkpoint` must not be a folder that holds what the stream s reads (rows.parquet), got .. {LEAVE}",
        lambda: query("rows.parquet").batches(checkpoint=".").__next__(),
    )
    refused(
        f"`json_lines` must not be what the stream s reads (rows.parquet), got rows.parquet. {LEAVE}",
        lambda: query("rows.parquet").run(engine="spark", json_lines="rows.parquet"),
    )
    refused(
        f"`checkpoint` must not be a folder that holds what the stream s reads (data/one.parquet), got data. {LEAVE}",
        lambda: wr.run([query("rows.parquet"), query("data/one.parquet")], checkpoint="data"),
    )


def test_outputs_have_places_of_their_own() -> None:
    apart = "Hint: give each a place of its own."
    run = query("rows.parquet")
    refused(
        f"`late` must not be what `output` writes (answer.csv), got ./answer.csv. {apart}",
        lambda: run.write("answer.csv", late="./answer.csv"),
    )
    refused(
        f"`checkpoint` must not be a folder that holds what `output` writes (state/answer.csv), got state. {apart}",
        lambda: run.write("state/answer.csv", checkpoint="state"),
    )
    refused(
        f"`json_lines` must not lie in what `checkpoint` writes (state), got state/metrics.json. {apart}",
        lambda: run.run(engine="spark", checkpoint="state", json_lines="state/metrics.json"),
    )


def test_what_meets_nothing_is_written() -> None:
    query("data/*.parquet").write("data/answer.csv", late="data/late.csv", checkpoint="data/state")
    query("rows.parquet").write(Path("answer.parquet"), late="late.parquet", checkpoint="state")
    assert {"answer.parquet", "late.parquet", "state", "data", "rows.parquet"} == {
        path.name for path in Path().iterdir()
    }


def test_frames_of_spark_tell_what_they_read(folder: Path) -> None:
    class Frame:
        isStreaming = False  # noqa: N815

        def inputFiles(self) -> list[str]:  # noqa: N802
            return [f"file://{folder}/data/one.parquet"]

    frame: Any = Frame()
    source = FrameSource("s", ROWS.schema, frame)
    for written in ("data/one.parquet", "parquet:data"):
        with pytest.raises(wr.ConfigurationError, match=r"\A`output` must not be .*what the stream s reads"):
            Outputs({"output": written}).refuse_streams({"s": source.select(["t"]).reads})
    frame.isStreaming = True
    assert () == source.reads
    assert ("parquet:in",) == FrameSource("s", ROWS.schema, frame, origin="parquet:in").reads


SQL = "CREATE STREAM s FROM '{}' PROGRESS ON t; SELECT count(*) AS n FROM s [RANGE 10 WATTR t]"


def windrow(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", *arguments])


@pytest.mark.parametrize(
    ("read", "flags", "message"),
    [
        (
            "rows.parquet",
            ["--output", "./rows.parquet"],
            "`--output` must not be what the stream s reads (rows.parquet)",
        ),
        ("data", ["--late", "data/x.csv"], "`--late` must not lie in what the stream s reads (data)"),
        ("data/o*", ["--metrics", "data/one.json"], "`--metrics` must not match what the stream s reads (data/o*)"),
        ("rows.parquet", ["--metrics", "rows.parquet"], "`--metrics` must not be what the stream s reads"),
        (
            "rows.parquet",
            ["--checkpoint", ".."],
            "`--checkpoint` must not be a folder that holds what the stream s reads",
        ),
        ("data", ["--checkpoint", "data"], "`--checkpoint` must not be what the stream s reads (data)"),
        ("rows.parquet", ["--output", "a.csv", "--metrics", "a.csv"], "`--metrics` must not be what `--output` writes"),
        (
            "x.csv",
            ["--set", "S=rows.parquet", "--late", "rows.parquet"],
            "`--late` must not be what the stream S reads",
        ),
    ],
)
def test_the_command_line_refuses_before_anything_is_opened(read: str, flags: list[str], message: str) -> None:
    found = windrow("-e", SQL.format(read), "--engine", "local", *flags)
    assert (2, f"Error: {message}") == (found.exit_code, found.stderr[: len(message) + 7])
    assert {"rows.parquet", "data"} == {path.name for path in Path().iterdir()}


def open_prefixed(address: str, *, name: str, schema: pa.Schema | None) -> Source:
    return open_source(address.partition(":")[2], name=name, schema=schema)


def test_the_command_line_refuses_what_a_source_at_an_address_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(addresses.SCHEMES, "example", f"{__name__}:open_prefixed")
    found = windrow("-e", SQL.format("example:rows.parquet"), "--engine", "local", "--metrics", "rows.parquet")
    message = "Error: `--metrics` must not be what the stream s reads (rows.parquet)"
    assert (2, message) == (found.exit_code, found.stderr[: len(message)])


@pytest.mark.parametrize(
    ("read", "flags", "message"),
    [
        (
            "parquet:data",
            ["--output", "parquet:./data"],
            "`--output` must not be what the stream s reads (parquet:data)",
        ),
        ("parquet:data", ["--output", "csv:data/out"], "`--output` must not lie in what the stream s reads"),
        (
            "rows.parquet",
            ["--output", "parquet:."],
            "`--output` must not be a folder that holds what the stream s reads",
        ),
        ("rows.parquet", ["--json-lines", "rows.parquet"], "`--json-lines` must not be what the stream s reads"),
        (
            "kafka://h:1/t",
            ["--output", "kafka://h:1/t"],
            "`--output` must not be what the stream s reads (kafka://h:1/t)",
        ),
        ("parquet:data", ["--output", "json:out", "--late", "json:out"], "`--late` must not be what `--output` writes"),
        (
            "parquet:data",
            ["--output", "json:o", "--checkpoint", "o/c"],
            "`--checkpoint` must not lie in what `--output`",
        ),
    ],
)
def test_spark_is_not_started_for_it(
    read: str, flags: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "embedded", lambda **_: pytest.fail("Spark starts"))
    found = windrow("-e", SQL.format(read), *flags)
    assert (2, f"Error: {message}") == (found.exit_code, found.stderr[: len(message) + 7])


def test_the_query_itself_is_not_written_over() -> None:
    Path("query.csv").write_text(SQL.format("rows.parquet"))
    found = windrow("query.csv", "--engine", "local", "--output", "query.csv")
    message = f"Error: `--output` must not be the file of the query (query.csv), got query.csv. {LEAVE}\n"
    assert (2, message) == (found.exit_code, found.stderr)
    Path("job").mkdir()
    Path("query.csv").rename("job/query.sql")
    assert 0 == windrow("job/query.sql", "--engine", "local", "--checkpoint", "job").exit_code
