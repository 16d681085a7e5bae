"""What users write for a place, and what Spark is told."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from windrow.engines.spark.connect.addresses import Address, address
from windrow.errors import ConfigurationError, SourceError

PLACES = (
    r" \(one of kafka://host:port/topic, table:name, memory:name, console:, rate:, parquet:/folder, json:/folder, "
    r"csv:/folder, delta:/folder, a path\)"
)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("kafka://one:9092/trades", Address("kafka", "trades")),
        ("kafka://a:1,b/t?start=latest", Address("kafka", "t", {"start": "latest"})),
        ("table:lake.results", Address("table", "lake.results")),
        ("memory:answers", Address("memory", "answers")),
        ("console:", Address("console")),
        ("rate:", Address("rate")),
        ("parquet:/data/x", Address("parquet", "/data/x")),
        ("JSON:/data/x", Address("json", "/data/x")),
        ("csv:relative", Address("csv", "relative")),
        ("delta:/data/x", Address("delta", "/data/x")),
        ("parquet:s3a://bucket/x", Address("parquet", "s3a://bucket/x")),
        ("s3a://bucket/x.parquet", Address("parquet", "s3a://bucket/x.parquet")),
        ("file:///data/x.jsonl", Address("json", "file:///data/x.jsonl")),
        ("x.csv", Address("csv", "x.csv")),
        ("x.CSV.gz", Address("csv", "x.CSV.gz")),
        ("x.tsv", Address("csv", "x.tsv", {"sep": "\t"})),
        ("x.ndjson", Address("json", "x.ndjson")),
        ("C:\\x.parquet", Address("parquet", "C:\\x.parquet")),
        ("new folder/", Address("parquet", "new folder/")),
        ("~/x.parquet", Address("parquet", str(Path("~/x.parquet").expanduser()))),
    ],
)
def test_addresses(uri: str, expected: Address) -> None:
    assert expected == address(uri, "output")


def test_a_folder_is_what_its_files_are(tmp_path: Path) -> None:
    assert Address("parquet", str(tmp_path)) == address(str(tmp_path), "source")
    (tmp_path / "a.jsonl").touch()
    assert Address("json", str(tmp_path)) == address(str(tmp_path), "source")
    (tmp_path / "b.csv").touch()
    with pytest.raises(SourceError, match=r"^`source` must be files of one kind \(found CSV, JSON lines\), got .*$"):
        address(str(tmp_path), "source")


@pytest.mark.parametrize("uri", ["kafka:trades", "kafka://one:9092", "kafka://one:9092/a/b", "kafka:///trades"])
def test_kafka_needs_servers_and_a_topic(uri: str) -> None:
    pattern = (
        rf"^`source` must name the servers and one topic, got {uri}. "
        r"Hint: write kafka://host:9092/topic, with commas between several servers.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        address(uri, "source")


@pytest.mark.parametrize(
    ("uri", "what", "example"),
    [("table:", "a name", "table:results"), ("memory:", "a name", "memory:results")]
    + [(f"{name}:", "a folder", f"{name}:/data/results") for name in ("parquet", "json", "csv", "delta")],
)
def test_a_name_or_a_folder_is_missing(uri: str, what: str, example: str) -> None:
    with pytest.raises(
        ConfigurationError, match=rf"^`output` must have {what} after {uri}, got {uri}. Hint: write {example}.$"
    ):
        address(uri, "output")


@pytest.mark.parametrize("uri", ["console:x", "rate:100"])
def test_nothing_follows_what_has_no_name(uri: str) -> None:
    scheme = uri.partition(":")[0]
    with pytest.raises(
        ConfigurationError,
        match=rf"^`output` must have nothing after {scheme}:, got {uri}. Hint: give settings as options.$",
    ):
        address(uri, "output")


@pytest.mark.parametrize("uri", ["mqtt://host/x", "jdbc:postgresql://x"])
def test_an_unknown_scheme(uri: str) -> None:
    pattern = (
        rf"^`source` must be a place that Spark reads or writes{PLACES}, got {re.escape(uri)}. "
        r"Hint: name a place that Spark knows, or give a DataFrame of your own.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        address(uri, "source")


def test_a_path_without_an_ending() -> None:
    pattern = (
        rf"^`output` must be a place that Spark reads or writes{PLACES}, got answers. "
        r"Hint: name a folder with an ending such as answers.parquet, or say parquet:/folder.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        address("answers", "output")
