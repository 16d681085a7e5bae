from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.errors import ConfigurationError
from windrow.sinks import open_sink
from windrow.sinks.text import DelimitedSink

SCHEMA = pa.schema([("s", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())])
ENDINGS = ["a.parquet", "a.csv", "a.tsv", "a.jsonl", "a.json", "a.ndjson"]


def batch(*numbers: int) -> pa.RecordBatch:
    columns = {"s": pa.array([f"s{n}" for n in numbers]).dictionary_encode(), "n": pa.array(numbers, pa.int64())}
    return pa.record_batch(columns, schema=SCHEMA)


@pytest.mark.parametrize("name", ENDINGS)
def test_at_the_end_only_the_file_is_there(tmp_path: Path, name: str) -> None:
    with open_sink(tmp_path / name, SCHEMA) as sink:
        sink.write(batch(1))
    assert [name] == [path.name for path in tmp_path.iterdir()]


def test_a_file_that_cannot_grow_appears_when_it_is_complete(tmp_path: Path) -> None:
    with open_sink(tmp_path / "a.parquet", SCHEMA) as sink:
        sink.write(batch(1))
        assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(
    ("name", "head", "lines"),
    [
        ("a.csv", "s,n\n", ("s1,1\n", "s2,2\n")),
        ("a.tsv", "s\tn\n", ("s1\t1\n", "s2\t2\n")),
        ("a.jsonl", "", ('{"s": "s1", "n": 1}\n', '{"s": "s2", "n": 2}\n')),
    ],
)
def test_a_text_file_grows_under_its_name(tmp_path: Path, name: str, head: str, lines: tuple[str, str]) -> None:
    (tmp_path / name).write_text("before")
    with open_sink(tmp_path / name, SCHEMA) as sink:
        sink.write(batch())
        assert "before" == (tmp_path / name).read_text()  # until there is something else
        for count, number in enumerate((1, 2), 1):
            sink.write(batch(number))
            assert head + "".join(lines[:count]) == (tmp_path / name).read_text()
    assert head + "".join(lines) == (tmp_path / name).read_text()


def interrupted(path: Path) -> None:
    with open_sink(path, SCHEMA) as sink:
        sink.write(batch(1))
        raise KeyboardInterrupt


def test_an_interrupted_run_leaves_a_file_that_cannot_grow_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.write_text("before")
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted(path)
    assert [path] == list(tmp_path.iterdir())
    assert "before" == path.read_text()
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize("name", ENDINGS[1:])
def test_an_interrupted_run_leaves_what_it_gave_and_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    with pytest.raises(KeyboardInterrupt) as caught:
        interrupted(tmp_path / name)
    assert [name] == [path.name for path in tmp_path.iterdir()]
    text = (tmp_path / name).read_text()
    assert "s1" in text
    assert "before" not in text
    assert [f"{tmp_path / name} holds what was given up to there."] == caught.value.__notes__


