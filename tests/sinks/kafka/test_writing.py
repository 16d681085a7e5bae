"""Topics that are written to: messages of rows, at least once and in transactions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from tests.kafka_broker import Broker
from windrow.engines.run import untagged
from windrow.errors import ConfigurationError
from windrow.query.running import begin
from windrow.query.writing import QueryOutputs, receiver_of
from windrow.sinks.base import Saved, Sink
from windrow.sinks.kafka.rows import RowWriter, avro_schema, row_writer
from windrow.sinks.kafka.sink import open_kafka
from windrow.sources.avro import AvroMessages

COLUMNS: dict[str, pa.DataType] = {"symbol": pa.string(), "n": pa.int64()}
SCHEMA = pa.schema(COLUMNS)
EXACTLY = "delivery=exactly-once"


def rows(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array([f"s{n}" for n in numbers]), pa.array(numbers, pa.int64())], schema=SCHEMA)


def sink_of(broker: Broker, topic: str, options: str = "") -> Sink:
    return open_kafka(f"kafka://{broker.servers}/{topic}?{options}", SCHEMA)


def numbers(broker: Broker, topic: str) -> list[int]:
    return sorted(json.loads(message.value())["n"] for message in broker.read(topic))


def test_rows_are_json_objects_and_keys_a_column(broker: Broker) -> None:
    topic = broker.topic()
    with sink_of(broker, topic, "key=symbol") as sink:
        sink.write(rows(1, 2))
        assert Saved() == sink.save(1)
        assert [1, 2] == numbers(broker, topic)
        sink.write(rows(3))
    found = broker.read(topic)
    assert [b"s1", b"s2", b"s3"] == [message.key() for message in found]
    assert {"symbol": "s1", "n": 1} == json.loads(found[0].value())


def test_one_column_or_avro_is_a_value() -> None:
    columns: list[pa.Array[Any]] = [pa.array(["x", None]), pa.array([1, None]), pa.array([b"\0", None])]
    batch = pa.record_batch(columns, names=["a", "b", "c"])
    assert [(None, b"x"), (None, None)] == list(RowWriter("a").messages(batch))
    assert [(b"1", b"\0"), (None, None)] == list(RowWriter("c", ("b",)).messages(batch))
    assert [(b'{"a": "x", "b": 1}', b"x")] == list(RowWriter("a", ("a", "b")).messages(batch.slice(0, 1)))
    kinds: tuple[Any, ...] = (pa.timestamp("us", "UTC"), pa.decimal128(5, 0), pa.float64())
    columns = [pa.array([1], kind) for kind in kinds]
    times = pa.record_batch(columns, names=["t", "d", "x"])
    written = [value for _, value in RowWriter("avro").messages(times)]
    read = AvroMessages(avro_schema(times.schema)).read(written, times.schema)
    assert (times.to_pylist(), ()) == (read.batch.to_pylist(), read.bad)


@pytest.mark.parametrize(
    ("value", "key", "expected"),
    [
        ("raw", None, r"^`output.value` needs a result of one column, got raw"),
        ("price", None, r"^`output.value` must be a column of the result \(one of json, avro, symbol, n\), got price"),
        (None, "price", r"^`output.key` must be a column of the result \(one of symbol, n\), got price"),
    ],
)
def test_columns_that_are_not_there_are_refused(value: str | None, key: str | None, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        row_writer(SCHEMA, value, key, None, "output")


def test_an_address_that_cannot_be_written_is_told_at_once(broker: Broker) -> None:
    with pytest.raises(ConfigurationError, match=r"^`output` must be a topic there is; .* has no 'nowhere'"):
        sink_of(broker, "nowhere")
    with pytest.raises(ConfigurationError, match=r"^`output.delivery` must be known \(one of at-least-once, exactly"):
        sink_of(broker, "nowhere", "delivery=twice")
    with pytest.raises(ConfigurationError, match=r"^`output` has no option 'start'"):
        sink_of(broker, "nowhere", "start=earliest")


def test_rows_of_a_checkpoint_are_there_once_it_is_whole(broker: Broker) -> None:
    topic = broker.topic(2)
    with sink_of(broker, topic, EXACTLY) as sink:
        sink.write(rows(1, 2))
        saved = sink.save(1)
        assert [rows(1, 2)] == list(saved.pending)
        assert [] == numbers(broker, topic)
        sink.settle(1)
        assert [1, 2] == numbers(broker, topic)
        sink.write(rows(3))
    assert [1, 2, 3] == numbers(broker, topic)


@pytest.mark.parametrize("settles", [False, True])
def test_who_goes_on_gives_what_was_not_given(broker: Broker, settles: bool) -> None:
    """Whether the crash came before the transaction of the last checkpoint or behind it."""
    topic = broker.topic()
    before = sink_of(broker, topic, EXACTLY)
    places: list[tuple[int, Saved]] = []
    for number, batch in ((1, rows(1)), (2, rows(2, 3))):
        before.write(batch)
        saved = before.save(number)
        places.append((number, Saved(json.loads(json.dumps(saved.place)), tuple(saved.pending))))
        if number == 1 or settles:
            before.settle(number)
    before.write(rows(4))  # which no checkpoint has
    _go_on_again_and_again(broker, topic, places)
    assert [1, 2, 3] == numbers(broker, topic)
    before.save(3)
    with pytest.raises(ConfigurationError, match=r"^`output` is written by another run of this query"):
        before.settle(3)
    assert [1, 2, 3] == numbers(broker, topic)
    before.abort()


def _go_on_again_and_again(broker: Broker, topic: str, places: Sequence[tuple[int, Saved]]) -> None:
    for _ in range(2):
        after = sink_of(broker, topic, EXACTLY)
        after.go_on(*places[-1])
        after.abort()


def test_a_first_checkpoint_that_was_never_settled_is_given(broker: Broker) -> None:
    topic = broker.topic()
    before = sink_of(broker, topic, EXACTLY)
    before.write(rows(1))
    saved = before.save(1)
    before.abort()
    after = sink_of(broker, topic, EXACTLY)
    after.go_on(1, saved)
    assert [1] == numbers(broker, topic)
    after.write(rows(2))
    after.save(2)
    after.settle(2)
    after.close()
    assert [1, 2] == numbers(broker, topic)


def test_a_mark_that_the_brokers_forgot_is_no_reason_to_give_twice(broker: Broker) -> None:
    topic = broker.topic()
    sink = sink_of(broker, topic, EXACTLY)
    place: Any = {"name": "windrow-forgotten", "settled": 1}
    with pytest.raises(ConfigurationError, match=r"^`output` must still have the mark .* Hint: look which results"):
        sink.go_on(2, Saved(place, (rows(1),)))
    sink.abort()


@pytest.mark.soak
def test_a_broker_that_starts_again_gets_everything_once(broker: Broker) -> None:
    topic = broker.topic()
    sink, exact = sink_of(broker, topic), sink_of(broker, topic, EXACTLY)
    exact.write(rows(1))
    exact.save(1)
    exact.settle(1)
    sink.write(rows(2))
    broker.kill()
    sink.write(rows(3))
    exact.write(rows(4))
    broker.start()
    sink.save(1)
    exact.save(2)
    exact.settle(2)
    sink.close()
    exact.close()
    assert [1, 2, 3, 4] == numbers(broker, topic)


def test_rows_that_only_checkpoints_give_are_refused_where_none_is_written(broker: Broker) -> None:
    import windrow as wr

    topic = broker.topic()
    text = f"CREATE STREAM t (n BIGINT) FROM 'kafka://{broker.servers}/{topic}' PROGRESS ON n ORDERED; SELECT n FROM t"
    query = wr.sql(text)
    into = receiver_of([QueryOutputs({"output": sink_of(broker, topic, EXACTLY)})], endless=True)
    pattern = r"^`output` gives rows only with checkpoints.* Hint: give --checkpoint DIR and --every N"
    with pytest.raises(ConfigurationError, match=pattern):
        begin([query.plan], [query.sources], untagged, engine="local", into=into, follow=True)
