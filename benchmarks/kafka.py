"""Kafka: messages a second out of one topic of four partitions, beside a plain loop over the client that only parses.

The loop of `confluent-kafka` calls `json.loads` on every message and does nothing else. The reader makes typed rows of
them and says what is none; the query counts and sums them in sliding windows besides. Bar: 0.7 of the loop.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from _figures import Figure, Unit
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.sources import Sign, open_source

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kafka_broker import Broker, unavailable

MESSAGES = 400_000
PARTITIONS = 4
BAR = 0.7
COLUMNS: dict[str, pa.DataType] = {
    "symbol": pa.string(),
    "price": pa.float64(),
    "volume": pa.int64(),
    "ts": pa.timestamp("us", "UTC"),
}
QUERY = """
CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, ts TIMESTAMP)
  FROM '{address}' PROGRESS ON ts SLACK 1 HOUR;
SELECT symbol, count(*) AS n, sum(volume) AS volume, max(price) AS high
FROM trades [RANGE 10 SECONDS SLIDE 1 SECOND WATTR ts] GROUP BY symbol
"""


def message(number: int) -> bytes:
    second, part = divmod(number, 1000)
    time = f"2024-08-09T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{part:03}000Z"
    return json.dumps(
        {"symbol": f"S{number % 100:03}", "price": number % 977 / 10, "volume": number % 1000, "ts": time}
    ).encode()


@contextmanager
def topic_of(messages: int) -> Iterator[tuple[str, str]]:
    """A broker with a topic of so many messages: its servers and the topic."""
    if (reason := unavailable()) is not None:
        raise SystemExit(f"no Kafka here: {reason}")
    with TemporaryDirectory() as folder:
        broker = Broker(Path(folder)).start()
        try:
            topic = broker.topic(PARTITIONS)
            for partition in range(PARTITIONS):
                broker.send(topic, map(message, range(partition, messages, PARTITIONS)), partition)
            yield broker.servers, topic
        finally:
            broker.kill()


def plain_loop(servers: str, topic: str, messages: int) -> int:
    """What a program without Windrow does."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "plain", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    parsed = 0
    while parsed < messages:
        for one in consumer.consume(10_000, 0.05):
            if one.error() is None:
                json.loads(one.value() or b"")
                parsed += 1
    consumer.close()
    return parsed


def rows_read(address: str) -> int:
    reader = open_source(address, name="trades", schema=pa.schema(COLUMNS)).until_now().open()
    rows = 0
    while not isinstance(element := reader.poll(), Sign):
        rows += element.num_rows if isinstance(element, pa.RecordBatch) else 0
    reader.close()
    return rows


def rows_counted(address: str) -> int:
    return wr.sql(QUERY.format(address=address)).run(engine="local").metrics.rows_in


def main(settings: Settings) -> None:
    messages = settings.rows(MESSAGES)
    with topic_of(messages) as (servers, topic):
        address = f"kafka://{servers}/{topic}?until=now"
        works = {
            "plain loop, json.loads": lambda: plain_loop(servers, topic, messages),
            "rows read": lambda: rows_read(address),
            "query, windows of 10 s every second": lambda: rows_counted(address),
        }
        found = side_by_side(works, settings.repeats, same=lambda counts: set(counts) == {messages})
    loop = found["plain loop, json.loads"].median
    lines = []
    for name, seconds in found.items():
        ratio = loop / seconds.median
        judged = verdict(ratio, BAR) if name == "rows read" else ""
        lines.append([name, seconds.rate(messages), Figure.once(ratio, Unit.GAIN), judged])
    settings.report(
        f"{messages:,} messages of {len(message(0))} bytes", ["", "messages/s", "of the loop", f"bar {BAR}"], lines
    )


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
