"""Messages in Avro, with a schema that is given and with those of a registry."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import ConfigurationError, SourceError
from windrow.sources.avro import AvroMessages, avro_messages

fastavro = pytest.importorskip("fastavro")
MOMENT = {"type": "long", "logicalType": "timestamp-micros"}
FIELDS = [
    {"name": "symbol", "type": "string"},
    {"name": "price", "type": ["null", "double"]},
    {"name": "ts", "type": MOMENT},
    {"name": "more", "type": "int"},
]
AVRO = {"type": "record", "name": "trade", "fields": FIELDS}
COLUMNS: dict[str, pa.DataType] = {
    "ts": pa.timestamp("us", "UTC"),
    "symbol": pa.string(),
    "price": pa.float64(),
    "lacking": pa.int64(),
}
SCHEMA = pa.schema(COLUMNS)
NOON = datetime(2024, 8, 9, 12, 0, 0, 123456, timezone.utc)


def written(schema: Any = AVRO, **record: Any) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()


GOOD = written(symbol="A", price=None, ts=NOON, more=1)
ROW = {"ts": NOON, "symbol": "A", "price": None, "lacking": None}


def test_records_are_rows_and_what_is_none_is_told() -> None:
    form: AvroMessages = pickle.loads(pickle.dumps(avro_messages(json.dumps(AVRO), None, "trades")))  # noqa: S301
    found = form.read([GOOD, b"", GOOD + b"x", b"\xff\xff", GOOD], SCHEMA)
    assert [ROW, ROW] == found.batch.to_pylist()
    assert [1, 2, 3] == [place for place, _ in found.bad]
    assert ["it is empty", "it has bytes behind its Avro record"] == [reason for _, reason in found.bad[:2]]
    assert found.bad[2][1].startswith("it is no Avro of its schema (")


def test_a_value_that_does_not_fit_is_told() -> None:
    found = avro_messages(json.dumps(AVRO), None, "trades").read([GOOD], pa.schema([("symbol", pa.int64())]))
    assert (0, ((0, "symbol must be int64 in a message, got 'A'"),)) == (found.batch.num_rows, found.bad)
    bare = avro_messages('"long"', None, "trades").read([b"\x02"], SCHEMA)
    assert ((0, "it is no Avro record"),) == bare.bad


def test_the_schema_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "trade.avsc").write_text(json.dumps(AVRO))
    assert [ROW] == avro_messages(str(tmp_path / "trade.avsc"), None, "t").read([GOOD], SCHEMA).batch.to_pylist()
    with pytest.raises(ConfigurationError, match=r"^`schema` must be a file with an Avro schema \(no such file"):
        avro_messages(str(tmp_path / "none.avsc"), None, "t")
    with pytest.raises(ConfigurationError, match=r"^`t.schema` must be an Avro schema \("):
        avro_messages('{"type": "record"}', None, "t")
    with pytest.raises(ConfigurationError, match=r"^`t` needs the schema of its messages, or the registry .* one of"):
        avro_messages(None, None, "t")


@pytest.fixture
def registry() -> Iterator[str]:
    """A registry that has one schema."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path.startswith("/schemas/ids/7")
            body = {"schema": json.dumps(AVRO)} if known else {"error_code": 40403, "message": "Schema not found"}
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answers)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.filterwarnings("ignore")
def test_a_registry_has_the_schema_of_a_number(registry: str) -> None:
    pytest.importorskip("confluent_kafka.schema_registry")
    form = avro_messages(None, registry, "trades")
    good, unknown = (b"\0" + number.to_bytes(4, "big") + GOOD for number in (7, 8))
    found = form.read([good, unknown, GOOD, good], SCHEMA)
    assert [ROW, ROW] == found.batch.to_pylist()
    reason = "it does not begin with the number of a schema that the registry has"
    assert ((1, reason), (2, reason)) == found.bad


@pytest.mark.filterwarnings("ignore")
def test_a_registry_that_does_not_answer_is_no_fault_of_messages() -> None:
    pytest.importorskip("confluent_kafka.schema_registry")
    form = avro_messages(None, "http://127.0.0.1:1", "trades")
    with pytest.raises(
        SourceError, match=r"^`registry` must answer \(.*got http://127.0.0.1:1. Hint: see to the schema"
    ):
        form.read([b"\0\0\0\0\7" + GOOD], SCHEMA)
