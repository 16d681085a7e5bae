"""Topics of Kafka on Spark: the same rows, rejects and answers as in process."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.kafka_broker import Broker
from windrow.engines.run import Receiver, untagged
from windrow.plan.types.kinds import in_order
from windrow.query.running import begin
from windrow.sources.conform import conform

ROWS = 600
TEXT = """
CREATE STREAM trades (symbol STRING, price INT, ts TIMESTAMP, _partition INT)
  FROM '{address}' PROGRESS ON ts SLACK 2 MINUTES;
SELECT symbol, count(*) AS n, sum(price) AS total, max(price) AS high
FROM trades [RANGE 10 SECONDS SLIDE 5 SECONDS WATTR ts] GROUP BY symbol
"""


@pytest.fixture(scope="module")
def trades(broker: Broker) -> tuple[str, list[dict[str, Any]], int]:
    """Four partitions: two in disorder, one that lags behind, one without messages; some messages are no rows."""
    chance = random.Random(7)
    topic = broker.topic(4)
    rows = []
    bad = 0
    for partition in range(3):
        sent: list[bytes | None] = []
        for place in range(ROWS // 3):
            second = place * 0.2 + chance.uniform(0, 2) - 20 * (partition == 2)
            row = {"symbol": f"s{chance.randrange(5)}", "price": chance.randrange(100), "ts": _time(100 + second)}
            rows.append({**row, "_partition": partition})
            sent.append(json.dumps(row).encode())
            if chance.random() < 0.05:
                sent.append(chance.choice([None, b"", b"nonsense", b'{"price": "x"}', b'{"ts": null, "price": 1.5}']))
                bad += 1
        broker.send(topic, sent, partition)
    return topic, rows, bad


def _time(seconds: float) -> str:
    return f"2024-08-09T00:{int(seconds) // 60:02}:{seconds % 60:09.6f}Z"


def expected(rows: list[dict[str, Any]]) -> pa.Table:
    kinds: dict[str, pa.DataType] = {"symbol": pa.string(), "price": pa.int32(), "ts": pa.timestamp("us", "UTC")}
    schema = pa.schema(kinds)
    raw = pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in rows]).to_batches()
    data = pa.Table.from_batches([conform(batch, schema, "the test") for batch in raw])
    return wr.sql(TEXT.format(address="x.parquet").replace(", _partition INT", ""), trades=data).collect(engine="local")


def gathered(query: Any, **options: Any) -> tuple[pa.Table, list[dict[str, Any]], Any]:
    answers: list[pa.RecordBatch] = []
    rejects: list[dict[str, Any]] = []
    into = Receiver(lambda _, batch: answers.append(batch), on_reject=lambda batch: rejects.extend(batch.to_pylist()))
    run = begin([query.plan], [query.sources], untagged, into=into, **options)
    return pa.Table.from_batches(answers), rejects, run.metrics


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        ("local", {}),
        ("local", {"threads": 2, "batch_rows": 50}),
        pytest.param("spark", {}, marks=pytest.mark.on_spark),
    ],
)
def test_answers_and_rejects_are_those_of_the_messages(
    broker: Broker, trades: tuple[str, list[dict[str, Any]], int], engine: str, options: dict[str, Any]
) -> None:
    topic, rows, bad = trades
    limit = "?maxOffsetsPerTrigger=200" if engine == "spark" else ""
    query = wr.sql(TEXT.format(address=f"kafka://{broker.servers}/{topic}{limit}"))
    answer, rejects, metrics = gathered(query, engine=engine, **options)
    wanted = expected(rows)
    assert in_order(wanted, "window_end") == in_order(answer.cast(wanted.schema), "window_end")
    assert (len(rows), 0, bad, bad) == (metrics.rows_in, metrics.rows_late, metrics.rows_rejected, len(rejects))
    assert {topic} == {one["place"] for one in rejects}
    assert len({(one["partition"], one["offset"]) for one in rejects}) == bad


@pytest.mark.parametrize("delivery", [pytest.param("at-least-once", marks=pytest.mark.soak), "exactly-once"])
@pytest.mark.on_spark
def test_results_late_rows_and_rejects_go_to_topics(
    broker: Broker, trades: tuple[str, list[dict[str, Any]], int], tmp_path: Path, delivery: str
) -> None:
    from windrow.engines.spark.running.checkpoint import SPARK

    topic, _, bad = trades
    out, aside = broker.topic(), broker.topic(2)
    text = TEXT.replace("SLACK 2 MINUTES", "SLACK 10 SECONDS")  # of each partition, of which one lags by 20
    query = wr.sql(text.format(address=f"kafka://{broker.servers}/{topic}"))
    address = f"kafka://{broker.servers}/{{}}?delivery={delivery}"
    inner = {"output": address.format(out) + "&key=symbol", "rejected_output": address.format(aside), "once": True}
    for restore in (False, True):
        if restore:  # as after a crash before the last micro-batch was noted as done
            (last,) = sorted((tmp_path / SPARK / "commits").glob("[0-9]*"))[-1:]
            last.unlink()
            last.with_name(f".{last.name}.crc").unlink()
        options: dict[str, Any] = {"engine": "spark", "checkpoint": tmp_path, "restore": restore}
        begin([query.plan], [query.sources], untagged, into=Receiver(lambda *_: None), inner=inner, **options)
    sent = [(message.key(), message.value()) for message in broker.read(out)]
    answer = {json.dumps(row, default=str) for row in expected(trades[1]).select(["symbol", "n"]).to_pylist()}
    found = [json.loads(value) for _, value in sent]
    assert {json.dumps({"symbol": row["symbol"], "n": row["n"]}) for row in found} <= answer
    assert all(key.decode() == row["symbol"] for (key, _), row in zip(sent, found, strict=True))
    assert len(sent) > 0
    assert len(set(sent)) * (1 if delivery == "exactly-once" else 2) == len(sent)
    assert bad == len({message.value() for message in broker.read(aside)})
