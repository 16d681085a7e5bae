"""A topic read in process: its rows, what is no row, and positions from which another reading goes on."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from tests.kafka_broker import Broker
from windrow.errors import ConfigurationError, SourceError
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.sources import open_source
from windrow.sources.base import Position, Sign
from windrow.sources.kafka.source import KafkaSource
from windrow.sources.rejects import Rejects

COLUMNS: dict[str, pa.DataType] = {"t": pa.int64(), "symbol": pa.string()}
SCHEMA = pa.schema(COLUMNS)
OWN = pa.schema([*SCHEMA, ("_partition", pa.int32()), ("_offset", pa.int64())])


def source_of(broker: Broker, topic: str, options: str = "", schema: pa.Schema = OWN) -> KafkaSource:
    address = f"kafka://{broker.servers}/{topic}{'?' if options else ''}{options}"
    source = open_source(address, name="trades", schema=schema)
    assert isinstance(source, KafkaSource)
    return source


def value(t: Any, symbol: str = "A") -> bytes:
    return json.dumps({"t": t, "symbol": symbol, "more": 1}).encode()


def drained(source: KafkaSource, position: Position | None = None, **options: Any) -> list[Any]:
    """Everything up to the end, row by row: rows as dicts, rejects with a `reason`, punctuations."""
    reader = source.until_now().open(position, **options)
    try:
        return flat(iter(reader.poll, Sign.END))
    finally:
        reader.close()


def flat(elements: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for element in elements:
        if isinstance(element, Rejects):
            found += element.batch.to_pylist()
        elif isinstance(element, (Punctuation, Sign)):
            found.append(element)
        else:
            found += element.to_pylist()
    return found


def test_rows_come_with_what_kafka_knows_of_them(broker: Broker) -> None:
    topic = broker.topic(2)
    broker.send(topic, [{"value": value(1), "key": b"k", "headers": [("a", b"1"), ("b", b"2"), ("a", b"3")]}])
    broker.send(topic, [{"value": value(2, "B"), "timestamp": 1_700_000_000_123}], partition=1)
    texts: dict[str, pa.DataType] = dict.fromkeys(("_topic", "_key", "_headers"), pa.string())
    numbers: dict[str, pa.DataType] = {"_partition": pa.int32(), "t": pa.int64(), "_offset": pa.int64()}
    schema = pa.schema([*pa.schema(texts), *pa.schema(numbers), pa.field("_timestamp", pa.timestamp("us", "UTC"))])
    first, second = sorted(drained(source_of(broker, topic, schema=schema)), key=lambda row: row["t"])
    stamp = first.pop("_timestamp")
    assert {
        "_topic": topic,
        "_key": "k",
        "_headers": '{"a": ["1", "3"], "b": "2"}',
        "_partition": 0,
        "t": 1,
        "_offset": 0,
    } == first
    assert stamp.year >= 2024
    assert (None, None, 1) == (second["_key"], second["_headers"], second["_partition"])
    assert "2023-11-14T22:13:20.123000+00:00" == second["_timestamp"].isoformat()


def test_what_is_no_row_is_told_with_its_place_behind_the_rows(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(topic, [value(1), b"no json", None, b"", value("x"), value(2)])
    broker.send(topic, [{"value": value(3), "key": b"\xff"}])
    found = drained(source_of(broker, topic, schema=pa.schema([*SCHEMA, ("_key", pa.string())])))
    assert [1, 2] == [row["t"] for row in found[:2]]
    rejects = found[2:]
    assert [1, 2, 3, 4, 6] == [one["offset"] for one in rejects]
    assert {("trades", topic, 0)} == {(one["source"], one["place"], one["partition"]) for one in rejects}
    assert ["it is no JSON object", "it has no value: a tombstone", "it is empty"] == [r["reason"] for r in rejects[:3]]
    assert "JSON" in rejects[3]["reason"]
    assert "its key is no UTF-8 text" == rejects[4]["reason"]
    assert [b"no json", b"", b"", value("x"), value(3)] == [one["payload"] for one in rejects]


def test_no_column_of_the_value_is_needed_to_find_what_is_no_row(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(topic, [value(1), b"no json", value(2)])
    found = drained(source_of(broker, topic).select(["_offset"]))
    assert [{"_offset": 0}, {"_offset": 2}] == found[:2]
    assert ["it is no JSON object"] == [one["reason"] for one in found[2:]]


@pytest.mark.parametrize("seed", range(2))
def test_a_reading_goes_on_from_any_position(broker: Broker, seed: int) -> None:
    """Whatever lies at a position: between rows and rejects, in the middle of a batch that was cut."""
    chance = random.Random(seed)
    topic = broker.topic(3)
    sent: list[tuple[int, int]] = []
    for partition in range(3):
        count = chance.choice([0, 40, 200])
        bad = {place for place in range(count) if chance.random() < 0.1}
        broker.send(topic, [b"bad" if i in bad else value(i) for i in range(count)], partition)
        sent += [(partition, offset) for offset in range(count)]
    source, position, found = source_of(broker, topic), None, list[tuple[int, int]]()
    ended = False
    while not ended:
        reader: Any = source.until_now().open(position, batch_rows=chance.choice([1, 7, 50]))
        for _ in range(chance.randrange(1, 12)):
            element = reader.poll(10.0)
            if ended := element is Sign.END:
                break
            assert not isinstance(element, (Sign, Punctuation))
            rows = element.batch if isinstance(element, Rejects) else element
            names = ("partition", "offset") if isinstance(element, Rejects) else ("_partition", "_offset")
            places = list(zip(*(rows[name].to_pylist() for name in names), strict=True))
            if not isinstance(element, Rejects) and chance.random() < 0.3:  # the run breaks off in the middle of it
                done = chance.randrange(len(places))
                position = json.loads(json.dumps(reader.begins))
                reader.close()
                reader = source.until_now().open(position, batch_rows=chance.choice([1, 7, 50]))
                again: list[tuple[int, int]] = []
                while len(again) < len(places):
                    element = reader.poll(10.0)
                    if isinstance(element, pa.RecordBatch):
                        again += [tuple(row.values()) for row in element.select(["_partition", "_offset"]).to_pylist()]
                    elif isinstance(element, Rejects):
                        found += [(r["partition"], r["offset"]) for r in element.batch.to_pylist()]
                assert places[:done] == again[:done]
                assert sorted(places) == sorted(again[: len(places)])
                places = again
            found += places
        position = json.loads(json.dumps(reader.position))
        reader.close()
    assert Counter(sent) == Counter(found)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("start=earliest", [0, 1, 2, 3]),
        ("start=latest", []),
        ("startingOffsets=latest", []),
        ("start=1970-01-01T00:00:03Z", [2, 3]),
        ("startingTimestamp=2500", [2, 3]),
        ("startingOffsets=%7B%22TOPIC%22:%7B%220%22:3%7D%7D&maxOffsetsPerTrigger=2", [3]),
        ("", [0, 1, 2, 3]),
    ],
)
def test_where_it_begins(broker: Broker, options: str, expected: list[int]) -> None:
    topic = broker.topic(retention_ms="-1")
    stamps = [1000, 2000, 3000, 4000]
    broker.send(topic, [{"value": value(i), "timestamp": stamp} for i, stamp in enumerate(stamps)])
    assert expected == [row["t"] for row in drained(source_of(broker, topic, options.replace("TOPIC", topic)))]


def test_an_end_is_what_was_there_when_it_began_and_stays_one(broker: Broker) -> None:
    topic = broker.topic(2)
    broker.send(topic, [value(1), value(2)])
    source = source_of(broker, topic, "until=now")
    reader = source.open(batch_rows=1)
    first = reader.poll()
    broker.send(topic, [value(3)])
    assert isinstance(first, pa.RecordBatch)
    second = reader.poll()
    assert isinstance(second, pa.RecordBatch)
    assert [Sign.END, Sign.END] == [reader.poll(), reader.poll()]
    assert [1, 2] == [*first["t"].to_pylist(), *second["t"].to_pylist()]
    with pytest.raises(SourceError, match=r"^`trades` must hold what it held .*got 1 messages more in kafka:"):
        source.open(reader.position)
    reader.close()


def test_messages_of_transactions_count_once_they_are_committed(broker: Broker) -> None:
    from confluent_kafka import Producer

    topic = broker.topic()
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": topic})
    producer.init_transactions(30)
    for t, commits in ((1, True), (2, False), (3, True)):
        producer.begin_transaction()
        producer.produce(topic, value(t))
        (producer.commit_transaction if commits else producer.abort_transaction)(30)
    assert [1, 3] == [row["t"] for row in drained(source_of(broker, topic))]


def test_a_live_reading_waits_and_finds_new_partitions(broker: Broker) -> None:
    topic = broker.topic()
    reader = source_of(broker, topic, "topic.metadata.refresh.interval.ms=200").open()
    assert Sign.TICK is reader.poll(0.1)
    broker.send(topic, [value(1)])
    broker.widen(topic, 2)
    broker.send(topic, [value(2)], partition=1)
    found: list[Any] = []
    for _ in range(200):
        if len(found) < 2:
            found += flat([element]) if not isinstance(element := reader.poll(0.1), Sign) else []
    assert {(1, 0), (2, 1)} == {(row["t"], row["_partition"]) for row in found}
    assert {"0": 1, "1": 1} == reader.position["partitions"]
    reader.close()


def test_partitions_are_announced_and_ended_where_that_is_asked_for(broker: Broker) -> None:
    from dataclasses import replace

    topic = broker.topic(3)
    broker.send(topic, [value(1)])
    broker.send(topic, [value(2)], partition=2)
    found = drained(replace(source_of(broker, topic), announces=True))
    assert [Punctuation(START, (0,)), Punctuation(START, (2,)), Punctuation(END, (1,))] == found[:3]
    ends = {one for one in found[3:] if isinstance(one, Punctuation)}
    assert {Punctuation(END, (0,)), Punctuation(END, (2,))} == ends
    assert {1, 2} == {row["t"] for row in found if isinstance(row, dict)}


@pytest.mark.parametrize("goes_on", [False, True])
def test_expired_messages_are_an_error_by_name_or_counted(broker: Broker, goes_on: bool) -> None:
    topic = broker.topic()
    broker.send(topic, [value(t) for t in range(10)])
    source = source_of(broker, topic, "expired=earliest" if goes_on else "")
    reader = source.open(batch_rows=2)
    reader.poll()
    position = reader.position
    reader.close()
    broker.forget(topic, 0, 7)
    if not goes_on:
        pattern = r"^`trades` must still have .* \(partition 0: offsets 2 to 6\)\. Hint: add expired=earliest"
        with pytest.raises(SourceError, match=pattern):
            source.open(position)
        return
    lost, *rows = drained(source, position)
    assert ("it expired before it was read, and so did all up to offset 6", 2) == (lost["reason"], lost["offset"])
    assert [7, 8, 9] == [row["t"] for row in rows]


def test_a_topic_made_anew_is_another_one(broker: Broker) -> None:
    topic = broker.topic()
    broker.send(topic, [value(1)])
    position = {"rows": 9, "partitions": {"0": 9}}
    pattern = r"^`trades` must be the topic that was read before.*got partition 0 .*ends at 1; the run goes on at 9"
    with pytest.raises(SourceError, match=pattern):
        source_of(broker, topic).open(position)
    with pytest.raises(SourceError, match=r"^`trades` must be the data that was read before.*of trades.csv"):
        source_of(broker, topic).open({"rows": 9, "file": "trades.csv"})


def test_a_topic_there_is_not_is_named_with_those_there_are(broker: Broker) -> None:
    topic = broker.topic()
    with pytest.raises(SourceError, match=rf"must be a topic there is; .* has no 'nowhere' \(one of .*{topic}.*create"):
        source_of(broker, "nowhere").open()


@pytest.mark.parametrize(
    ("password", "expected"),
    [("open-sesame", None), ("wrong", r"^`trades` must let us in \(.*[Aa]uthentication failed.*sasl.password=\.\.\.")],
)
def test_a_password_lets_in(broker: Broker, monkeypatch: Any, password: str, expected: str | None) -> None:
    topic = broker.topic()
    broker.send(topic, [value(1)])
    monkeypatch.setenv("SECRET", password)
    settings = "security.protocol=SASL_PLAINTEXT&sasl.mechanism=PLAIN&sasl.username=reader&sasl.password=env:SECRET"
    address = f"kafka://127.0.0.1:{broker.secret}/{topic}?until=now&{settings}"
    source = open_source(address, name="trades", schema=SCHEMA)
    if expected is None:
        reader = source.open()
        assert [{"t": 1, "symbol": "A"}] == flat([reader.poll()])
        reader.close()
    else:
        with pytest.raises(SourceError, match=expected) as raised:
            source.open()
        assert password not in str(raised.value)


def test_a_setting_that_the_client_does_not_take_is_refused(broker: Broker) -> None:
    with pytest.raises(ConfigurationError, match=r"^`trades` has a setting that the client does not take \(.*no.such"):
        source_of(broker, "nowhere", "no.such=1").open()
    with pytest.raises(ConfigurationError, match=r"^`trades.enable.auto.commit` is not to be set"):
        source_of(broker, "nowhere", "enable.auto.commit=true").open()


def test_an_outage_is_waited_for(broker: Broker, caplog: Any) -> None:
    topic = broker.topic()
    broker.send(topic, [value(1)])
    reader = source_of(broker, topic).open()
    assert [1] == [row["t"] for row in flat([reader.poll()])]
    broker.kill()
    for _ in range(30):
        assert Sign.TICK is reader.poll(0.1)
    broker.start()
    broker.send(topic, [value(2)])
    assert [2] == [row["t"] for row in flat([reader.poll()])]
    reader.close()
    events = [getattr(record, "event", None) for record in caplog.records if record.name == "windrow"]
    assert ["source.away", "source.back"] == events


def test_patience_ends(broker: Broker) -> None:
    topic = broker.topic()
    reader = source_of(broker, topic, "patience=500%20milliseconds").open()
    broker.kill()
    with pytest.raises(SourceError, match=r"^`trades` must have a broker that answers; none did for 0.5 seconds, got"):
        reader.poll(20.0)
    reader.close()
    broker.start()


def test_no_broker_is_told_in_one_line() -> None:
    pytest.importorskip("confluent_kafka")
    source = open_source("kafka://127.0.0.1:1/trades", name="trades", schema=SCHEMA)
    with pytest.raises(SourceError, match=r"^`trades` must have a broker that answers \(.*refused.*Hint: see to its"):
        source.open()
