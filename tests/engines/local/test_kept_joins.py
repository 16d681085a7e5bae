"""Joins whose rows are kept small go on from checkpoints, and keep within memory: the answer is always the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.engines.local.test_checkpoint import interrupted, uninterrupted
from windrow.aggregates.kinds.arrays import tabled
from windrow.engines.local import LocalOptions, Metrics
from windrow.engines.local.run import Runner
from windrow.operators.joins import store
from windrow.operators.store import sealed_array, sealing
from windrow.query import Query

pytestmark = pytest.mark.usefixtures("every_checkpoint")

ASKED = {
    "inner": "SELECT a.k, a.x, b.x AS y, a.t FROM a, b WHERE a.k = b.k AND b.t BETWEEN a.t - 40 AND a.t + 30",
    "outer": "SELECT a.k, a.x, b.x AS y FROM a FULL JOIN b ON a.k = b.k AND b.t BETWEEN a.t - 40 AND a.t + 30",
    "anti": "SELECT a.k, a.x FROM a ANTI JOIN b ON a.x = b.x AND b.t BETWEEN a.t - 4 AND a.t + 3",
    "as of": "SELECT a.k, a.x, b.x AS y, b.t FROM a ASOF LEFT JOIN b ON a.k = b.k AND a.t >= b.t",
    "by arrival": "SELECT a.k, a.x, b.x AS y FROM a [RANGE 50 ROWS], b [RANGE 50 ROWS] WHERE a.k = b.k",
    "wide": "SELECT a.x AS one, b.x AS other, a.price AS asked, b.price FROM a, b "
    "WHERE a.k = b.k AND a.x = b.x AND a.price = b.price AND b.t BETWEEN a.t - 50000 AND a.t",
    "chain": "SELECT a.k, a.x, b.x AS y FROM a, b WHERE a.k = b.k AND b.t BETWEEN a.t - 9 AND a.t STRATEGY handshake",
}


def rows(size: int, seed: int) -> pa.Table:
    chance = np.random.default_rng(seed)
    late = chance.integers(0, 12, size)
    prices: Any = pa.array(chance.integers(0, 999, size) / 100, mask=chance.random(size) < 0.1)
    data = tabled(t=np.arange(size) - late, x=chance.integers(0, 50, size))
    names = pa.array([f"key {i}" for i in chance.integers(0, 4, size)])
    return data.append_column("price", prices).append_column("k", names)


def query(name: str, mode: str, size: int = 240) -> Query:
    slacks = {"a": 30 if name == "as of" else 9, "b": 9}
    streams = {
        stream: wr.stream(rows(size, seed), time="t", progress=wr.slack(slack), name=stream)
        for seed, (stream, slack) in enumerate(slacks.items())
    }
    return wr.sql(f"{ASKED[name]} COMPRESS {mode}", **streams)


@pytest.mark.parametrize("mode", ["auto", "blocks"])
@pytest.mark.parametrize("name", [name for name in ASKED if name != "wide"])
def test_joins_go_on(name: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "ROWS", 16)
    asked = query(name, mode)
    found = interrupted(asked, 50, tmp_path, [7, 3, 12])
    assert uninterrupted(asked, 50) == found
    results, late, _ = uninterrupted(query(name, "off"), 50)
    assert (results, late) == found[:2]
    assert results


def ran(asked: Query, **options: Any) -> Metrics:
    runner = Runner(asked.plan, asked.sources, LocalOptions(**options))
    most = Metrics()
    for batches in zip(*(rows(60_000, seed).to_batches(max_chunksize=5000) for seed in (0, 1)), strict=True):
        for stream, batch in zip("ab", batches, strict=True):
            runner.feed(stream, batch)
        found = runner.metrics()
        most = found if found.rows_kept >= most.rows_kept else most
    assert found.results > 0
    most.results = found.results
    return most


@pytest.mark.parametrize("mode", ["auto", "blocks"])
def test_what_is_beyond_memory_goes_to_the_disk(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"BLOCK_ROWS": 1024, "LEAST_ROWS": 4096}.items():
        monkeypatch.setattr(sealing, name, value)
    monkeypatch.setattr(sealed_array, "WORTH", 1.0)
    most = ran(query("wide", mode, size=10), memory=1 << 20)
    plain = ran(query("wide", "off", size=10))
    assert most.results == plain.results
    assert most.spilled_bytes > 0
    assert most.kept_bytes < most.raw_bytes
    assert most.cache_hits + most.cache_misses > 0
    assert (0, 0) == (plain.rows_kept, plain.spilled_bytes)
    assert most.rows_kept == most.rows_stored


def test_joins_that_keep_rows_as_they_are_cannot_put_them_on_the_disk() -> None:
    with pytest.raises(wr.ConfigurationError, match=r"^`memory` needs kept rows in blocks, got COMPRESS off."):
        ran(query("wide", "off", size=10), memory="2 MB")
