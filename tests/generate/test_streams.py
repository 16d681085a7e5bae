from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.errors import ConfigurationError
from windrow.generate import GeneratedStream, Lull, Skewed, bids, packets, tasks, trades
from windrow.generate.kinds import symbol


class Make(Protocol):
    def __call__(self, rows: int, **settings: Any) -> GeneratedStream: ...


TEXT = pa.dictionary(pa.int32(), pa.string())
TIME = pa.timestamp("us", "UTC")
STREAMS: list[Any] = [trades, packets, bids, tasks]
SETTINGS: list[dict[str, Any]] = [
    {},
    {"disorder": "band 300 ms", "skew": "zipf 1.1"},
    {"disorder": "block 1 s", "skew": "groups 5", "sources": 3},
    {"disorder": Skewed(("0 s", "2 s"), (Lull("1 s", "3 s", source=1),)), "punctuations": True},
]


def column(stream: GeneratedStream, name: str) -> list[Any]:
    return stream.table()[name].to_pylist()


def test_schemas() -> None:
    assert pa.schema([("symbol", TEXT), ("price", pa.int64()), ("volume", pa.int64()), ("time", TIME)]) == (
        trades(1).schema
    )
    assert ["srcIP", "srcPort", "destIP", "destPort", "len", "ts"] == packets(1).schema.names
    assert ["auction", "bidder", "bid_price", "ts"] == bids(1).schema.names
    assert ["job", "task", "machine", "event", "cpu", "ram", "ts"] == tasks(1).schema.names
    assert ["source", "punctuation"] == bids(1, sources=2, punctuations=True).schema.names[-2:]


@pytest.mark.parametrize("make", STREAMS)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_same_settings_give_the_same_rows_in_any_batches(make: Make, settings: dict[str, Any]) -> None:
    stream = make(3000, seed=4, **settings)
    again = make(3000, seed=4, batch_rows=700, **settings)
    assert stream.table().to_pylist() == again.table().to_pylist()
    assert {700} == {batch.num_rows for batch in list(again)[:-1]}
    assert stream.schema == next(again.batches()).schema


def test_another_seed_gives_other_rows() -> None:
    assert column(trades(100), "time") != column(trades(100, seed=1), "time")


@pytest.mark.parametrize("disorder", ["band 3 s", "block 2 s"])
def test_disorder_changes_the_order_and_nothing_else(disorder: str) -> None:
    order: Any = [(name, "ascending") for name in ("time", "symbol", "price", "volume")]

    def rows(stream: GeneratedStream) -> pa.Table:
        table = stream.table()
        return table.set_column(0, "symbol", table["symbol"].cast(pa.string())).sort_by(order).combine_chunks()

    calm, wild = trades(200_000, rate=50_000), trades(200_000, rate=50_000, disorder=disorder)
    assert 0 == calm.disorder.late_fraction
    assert 0.9 < wild.disorder.late_fraction
    assert rows(calm).equals(rows(wild))


def test_measured_disorder_is_that_of_the_rows() -> None:
    stream = bids(5000, disorder="band 2 s", sources=2, punctuations=True)
    times = [t for t in column(stream, "ts") if t is not None]
    highs = [max(times[: at + 1]) for at in range(0, 5000, 500)]
    assert stream.disorder.max <= timedelta(seconds=2)
    assert stream.disorder.max >= max(high - times[at] for at, high in zip(range(0, 5000, 500), highs, strict=True))
    assert 5000 == stream.disorder.rows


def test_the_rate_is_kept() -> None:
    times = column(packets(20_000, rate=1000), "ts")
    assert 20 == pytest.approx((times[-1] - times[0]).total_seconds(), rel=0.05)
    assert datetime(2024, 1, 1, tzinfo=timezone.utc) <= times[0]


def test_nothing_happens_in_a_lull_of_the_stream() -> None:
    lulls = (Lull("5 s", "1 s"), Lull("2 s", "2 s"))
    start = datetime(2030, 5, 1, tzinfo=timezone.utc)
    times = column(trades(10_000, rate=1000, lulls=lulls, start="2030-05-01T02:00:00+02:00"), "time")
    offsets = [(time - start).total_seconds() for time in times]
    assert not [offset for offset in offsets if 2 <= offset < 4 or 5 <= offset < 6]
    assert [offset for offset in offsets if 4 <= offset < 5]
    assert 13 == pytest.approx(offsets[-1], rel=0.1)


