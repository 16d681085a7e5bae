"""Datagrams over loopback: rows, promises and rejects in their place, losses to the datagram, and clear refusals."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.errors import ConfigurationError, LostDatagramsWarning, SourceError
from windrow.frames.packing import Packer
from windrow.frames.tuples import TupleLayout
from windrow.generate import trades
from windrow.generate.replay import Rearranged
from windrow.semantics.progress.policies import Punctuation
from windrow.sinks.datagrams.sink import DatagramWriter
from windrow.sources import Sign, open_source
from windrow.sources.base import Delivery, lost_by
from windrow.sources.datagrams import calls, receiving, sockets
from windrow.sources.datagrams.source import UdpReader
from windrow.sources.rejects import Rejects

KINDS: dict[str, pa.DataType] = {"k": pa.string(), "x": pa.int64(), "t": pa.int64()}
SCHEMA = pa.schema(KINDS)
TYPES = "s4,i4,i8"
LINUX = pytest.mark.skipif(calls.SYSTEM is None, reason="tells of the kernel of Linux")


def rows(count: int, first: int = 0) -> pa.RecordBatch:
    texts = [f"{i % 7}" for i in range(first, first + count)]
    columns: Any = [texts, range(first, first + count), range(first, first + count)]
    return pa.record_batch(columns, schema=SCHEMA)


def udp(options: str = "", port: int = 0, host: str = "127.0.0.1") -> Any:
    return open_source(f"udp://{host}:{port}?{options}", name="trades", schema=SCHEMA)


@contextmanager
def reading(options: str = f"types={TYPES}", host: str = "127.0.0.1", **how: Any) -> Iterator[UdpReader]:
    with closing(udp(options, host=host).open(**how)) as reader:
        yield reader


def writing(reader: UdpReader, options: str = f"types={TYPES}", host: str = "127.0.0.1") -> DatagramWriter:
    return DatagramWriter(f"udp://{host}:{reader.port}?{options}", SCHEMA)


def given(reader: UdpReader, timeout: float = 20.0) -> list[Any]:
    """All that comes up to the end."""
    found: list[Any] = []
    while (element := reader.poll(timeout)) is not Sign.END:
        assert element is not Sign.TICK, "nothing came"
        found.append(element)
    return found


def rows_of(elements: list[Any]) -> list[dict[str, Any]]:
    return [row for element in elements if isinstance(element, pa.RecordBatch) for row in element.to_pylist()]


def reasons_of(elements: list[Any]) -> list[str]:
    return [
        reason for one in elements if isinstance(one, Rejects) for reason in map(str, one.batch["reason"].to_pylist())
    ]


@pytest.mark.parametrize("offload", ["on", "off"])
@pytest.mark.parametrize("frames", ["packed", "bare"])
@pytest.mark.parametrize("order", ["little", "big"])
def test_packed_rows_come_in(frames: str, offload: str, order: str) -> None:
    options = f"types={TYPES}&frames={frames}&offload={offload}&order={order}"
    with reading(options) as reader, closing(writing(reader, options)) as writer:
        writer.rows(rows(50_000))
        writer.end()
        found = given(reader)
        assert rows(50_000).to_pylist() == rows_of(found)
        assert (0, {"rows": 50_000}) == (lost_by(reader), reader.position)
        assert writer.sender.sent - (2 if frames == "packed" else 0) <= reader.came <= writer.sender.sent


def test_large_datagrams_and_small_batches() -> None:
    options = f"types={TYPES}&size=60000"
    with reading(batch_rows=1000) as reader, closing(writing(reader, options)) as writer:
        writer.rows(rows(20_000))
        writer.end()
        found = given(reader)
    assert rows(20_000).to_pylist() == rows_of(found)
    assert 1000 == max(map(len, found))


@pytest.mark.parametrize("frames", ["json", "csv"])
def test_lines_come_in_and_bad_ones_in_their_place(frames: str) -> None:
    with reading(f"frames={frames}") as reader, closing(writing(reader, f"frames={frames}")) as writer:
        writer.rows(rows(300))
        writer.sender._one(b"rubbish\xff")
        writer.rows(rows(5, 300))
        writer.end()
        found = given(reader)
    assert rows(305).to_pylist() == rows_of(found)
    assert 1 == len(reasons_of(found))
    reject = next(one for one in found if isinstance(one, Rejects)).batch.to_pylist()[0]
    assert ("trades", "udp://127.0.0.1:0", 300, b"rubbish\xff") == tuple(
        reject[name] for name in ("source", "place", "offset", "payload")
    )


def test_raw_datagrams_are_values() -> None:
    schema = pa.schema([("payload", pa.binary())])
    source: Any = open_source("udp://127.0.0.1:0?frames=raw", name="s", schema=schema)
    with closing(source.open()) as reader, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for datagram in (b"a\nb", b"\0\1", b""):
            sender.sendto(datagram, ("127.0.0.1", reader.port))
        assert [{"payload": b"a\nb"}, {"payload": b"\0\1"}] == rows_of(given(reader))


def test_promises_come_behind_their_rows_and_never_go_back() -> None:
    with reading() as reader, closing(writing(reader)) as writer:
        writer.rows(rows(3))
        for value in (4, 2, 4, 9):
            writer.punctuation(value)
        writer.rows(rows(2))
        writer.end()
        found = given(reader)
    kinds = [element if isinstance(element, Punctuation) else len(element) for element in found]
    assert [3, Punctuation(4), Punctuation(9), 2] == kinds


def test_garbage_is_rejected_with_its_sender() -> None:
    with reading() as reader, closing(writing(reader)) as writer:
        writer.rows(rows(3))
        writer.sender._one(b"rubbish")
        other = Packer(TupleLayout.of(pa.schema([("other", pa.int64())])))
        writer.sender.send(other.rows(pa.record_batch({"other": [1]})))
        writer.end()
        own = "127.0.0.1:" + str(writer.sender.socket.getsockname()[1])
        found = given(reader)
    rejects = [row for one in found if isinstance(one, Rejects) for row in one.batch.to_pylist()]
    assert [(own, 1, b"rubbish"), (own, 2)] == [
        (rejects[0]["place"], rejects[0]["offset"], rejects[0]["payload"]),
        (rejects[1]["place"], rejects[1]["offset"]),
    ]
    assert "it is no frame of Windrow's, version 1" == rejects[0]["reason"]
    assert re.match(r"its rows are of schema 0x\w{8}, not of 0x\w{8} \(k s4;x i4;t i8\)", rejects[1]["reason"])


def test_over_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("there is no IPv6 here")
    with reading(host="[::1]") as reader, closing(writing(reader, host="[::1]")) as writer:
        writer.rows(rows(3))
        writer.sender._one(b"rubbish")
        writer.end()
        found = given(reader)
        assert rows(3).to_pylist() == rows_of(found)
        place = next(one for one in found if isinstance(one, Rejects)).batch["place"][0].as_py()
        assert f"[::1]:{writer.sender.socket.getsockname()[1]}" == place


def test_a_group_is_joined() -> None:
    address = f"udp://239.77.66.55:0?types={TYPES}&interface=127.0.0.1&idle=20 s"
    source: Any = open_source(address, name="trades", schema=SCHEMA)
    try:
        reader = source.open()
    except SourceError:
        pytest.skip("no groups here")
    with closing(reader), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        packer = Packer(TupleLayout.of(SCHEMA, TYPES))
        for datagrams in (packer.rows(rows(3)), packer.end()):
            sender.sendto(datagrams.each()[0], ("239.77.66.55", reader.port))
        assert rows(3).to_pylist() == rows_of(given(reader))


def test_without_the_calls_of_linux_datagrams_come_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (receiving, sockets):
        monkeypatch.setattr(module, "SYSTEM", None)
    monkeypatch.setattr("windrow.sinks.datagrams.sender.SYSTEM", None)
    with reading() as reader, closing(writing(reader)) as writer:
        writer.rows(rows(3000))
        writer.sender._one(b"rubbish")
        writer.end()
        found = given(reader)
        assert rows(3000).to_pylist() == rows_of(found)
        place = next(one for one in found if isinstance(one, Rejects)).batch["place"][0].as_py()
        assert f"127.0.0.1:{writer.sender.socket.getsockname()[1]}" == place


@LINUX
@pytest.mark.parametrize("offload", ["on", "off"])
def test_losses_are_counted_to_the_datagram(offload: str) -> None:
    """The reader does not take until all is sent: the ring and the buffer fill, the rest is lost, and the end comes."""
    options = f"types={TYPES}&buffer=64KB&offload={offload}"
    with reading(options) as reader, closing(writing(reader, f"types={TYPES}&offload={offload}")) as writer:
        writer.rows(rows(400_000))
        sent = writer.sender.sent
        found = [reader.poll(5.0)]
        while not isinstance(element := reader.poll(0.3), Sign):
            found.append(element)
        assert writer.packer is not None
        writer.sender.send(writer.packer.end())  # there is room for it now
        found += given(reader)
        each = writer.rows_each
        came = reader.came - 1  # without the end
        assert 0 < came < sent
        assert sent == came + lost_by(reader)
        assert len(rows_of(found)) <= came * each
        assert {"rows": len(rows_of(found)), "lost": sent - came} == reader.position
    assert sent - came == lost_by(reader)


@LINUX
def test_of_bare_rows_the_kernel_counts_what_is_lost() -> None:
    with reading(f"types={TYPES}&frames=bare&buffer=64KB") as reader:
        with closing(writing(reader, f"types={TYPES}&frames=bare&offload=off")) as writer:
            writer.rows(rows(200_000))
            sent, found = writer.sender.sent, [reader.poll(5.0)]
            while not isinstance(element := reader.poll(0.3), Sign):
                found.append(element)
        assert 0 < reader.came < sent
        assert sent == reader.came + lost_by(reader)


def test_a_run_tells_what_was_lost_and_warns(recwarn: Any) -> None:
    frames = Packer(TupleLayout.of(SCHEMA, TYPES), most_bytes=20 + 16 * 4).rows(rows(40)).each()
    port = free_port()
    stream = wr.stream(
        f"udp://127.0.0.1:{port}?types={TYPES}&idle=500 ms", schema=SCHEMA, time="t", progress=wr.slack(50)
    )
    query = stream.window(range=100).agg(n=wr.count())
    run = query.start(engine="local")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        wait_for(port)
        for place in (0, 1, 4, 2, 9):
            sender.sendto(frames[place], ("127.0.0.1", port))
    with pytest.warns(LostDatagramsWarning, match=r"\A5 datagrams of stream were lost, on the way or") as caught:
        metrics = run.wait()
    assert 5 == caught[0].message.lost  # type: ignore[union-attr]
    assert (5, 5, 20) == (metrics.datagrams_lost, metrics.sources["stream"].lost, metrics.rows_in)
    assert metrics == type(metrics).from_dict(metrics.to_dict())


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(port: int) -> None:
    """Until somebody listens there; to bind it for a moment would keep him from it."""
    table, until = Path("/proc/net/udp"), monotonic() + 30
    while table.exists() and f":{port:04X} " not in table.read_text():
        assert monotonic() < until, "nobody came"
        sleep(0.001)


@pytest.mark.parametrize("promises", [False, True])
def test_a_query_over_loopback_is_answered_as_over_a_table(promises: bool) -> None:
    made = trades(20_000, seed=3, disorder="none" if promises else "band 20 s", rate=100)
    replay = Rearranged("time", wr_disorder("band 20 s"), 5_000_000, seed=4) if promises else None
    progress = wr.punctuated() if promises else wr.slack("20 s")
    port, schema = (
        free_port(),
        pa.schema([(f.name, pa.string() if f.name == "symbol" else f.type) for f in made.schema]),
    )
    types = "types=s4,i4,i4,t8us"

    def query(data: Any, progress: Any) -> wr.Query:
        stream = wr.stream(data, time="time", progress=progress, schema=schema if isinstance(data, str) else None)
        windows = stream.where("price > 100").group_by("symbol").window(range="60 s", slide="20 s")
        return windows.agg(n=wr.count(), most=wr.max("price"), traded=wr.sum("volume"))

    run = query(f"udp://127.0.0.1:{port}?{types}&frames=packed", progress).start(engine="local")
    wait_for(port)
    with closing(DatagramWriter(f"udp://127.0.0.1:{port}?{types}", schema)) as writer:
        for element in replay.elements(made.batches()) if replay else made.batches():
            writer.punctuation(element) if isinstance(element, int) else writer.rows(element)
        writer.end()
    found = pa.Table.from_batches(list(run))
    expected = query(made.table(), wr.slack("20 s")).collect(engine="local")
    names = expected.schema.names
    assert sorted(map(str, expected.to_pylist())) == sorted(map(str, found.select(names).to_pylist()))
    assert (0, 0) == (run.metrics.datagrams_lost, run.metrics.rows_late)


def wr_disorder(text: str) -> Any:
    from windrow.generate import parse_disorder

    return parse_disorder(text)


@pytest.mark.parametrize("threads", [1, 2])
def test_stopping_while_nothing_comes_frees_the_port(threads: int) -> None:
    port = free_port()
    for _ in range(2):
        stream = wr.stream(f"udp://127.0.0.1:{port}?types={TYPES}", schema=SCHEMA, time="t", progress=wr.slack(5))
        run = stream.window(range=10).agg(n=wr.count()).start(engine="local", threads=threads)
        wait_for(port)
        run.stop()
        run.wait()


def test_a_reader_that_goes_on_counts_on() -> None:
    source = udp(f"types={TYPES}")
    with closing(source.open({"rows": 7, "lost": 3})) as reader, closing(writing(reader)) as writer:
        writer.rows(rows(5))
        writer.end()
        assert 5 == len(rows_of(given(reader)))
        assert {"rows": 12, "lost": 3} == reader.position
    with pytest.raises(
        SourceError, match=r"\A`trades` must be the stream that was read before, got datagrams at udp://"
    ):
        source.open({"rows": 7, "file": "a.csv"})


def test_what_the_source_says_of_itself() -> None:
    source = udp(f"types={TYPES}")
    assert source.is_live
    assert Delivery.AT_MOST_ONCE is source.delivery
    assert "datagrams at udp://127.0.0.1:0 (packed)" == source.describe()
    assert ["x", "k"] == source.select(["x", "k"]).schema.names
    with closing(source.until_now().open()) as reader:
        assert Sign.END is reader.poll(20.0)


def test_a_small_buffer_is_told(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("windrow.sources.datagrams.source.granted_by", lambda _: 1000)
    with caplog.at_level(logging.WARNING), reading():
        pass
    assert "the kernel gave 1,000 bytes of the 67,108,864 asked for: raise its limit" in caplog.text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("frames=xml", r"\A`frames` must be a known word \(one of bare, csv, json, packed, raw, tsv\), got xml\.\Z"),
        ("speed=9", r"\A`trades` has no option 'speed' \(one of frames, types, .*\), got udp://.*speed=9"),
        ("", r"\A`trades` must have columns of fixed width in packed frames; k is string\. Hint: say how wide text is"),
        ("types=s4,i4,i8&order=middle", r"\A`order` must be a known word \(one of big, little\), got middle\.\Z"),
        ("types=s4,i4,i8&buffer=much", r"\A`buffer` must be a size of 1 KB at least, got much\. Hint: write 64MB\.\Z"),
        ("types=s4,i4,i8&idle=5", r"\A`idle` must be a length of time, got 5\. Hint: write idle=5 s\.\Z"),
        ("frames=json&types=s4,i4,i8", r"\A`types` is for frames=packed and bare, not for json\.\Z"),
        ("frames=raw", r"\A`trades` must have one column of type STRING or BINARY for raw messages"),
    ],
)
def test_options_that_cannot_be_are_refused(options: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        udp(options)
    assert re.search(message, str(caught.value)), str(caught.value)


def test_a_stream_without_columns_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"\A`s` must have declared columns, because datagrams do not name"):
        open_source("udp://127.0.0.1:9000", name="s")
    with pytest.raises(ConfigurationError, match=r"\A`trades` must name a host and a port"):
        open_source("udp://nowhere", name="trades", schema=SCHEMA)


def test_a_port_that_is_taken_and_a_host_that_is_none_are_refused() -> None:
    with reading() as reader:
        taken = udp(f"types={TYPES}", reader.port)
        message = r"\A`trades` must be an address that can be listened at \(address already in use\), got udp://127"
        with pytest.raises(SourceError, match=message):
            taken.open()
    with pytest.raises(
        SourceError, match=r"\A`trades` must name a host that is known \(.+\), got udp://no\.such\.host"
    ):
        udp(f"types={TYPES}", 9000, "no.such.host.invalid").open()
    with pytest.raises(SourceError, match=r"\A`trades` must be an address that can be listened at \(cannot assign"):
        udp(f"types={TYPES}", 9000, "192.0.2.1").open()
