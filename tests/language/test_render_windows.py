"""Stream declarations to SQL text and back."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.language.streams import TRADES
from windrow.language import parse, stream_sql
from windrow.plan.nodes import Stream
from windrow.semantics.amounts import Amount
from windrow.semantics.progress import External, Idle, Ordered, SlackRows

SCHEMA = pa.schema(
    [
        pa.field("select", pa.string()),
        pa.field("b", pa.bool_()),
        pa.field("d", pa.decimal128(10, 2)),
        pa.field("f", pa.float64()),
        pa.field("i", pa.int16()),
        pa.field("day", pa.date32()),
        pa.field("mark", pa.int64()),
        pa.field("ts", pa.int64()),
    ]
)


def test_declaration() -> None:
    expected = (
        'CREATE STREAM trades (symbol STRING, price BIGINT, volume BIGINT, "bid-price" DOUBLE, time TIMESTAMP) '
        "PROGRESS ON time SLACK 60 s"
    )
    assert expected == stream_sql(TRADES)


@pytest.mark.parametrize(
    "stream",
    [
        TRADES,
        Stream("s", SCHEMA, "ts"),
        Stream("s", SCHEMA, "ts", Ordered(), Idle(Amount.of(5)), "it's here.csv"),
        Stream("from", SCHEMA, "ts", SlackRows(7), Idle(Amount.of("5 s"), wall_clock=True)),
        Stream("s", SCHEMA, "ts", External()),
        Stream("s", SCHEMA, "ts", External("mark")),
    ],
)
def test_declarations_read_back(stream: Stream) -> None:
    assert {stream.name: stream} == parse(stream_sql(stream)).streams


def test_a_type_without_a_name_of_its_own_is_declared_as_the_nearest() -> None:
    schema = pa.schema(
        [pa.field("k", pa.dictionary(pa.int32(), pa.string())), pa.field("x", pa.float32()), pa.field("ts", pa.int32())]
    )
    assert "CREATE STREAM s (k STRING, x DOUBLE, ts BIGINT) PROGRESS ON ts" == stream_sql(Stream("s", schema, "ts"))
