"""`windrow send`: a file as a live stream, over UDP and TCP, and what it says of it."""

from __future__ import annotations

import json
import re
import socket
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from windrow.cli import main
from windrow.generate import trades
from windrow.semantics.progress.policies import Punctuation
from windrow.sinks import open_sink
from windrow.sources import Sign, open_source

STREAM = trades(3_000, seed=2, rate=100)
SCHEMA = pa.schema([("symbol", pa.string()), *((f.name, f.type) for f in list(STREAM.schema)[1:])])
TYPES = "s4,i4,i4,t8us"


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    with open_sink(tmp_path / "trades.parquet", STREAM.schema) as sink:
        sink.write(STREAM.table().to_batches()[0])
    return tmp_path / "trades.parquet"


def windrow(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["send", *map(str, arguments)])


def received(file: Path, *flags: str, options: str = f"types={TYPES}") -> tuple[Result, list[Any]]:
    """What the command says, and what came in."""
    source: Any = open_source(f"udp://127.0.0.1:0?{options}", name="s", schema=SCHEMA)
    with closing(source.open()) as reader:
        done = windrow(file, "--to", f"udp://127.0.0.1:{reader.port}", *flags)
        found: list[Any] = []
        while done.exit_code == 0 and (element := reader.poll(10.0)) is not Sign.END:
            assert element is not Sign.TICK
            found.append(element)
    return done, found


def rows_of(elements: list[Any]) -> list[dict[str, Any]]:
    return [row for one in elements if isinstance(one, pa.RecordBatch) for row in one.to_pylist()]


def test_a_file_is_sent_and_accounted_for(file: Path) -> None:
    done, found = received(file, "--types", TYPES, "--rate", "100000")
    assert STREAM.table().to_pylist() == rows_of(found)
    account = (
        r"\A3,000 rows in \d+ datagrams sent to udp://127\.0\.0\.1:\d+ in \d+\.\d\d s \([\d,]+ rows/s, .+ Gbit/s\)\n\Z"
    )
    assert re.search(account, done.stderr), done.stderr


def test_out_of_order_with_promises(file: Path) -> None:
    _, found = received(
        file,
        "--types",
        TYPES,
        "--disorder",
        "band 2 s",
        "--punctuate",
        "1 s",
        "--order",
        "big",
        options=f"types={TYPES}&order=big",
    )
    rows, whole = rows_of(found), STREAM.table().to_pylist()
    key = lambda row: (row["time"], row["symbol"], row["price"], row["volume"])  # noqa: E731
    assert whole != rows
    assert sorted(whole, key=key) == sorted(rows, key=key)
    assert sum(isinstance(one, Punctuation) for one in found) > 20


@pytest.mark.parametrize("frames", ["json", "csv"])
def test_as_text_and_in_small_datagrams(file: Path, frames: str) -> None:
    _, found = received(file, "--frames", frames, "--size", "500", "--no-gso", options=f"frames={frames}")
    assert STREAM.table().to_pylist() == rows_of(found)


def test_again_and_again_each_time_later(file: Path) -> None:
    _, found = received(file, "--types", TYPES, "--loop", "3")
    times = [row["time"] for row in rows_of(found)]
    assert 9_000 == len(times)
    assert sorted(times) == times
    assert [times[3_000] > times[2_999], times[6_000] > times[5_999]] == [True, True]


@pytest.mark.parametrize("frames", ["json", "csv"])
def test_over_tcp_as_lines(file: Path, frames: str) -> None:
    lines: list[bytes] = []

    def take(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as stream:
            lines.extend(stream)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=take, args=(server,))
        thread.start()
        done = windrow(file, "--to", f"tcp://127.0.0.1:{server.getsockname()[1]}", "--frames", frames)
        thread.join()
    assert 0 == done.exit_code, done.output
    assert re.search(r"\A3,000 rows sent to tcp://", done.stderr)
    if frames == "csv":
        assert b"symbol,price,volume,time\n" == lines.pop(0)
    else:
        assert STREAM.table()["price"].to_pylist() == [json.loads(line)["price"] for line in lines]
    assert 3_000 == len(lines)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--to", "http://a:1"], r"`--to` must be udp://HOST:PORT or tcp://HOST:PORT, got http://a:1\."),
        (["--to", "udp://127.0.0.1"], r"`--to` must name a host and a port, got udp://127\.0\.0\.1"),
        (["--to", "udp://127.0.0.1:9"], r"`--to` must have columns of fixed width in packed frames; symbol is"),
        (["--to", "udp://127.0.0.1:9?frames=json", "--frames", "csv"], r"`--frames` must be said once, got udp://"),
        (
            ["--to", "udp://127.0.0.1:9", "--frames", "json", "--punctuate", "1 s"],
            r"`frames=packed` carry promises, no",
        ),
        (["--to", "udp://127.0.0.1:9", "--frames", "json", "--time", "when"], r"`--time` must be a column of the file"),
        (["--to", "udp://127.0.0.1:9", "--frames", "json", "--disorder", "wild"], r"`disorder` must be 'none', 'band"),
        (["--to", "tcp://127.0.0.1:9", "--frames", "packed"], r"`--frames` must be json or csv over TCP"),
        (["--to", "tcp://127.0.0.1:1"], r"`--to` must be the address of somebody who listens \(connection refused\)"),
    ],
)
def test_what_cannot_be_is_refused(file: Path, flags: list[str], message: str) -> None:
    done = windrow(file, *flags)
    assert 2 == done.exit_code
    assert re.search(message, done.stderr), done.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    done = windrow(tmp_path / "none.parquet", "--to", "udp://127.0.0.1:9")
    assert 2 == done.exit_code


@pytest.mark.parametrize("frames", ["packed", "json"])
def test_it_waits_for_somebody_who_listens(file: Path, frames: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        address = f"udp://127.0.0.1:{one.getsockname()[1]}"
    flags = ["--types", TYPES] if frames == "packed" else ["--frames", "json"]
    done = windrow(file, "--to", address, *flags, "--wait", "1 ms")
    assert (2, True) == (done.exit_code, "`--to` must be an address where somebody listens" in done.stderr), done.stderr
    refused = windrow(file, "--to", address, "--frames", "bare", "--types", TYPES, "--wait", "1 s")
    assert "`wait` needs a datagram without rows, which bare ones have not" in refused.stderr
    options = f"types={TYPES}" if frames == "packed" else "frames=json"
    _, found = received(file, *flags, "--wait", "5 s", options=options)
    assert STREAM.table().to_pylist() == rows_of(found)


def test_over_tcp_it_waits_too(file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    done: list[Result] = []
    thread = Thread(target=lambda: done.append(windrow(file, "--to", f"tcp://127.0.0.1:{port}", "--wait", "20 s")))
    thread.start()
    with socket.create_server(("127.0.0.1", port)) as server:
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as stream:
            assert 3_000 == sum(1 for _ in stream)
    thread.join()
    assert 0 == done[0].exit_code
