"""Results as datagrams: packed frames decode back with the reader of streams, text fits its datagrams."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pytest

from windrow.errors import ConfigurationError, DataError
from windrow.frames.packing import Datagrams
from windrow.sinks.datagrams.lines import packed_lines
from windrow.sinks.datagrams.sender import Sender
from windrow.sinks.datagrams.sink import open_udp
from windrow.sources import Sign, open_source
from windrow.sources.base import Delivery
from windrow.sources.datagrams.calls import SYSTEM

UTC = timezone.utc
KINDS: dict[str, pa.DataType] = {
    "symbol": pa.string(),
    "window_end": pa.timestamp("us", "UTC"),
    "n": pa.int64(),
    "avg": pa.float64(),
}
SCHEMA = pa.schema(KINDS)
COLUMNS: Any = [
    ["UBSN", None, "NESN"] * 40,
    [datetime(2024, 1, 1, 9, minute, tzinfo=UTC) for minute in range(60)] * 2,
    range(120),
    [1.5, None, -2.0] * 40,
]
ANSWER = pa.record_batch(COLUMNS, schema=SCHEMA)


@contextmanager
def listening() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.settimeout(10)
        yield made


def address(made: socket.socket, options: str = "") -> str:
    return f"udp://127.0.0.1:{made.getsockname()[1]}?{options}"


@pytest.mark.parametrize("options", ["", "&order=big", "&offload=off&size=200", "&numbers=off"])
def test_results_come_back_as_a_stream(options: str) -> None:
    order = "&order=big" if "big" in options else ""
    source: Any = open_source(f"udp://127.0.0.1:0?types=s4,t8us,i8,f8{order}", name="answer", schema=SCHEMA)
    with closing(source.open()) as reader:
        with open_udp(f"udp://127.0.0.1:{reader.port}?types=s4,t8us,i8,f8{options}", SCHEMA) as sink:
            sink.write(ANSWER)
            sink.write(ANSWER.slice(0, 0))
            sink.write(ANSWER.select(["avg", "n", "window_end", "symbol"]).slice(3, 1))
        found: list[Any] = []
        while (element := reader.poll(10.0)) is not Sign.END:
            found += element.to_pylist()
    assert [*ANSWER.to_pylist(), *ANSWER.slice(3, 1).to_pylist()] == found
    assert Delivery.AT_MOST_ONCE is sink.delivery


def test_objects_fill_datagrams_and_an_empty_one_is_the_end() -> None:
    with listening() as made:
        with open_udp(address(made, "frames=json&size=300"), SCHEMA) as sink:
            sink.write(ANSWER)
        datagrams: list[bytes] = []
        while datagram := made.recv(65536):
            datagrams.append(datagram)
    assert all(len(one) <= 300 for one in datagrams)
    rows = [json.loads(line) for one in datagrams for line in one.splitlines()]
    assert ANSWER["n"].to_pylist() == [row["n"] for row in rows]
    assert {"symbol": None, "window_end": "2024-01-01T09:01:00Z", "n": 1, "avg": None} == rows[1]


def test_an_aborted_run_says_no_end() -> None:
    with listening() as made:
        sink = open_udp(address(made, "frames=csv"), SCHEMA)
        sink.write(ANSWER.slice(0, 1))
        sink.abort()
        assert b"UBSN,2024-01-01T09:00:00Z,0,1.5" == made.recv(65536)
        made.setblocking(False)
        with pytest.raises(BlockingIOError):
            made.recv(65536)
        sink.close()


def test_a_row_larger_than_a_datagram_is_refused() -> None:
    with pytest.raises(DataError, match=r"\A`a row` must fit into a datagram of 65,507 bytes, got 70,000 bytes\. Hint"):
        list(packed_lines([b"a" * 70_000]))
    assert [b"a", b"b" * 5000, b"c"] == list(packed_lines([b"a", b"b" * 5000, b"c"]))


def test_a_kernel_that_does_not_cut_is_served_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    if SYSTEM is None:
        pytest.skip("there is nothing to refuse")
    with listening() as made:
        sender = Sender("127.0.0.1", made.getsockname()[1])
        real, asked = sender.messages.send, list[bool]()

        def send(number: int, first: int, count: int) -> int:
            asked.append(bool(sender.messages.headers["notes_size"][0]))
            if asked[-1]:
                raise OSError(22, "invalid argument")
            return real(number, first, count)

        monkeypatch.setattr(sender.messages, "send", send)
        whole = Datagrams.of(bytes(range(100)))
        sender.send(Datagrams(whole.data, 30))
        assert [bytes(range(100))[at : at + 30] for at in (0, 30, 60, 90)] == [made.recv(100) for _ in range(4)]
        sender.send(Datagrams(whole.data, 50))
        assert [50, 50] == [len(made.recv(100)) for _ in range(2)]
        assert ([True, False, False], 6) == (asked, sender.sent)
        sender.close()


def test_nobody_listening_is_noticed_and_no_error() -> None:
    with listening() as made:
        port = made.getsockname()[1]
    with open_udp(f"udp://127.0.0.1:{port}?frames=json", SCHEMA) as sink:
        for _ in range(20):
            sink.write(ANSWER)
        assert sink.writer.sender.refused > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("udp://127.0.0.1", r"\A`output` must name a host and a port, got udp://127\.0\.0\.1"),
        (
            "udp://127.0.0.1:9?frames=raw",
            r"\A`frames` must be a known word \(one of bare, csv, json, packed\), got raw",
        ),
        ("udp://127.0.0.1:9?buffer=1", r"\A`output` has no option 'buffer'"),
        ("udp://127.0.0.1:9?size=9", r"\A`size` must be a number of bytes from 64 to 65507, got 9\.\Z"),
        ("udp://127.0.0.1:9", r"\A`output` must have columns of fixed width in packed frames; symbol is string"),
        ("udp://no.such.host.invalid:9?frames=json", r"\A`output` must name a host that is known"),
    ],
)
def test_addresses_that_cannot_be_are_refused(target: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_udp(target, SCHEMA)
    assert re.search(message, str(caught.value)), str(caught.value)
