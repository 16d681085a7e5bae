from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import ConfigurationError
from windrow.sources import Source, addresses, elements_of, open_source

TABLE = pa.table({"a": [1, 2]})


@pytest.mark.parametrize("text", ["trades.csv", "C:/trades.csv", "/data/2024:01.csv", "./a:b.csv", "*.parquet", ""])
def test_a_path_has_no_scheme(text: str) -> None:
    assert addresses.scheme_of(text) is None


@pytest.mark.parametrize("text", ["foo://x", "https://host/trades.csv", "mqtt+tls:x"])
def test_a_scheme_that_nobody_knows_is_refused_by_the_names_of_those_that_are(text: str) -> None:
    pattern = (
        r"^`trades` must be a path, or an address with a scheme that is known \(one of abfs, .*kafka, .*wasbs\), "
        rf"got {re.escape(text)}\. Hint: give a file, a folder or a glob pattern; in front of a name with a colon, "
    )
    with pytest.raises(ConfigurationError, match=pattern):
        open_source(text, name="trades")


def test_what_only_spark_reads_is_refused_in_process() -> None:
    pattern = (
        r"^`trades` must be a path on this machine in process, got s3://bucket/x\.parquet\. "
        r"Hint: Spark reads it: say --engine spark\.$"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        open_source("s3://bucket/x.parquet", name="trades")


def open_example(address: str, *, name: str, schema: pa.Schema | None) -> Source:
    assert schema is None
    return open_source(TABLE, name=f"{name} at {address}")


def test_a_registered_scheme_is_opened_by_its_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(addresses.SCHEMES, "example", f"{__name__}:open_example")
    source: Any = open_source("Example:one", name="trades")
    assert "trades at Example:one" == source.name
    assert TABLE.to_batches() == list(elements_of(source))