@pytest.mark.parametrize("name", ENDINGS)
def test_a_run_that_gave_nothing_leaves_the_file_as_it_was(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    open_sink(tmp_path / name, SCHEMA).abort()
    assert [name] == [path.name for path in tmp_path.iterdir()]
    assert "before" == (tmp_path / name).read_text()


def test_closing_and_aborting_again_does_nothing(tmp_path: Path) -> None:
    sink = open_sink(tmp_path / "a.csv", SCHEMA)
    sink.close()
    sink.close()
    sink.abort()
    assert "s,n\n" == (tmp_path / "a.csv").read_text()


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    open_sink(tmp_path / "link.csv", SCHEMA).close()
    assert (tmp_path / "link.csv").is_symlink()
    assert "s,n\n" == (tmp_path / "real.csv").read_text()


def test_small_batches_become_one_row_group(tmp_path: Path) -> None:
    with open_sink(tmp_path / "a.parquet", SCHEMA) as sink:
        for number in range(5):
            sink.write(batch(number))
    assert 1 == pq.read_metadata(tmp_path / "a.parquet").num_row_groups
    table = pq.read_table(tmp_path / "a.parquet")
    assert SCHEMA == table.schema
    assert [{"s": f"s{n}", "n": n} for n in range(5)] == table.to_pylist()


def test_an_empty_answer_still_has_its_columns(tmp_path: Path) -> None:
    open_sink(tmp_path / "a.parquet", SCHEMA).close()
    assert SCHEMA == pq.read_schema(tmp_path / "a.parquet")


def test_plain_text_is_taken_where_a_dictionary_was_announced(tmp_path: Path) -> None:
    columns: Any = {"n": [1], "s": ["x"]}
    with open_sink(tmp_path / "a.parquet", SCHEMA) as sink:
        sink.write(pa.record_batch(columns))
    assert [{"s": "x", "n": 1}] == pq.read_table(tmp_path / "a.parquet").to_pylist()


def unwritable(path: Path, reason: str) -> str:
    return (
        rf"^`output` must be a file that can be written \({reason}\), got {re.escape(str(path))}\. "
        r"Hint: name a file in a folder that exists and that you may write to\.$"
    )


def test_a_folder_that_does_not_exist_is_found_when_opening(tmp_path: Path) -> None:
    path = tmp_path / "no" / "a.csv"
    with pytest.raises(ConfigurationError, match=unwritable(path, "no such file or directory")):
        open_sink(path, SCHEMA)


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    path.mkdir()
    with pytest.raises(ConfigurationError, match=unwritable(path, "it is a folder")):
        open_sink(path, SCHEMA)


def test_a_disk_that_fills_up(tmp_path: Path) -> None:
    class Full(DelimitedSink):
        def put(self, batch: pa.RecordBatch) -> None:
            raise OSError(28, "No space left on device")

    path = tmp_path / "a.csv"
    with (
        pytest.raises(ConfigurationError, match=unwritable(path, "no space left on device")),
        Full(path, SCHEMA) as sink,
    ):
        sink.write(batch(1))
    assert [] == list(tmp_path.iterdir())


def test_a_disk_that_fills_up_at_the_end(tmp_path: Path) -> None:
    class Full(DelimitedSink):
        def finish(self) -> None:
            raise OSError(28, "No space left on device")

    path = tmp_path / "a.csv"
    with pytest.raises(ConfigurationError, match=unwritable(path, "no space left on device")):
        Full(path, SCHEMA).close()
    assert [] == list(tmp_path.iterdir())


def test_a_full_disk_that_does_not_even_take_what_is_buffered(tmp_path: Path) -> None:
    class Stubborn(io.BytesIO):
        def close(self) -> None:
            if not self.closed:
                super().close()
                raise OSError(28, "No space left on device")

    class Full(DelimitedSink):
        def put(self, batch: pa.RecordBatch) -> None:
            self.file.close()
            self.file = Stubborn()
            raise OSError(28, "No space left on device")

    path = tmp_path / "a.csv"
    with (
        pytest.raises(ConfigurationError, match=unwritable(path, "no space left on device")),
        Full(path, SCHEMA) as sink,
    ):
        sink.write(batch(1))
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["s3://bucket/answer.parquet", "table:answers", "file:/tmp/answer.csv"])
def test_an_address_is_no_file(address: str) -> None:
    pattern = (
        rf"^`output` must be a path on this machine, got {address}\. Hint: Spark writes to addresses: windrow run "
        r"--engine spark --output, or to_spark\(\)\.writeStream\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        open_sink(address, SCHEMA)


def test_an_unknown_ending_lists_the_known_ones(tmp_path: Path) -> None:
    pattern = (
        r"^`output` must end in a known way \(one of \.parquet, \.csv, \.tsv, \.jsonl, \.ndjson, \.json, -\), "
        r"got answer\.txt\. Hint: name a file such as answer\.parquet, or - for the terminal\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        open_sink("answer.txt", SCHEMA)


def test_a_pipe_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a.csv").symlink_to("pipe")
    with pytest.raises(
        ConfigurationError, match=r"^`output` must be a file that can be written \(it is a device or a "
    ):
        open_sink(tmp_path / "a.csv", SCHEMA)
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("name", ["a" * 300 + ".csv", "circle.csv"])
def test_names_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "circle.csv").symlink_to("circle.csv")
    with pytest.raises(ConfigurationError, match=r"^`output` must be a file that can be written \("):
        open_sink(tmp_path / name, SCHEMA)
