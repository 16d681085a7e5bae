"""What addresses of topics say, in either engine's spelling; no broker is asked."""

from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError
from windrow.sources.kafka.address import READING, SPARK_READING, KafkaAddress, java_settings, read_address
from windrow.sources.kafka.places import Extent
from windrow.sources.kafka.source import open_kafka
from windrow.sources.kafka.spans import Span, shared_out, spans_between

COLUMNS: dict[str, pa.DataType] = {"t": pa.int64(), "x": pa.string()}
SCHEMA = pa.schema(COLUMNS)
QUERY = "CREATE STREAM s (t BIGINT, x STRING) FROM 'kafka://h/s{}' PROGRESS ON t {}; SELECT x FROM s"


def read(options: str) -> KafkaAddress:
    return read_address(f"kafka://h/s?{options}", "s", (*READING, *SPARK_READING))


def test_settings_are_those_of_the_client_however_they_are_spelled() -> None:
    jaas = 'kafka.sasl.jaas.config=org.PlainLoginModule required username="me" password="p w";'
    found = read(f"{jaas}&kafka.security.protocol=SASL_SSL&ssl.truststore.type=PEM&ssl.truststore.location=/ca.pem")
    settings = {"security.protocol": "SASL_SSL", "sasl.username": "me", "sasl.password": "p w"}
    assert {**settings, "ssl.ca.location": "/ca.pem"} == dict(found.settings)
    again = java_settings(found.settings)
    assert "/ca.pem" == again["ssl.truststore.location"]
    assert 'username="me" password="p w"' in again["sasl.jaas.config"]


def test_no_secret_is_shown() -> None:
    plan = wr.sql(QUERY.format("?sasl.password=sesame&sasl.username=me", "ORDERED")).explain()
    assert "sesame" not in plan
    assert "sasl.password=...&sasl.username=me" in plan
    assert "sesame" not in read("sasl.password=sesame").shown


def test_a_variable_of_the_environment_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_TEST_SECRET", "x")
    assert {"sasl.password": "x"} == dict(read("sasl.password=env:WINDROW_TEST_SECRET").settings)
    monkeypatch.delenv("WINDROW_TEST_SECRET")
    with pytest.raises(
        ConfigurationError, match=r"^`sasl.password` must name a variable of the environment, got env:W"
    ):
        read("sasl.password=env:WINDROW_TEST_SECRET")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("start=soon", r"^`start` must be earliest, latest or a time, got soon"),
        ("patience=3", r"^`patience` must be a length of time, got 3"),
        ("expired=no", r"^`expired` must be known \(one of stop, earliest\), got no"),
        ("until=tomorrow", r"^`until` must be known \(one of now, never\), got tomorrow"),
        ("value=xml", r"^`s.value` must be a known format \(one of json, csv, tsv, raw, avro\), got xml"),
        ("startingOffsets=x", r"^`startingOffsets` must be earliest, latest or offsets by topic and par"),
        ("strat=latest", r"^`s` has no option 'strat' \(one of start, until, value, format, .*patience\), got"),
        ("value=raw", r"^`s` must have one column of type STRING or BINARY for raw messages"),
    ],
)
def test_what_is_wrong_is_told_before_any_broker_is_asked(options: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        open_kafka(f"kafka://h/s?{options}", name="s", schema=SCHEMA)


@pytest.mark.parametrize(
    ("policy", "per"), [("ORDERED", True), ("SLACK 3", True), ("SLACK 3 ROWS", False), ("", False)]
)
def test_progress_is_by_partition_unless_the_policy_says_otherwise(policy: str, per: bool) -> None:
    query = wr.sql(QUERY.format("", policy))
    assert per == ("of the same _partition" in query.explain())
    assert per == ("_partition" in query.sources["s"].schema.names)
    other = wr.sql(QUERY.format("", "SLACK 3 PER x"))
    assert "_partition" not in other.explain()


def test_a_micro_batch_takes_of_each_partition_in_proportion() -> None:
    extent = Extent({0: 0, 1: 5, 2: 0}, {0: 1000, 1: 5, 2: 10})
    reached = shared_out({0: 0, 1: 5, 2: 0}, extent, 101)
    assert {0: 100, 1: 5, 2: 1} == reached
    assert [Span(0, 0, 100), Span(2, 0, 1)] == spans_between({0: 0, 1: 5, 2: 0}, reached)
    assert dict(extent.high) == shared_out({}, extent, None) | {1: 5}
