from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from windrow.sinks import open_sink
from windrow.sinks.text import encode, iso, plain


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (0, pa.timestamp("s"), "1970-01-01T00:00:00"),
        (1_500, pa.timestamp("ms", "UTC"), "1970-01-01T00:00:01.5Z"),
        (10_000_000, pa.timestamp("us", "UTC"), "1970-01-01T00:00:10Z"),
        (100, pa.timestamp("us", "Europe/Berlin"), "1970-01-01T00:00:00.0001Z"),
        (-1, pa.timestamp("ns", "UTC"), "1969-12-31T23:59:59.999999999Z"),
        (None, pa.timestamp("us", "UTC"), None),
    ],
)
def test_iso(value: int | None, kind: pa.DataType, expected: str | None) -> None:
    assert [expected] == iso(pa.array([value], pa.int64()).cast(kind)).to_pylist()


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(["a", None]).dictionary_encode(), ["a", None]),
        (pa.array([1.5, float("nan"), float("inf"), None]), [1.5, None, None, None]),
        (pa.array([[1.0], None, [], [float("nan")]]).slice(1), [None, [], [None]]),
        (pa.array([{"t": datetime(2024, 1, 1)}, None]), [{"t": "2024-01-01T00:00:00"}, None]),
    ],
)
def test_plain(array: pa.Array[Any], expected: list[Any]) -> None:
    assert expected == plain(array).to_pylist()


def test_encode_takes_what_json_has_no_form_for() -> None:
    values = [datetime(2024, 1, 1, tzinfo=timezone.utc), datetime(2024, 1, 1).date(), b"\xffa", "ü"]
    assert '["2024-01-01T00:00:00Z", "2024-01-01", "\\\\xffa", "ü"]' == encode(values)


BATCH = pa.record_batch(
    {
        "s": pa.array(["a,b", None, "", 'say "hi"', "two\nlines"]).dictionary_encode(),
        "n": pa.array([1, None, 3, 4, 5]),
        "t": pa.array([0, 500_000, None, 0, 0], pa.timestamp("us", "UTC")),
        "l": pa.array([["x"], None, [], [None], ["y", "z"]]),
    }
)


def test_csv_quotes_only_what_needs_it(tmp_path: Path) -> None:
    with open_sink(tmp_path / "a.csv", BATCH.schema) as sink:
        sink.write(BATCH)
        sink.write(BATCH.slice(0, 0))
    expected = (
        "s,n,t,l\n"
        '"a,b",1,1970-01-01T00:00:00Z,"[""x""]"\n'
        ",,1970-01-01T00:00:00.5Z,\n"
        '"",3,,[]\n'
        '"say ""hi""",4,1970-01-01T00:00:00Z,[null]\n'
        '"two\nlines",5,1970-01-01T00:00:00Z,"[""y"", ""z""]"\n'
    )
    assert expected == (tmp_path / "a.csv").read_text()


def test_tsv_quotes_tabs_and_not_commas(tmp_path: Path) -> None:
    schema = pa.schema([("a,b", pa.string()), ("c", pa.string())])
    with open_sink(tmp_path / "a.tsv", schema) as sink:
        sink.write(pa.record_batch({"a,b": ["x\ty"], "c": ["x,y"]}))
    assert 'a,b\tc\n"x\ty"\tx,y\n' == (tmp_path / "a.tsv").read_text()


def test_json_lines_hold_every_column(tmp_path: Path) -> None:
    with open_sink(tmp_path / "a.jsonl", BATCH.schema) as sink:
        sink.write(BATCH.slice(0, 2))
        sink.write(BATCH.slice(0, 0))
    expected = (
        '{"s": "a,b", "n": 1, "t": "1970-01-01T00:00:00Z", "l": ["x"]}\n'
        '{"s": null, "n": null, "t": "1970-01-01T00:00:00.5Z", "l": null}\n'
    )
    assert expected == (tmp_path / "a.jsonl").read_text()


def test_bytes_that_are_no_text_are_escaped_as_in_json(tmp_path: Path) -> None:
    batch = pa.record_batch({"b": pa.array([b"\xffa", b"b", None])})
    with open_sink(tmp_path / "a.csv", batch.schema) as sink:
        sink.write(batch)
    assert "b\n\\xffa\nb\n\n" == (tmp_path / "a.csv").read_text()
