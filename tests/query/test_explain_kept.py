"""What `explain` says of kept rows, by the rows that are at hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.local import kept_sample
from windrow.engines.local.options import LocalOptions
from windrow.engines.local.run import Runner
from windrow.operators.store import sealing
from windrow.query import Query

ROWS = 20_000
CHANCE = np.random.default_rng(1)
TABLE = pa.table(
    {
        "ts": pa.array(np.arange(ROWS) * 1000),
        "k": pa.array(CHANCE.integers(0, 7, ROWS)),
        "price": pa.array(np.round(CHANCE.normal(100, 1, ROWS), 2)),
    }
)


@pytest.fixture(autouse=True)
def usual_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks as they are outside of tests."""
    monkeypatch.setattr(sealing, "BLOCK_ROWS", 1024)
    monkeypatch.setattr(sealing, "LEAST_ROWS", 1 << 12)


def query(rows: int = ROWS, mode: str = "auto", window: int = 10**9, **asked: Any) -> Query:
    stream = wr.stream(TABLE.slice(0, rows), time="ts", progress=wr.slack(0), name="trades")
    asked = asked or {"m": wr.median("price")}
    return stream.group_by("k").window(range=window, slide=window // 10).compress(mode).agg(**asked)


def kept(text: str) -> list[str]:
    """The lines of the section."""
    _, found, rest = text.partition("\n\nKept rows\n")
    return rest.split("\n\n")[0].splitlines() if found else []


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_bytes_a_row_are_told_by_the_rows_that_are_there(engine: str) -> None:
    *lines, last = kept(query().explain(engine))
    sizes = {m[1]: float(m[2]) for line in lines if (m := re.match(r"- (.+): ([0-9.]+) bytes a row as \w+", line))}
    assert {"times", "groups", "price", "counts"} == sizes.keys()
    found = re.fullmatch(r"- in all (.+) bytes a row in blocks, exact, where plain numbers would take 20", last)
    assert found
    assert 0.2 < float(found[1]) < 4
    assert float(found[1]) == pytest.approx(sum(sizes.values()), abs=0.05)


def few() -> Iterator[Query]:
    yield query(1_000)
    yield query(mode="off")
    yield query(n=wr.count(), s=wr.sum("price"))
    yield wr.stream([], time="ts", schema=TABLE.schema).window(range=10, slide=5).agg(m=wr.median("price"))


def test_nothing_is_told_where_nothing_is_known_or_kept() -> None:
    assert [[]] * 4 == [kept(asked.explain("local")) for asked in few()]


def test_a_sample_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_sample, "SAMPLE", 1 << 13)
    assert kept(query().explain("local"))


def test_metrics_have_a_ratio_for_each_column() -> None:
    asked = query(window=10**12)
    runner = Runner(asked.plan, asked.sources, LocalOptions())
    for batch in TABLE.to_batches(max_chunksize=4_096):
        runner.feed("trades", batch)
    ratios = runner.metrics().kept_ratios
    assert {"times", "groups", "price", "counts"} == ratios.keys()
    assert ratios["price"] > 2
