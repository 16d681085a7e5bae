"""Stream declarations to SQL text and back."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from tests.language.streams import TRADES
from windrow.language import parse, stream_sql
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import External, Idle, Lead, Ordered, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount

COLUMNS: dict[str, pa.DataType] = {
    "select": pa.string(),
    "b": pa.bool_(),
    "d": pa.decimal128(10, 2),
    "f": pa.float64(),
    "i": pa.int16(),
    "day": pa.date32(),
    "mark": pa.int64(),
    "ts": pa.int64(),
}
SCHEMA = pa.schema(COLUMNS)


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
        Stream("s", SCHEMA, "ts", Ordered(Lead(Amount.of(9))), Idle(Amount.of(5))),
        Stream("s", SCHEMA, "ts", SlackRows(7, Lead(Amount.of(9)))),
        replace(TRADES, policy=Slack(Amount.of("60 s"), Lead(Amount.of("1 h"), wall_clock=True))),
        Stream("s", SCHEMA, "ts", External()),
        Stream("s", SCHEMA, "ts", External("mark")),
        Stream("s", SCHEMA, "ts", Ordered(per=("mark",))),
        Stream("s", SCHEMA, "ts", Slack(Amount.of(3), Lead(Amount.of(9)), ("mark", "day", "i")), Idle(Amount.of(5))),
    ],
)
def test_declarations_read_back(stream: Stream) -> None:
    assert {stream.name: stream} == parse(stream_sql(stream)).streams


def test_a_type_without_a_name_of_its_own_is_declared_as_the_nearest() -> None:
    columns: dict[str, pa.DataType] = {
        "k": pa.dictionary(pa.int32(), pa.string()),
        "x": pa.float32(),
        "ts": pa.int32(),
    }
    schema = pa.schema(columns)
    assert "CREATE STREAM s (k STRING, x DOUBLE, ts BIGINT) PROGRESS ON ts" == stream_sql(Stream("s", schema, "ts"))