def test_sources_run_behind_in_order() -> None:
    table = bids(4000, disorder="skewed 0 s, 1 s").table()
    for source in (0, 1):
        times: list[Any] = table.filter(pc.equal(table["source"], pa.scalar(source)))["ts"].to_pylist()
        assert times
        assert sorted(times) == times
    assert 1 == pytest.approx(bids(4000, disorder="skewed 0 s, 1 s").disorder.max.total_seconds(), rel=0.05)


def test_punctuation_rows_hold_nothing_else_and_data_rows_no_punctuation() -> None:
    stream = packets(10_000, rate=1000, disorder="band 500 ms", punctuations=True, every="2 s", sources=2)
    table = stream.table()
    marks = table.filter(pc.is_valid(table["punctuation"]))
    assert 10_000 == table.num_rows - marks.num_rows
    assert 4 == marks.num_rows
    assert {"punctuation"} == {name for name in marks.schema.names if marks[name].null_count < marks.num_rows}
    data = table.filter(pc.is_null(table["punctuation"]))
    assert {0} == {data[name].null_count for name in data.schema.names if name != "punctuation"}


def test_punctuations_never_lie() -> None:
    table = trades(5000, rate=1000, disorder="block 700 ms", punctuations=True, every="100 ms").table()
    times, marks = table["time"].to_pylist(), table["punctuation"].to_pylist()
    positions = [at for at, mark in enumerate(marks) if mark is not None]
    assert positions
    for at in positions:
        assert marks[at] == min(time for time in times[at:] if time is not None)


def test_few_keys_share_a_dictionary_and_many_have_their_own() -> None:
    few = list(trades(3000, keys=10, batch_rows=1000).batches())
    assert 1 == len({tuple(batch["symbol"].dictionary.to_pylist()) for batch in few})  # type: ignore[attr-defined]
    many = trades(3000, keys=10_000_000, batch_rows=1000).table()
    assert 2900 < len(set(many["symbol"].to_pylist()))


def test_symbols_never_repeat() -> None:
    assert 400_000 == len({symbol(key) for key in range(400_000)})


def test_no_rows() -> None:
    stream = trades(0, punctuations=True)
    assert [] == list(stream.batches())
    assert stream.schema == stream.table().schema
    assert 0 == stream.disorder.rows


@pytest.mark.parametrize(
    ("settings", "pattern"),
    [
        ({"rows": -1}, r"^`rows` must be a whole number from 0 on, got -1\. Hint: give 0 or more\.$"),
        ({"rows": 1.5}, r"^`rows` must be a whole number from 0 on, got 1\.5\. Hint: .*$"),
        ({"seed": -1}, r"^`seed` must be a whole number from 0 on, got -1\. Hint: .*$"),
        ({"sources": 0}, r"^`sources` must be a whole number from 1 on, got 0\. Hint: .*$"),
        ({"keys": 0}, r"^`keys` must be a whole number from 1 on, got 0\. Hint: .*$"),
        ({"batch_rows": 0}, r"^`batch_rows` must be a whole number from 1 on, got 0\. Hint: .*$"),
        ({"rate": 0}, r"^`rate` must be a positive number, got 0\. Hint: give a number like 1000\.$"),
        ({"every": "0 s"}, r"^`every` must be longer than no time, got 0 s\. Hint: write it like '3 s'\.$"),
        (
            {"start": "today"},
            r"^`start` must be a moment in ISO 8601, got today\. "
            r"Hint: write it like '2024-01-01' or '2024-01-01T09:30:00Z'\.$",
        ),
        (
            {"sources": 3, "disorder": "skewed 0 s, 1 s"},
            r"^`sources` must be 2, the number of `offsets` of the disorder, got 3\. "
            r"Hint: leave `sources` out, or give one offset a source\.$",
        ),
        (
            {"lulls": (Lull("1 s", "2 s"), Lull("2 s", "2 s"))},
            r"^`lulls` must not overlap, got Lull\(start='2 s', duration='2 s', source=0\)\. "
            r"Hint: join them into one longer lull\.$",
        ),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], pattern: str) -> None:
    with pytest.raises(ConfigurationError, match=pattern):
        trades(**{"rows": 10, **settings})
