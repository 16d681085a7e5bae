"""Threads make it faster, not different."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr

SIZE = 300_000
random = np.random.default_rng(5)
COLUMNS: dict[str, Any] = {
    "t": np.arange(SIZE) // 100 - random.integers(0, 30, SIZE),
    "k": pa.array(random.integers(0, 50, SIZE)).cast(pa.string()),
    "x": pa.array(random.integers(-(1 << 40), 1 << 40, SIZE), mask=random.random(SIZE) < 0.1),
    "y": np.exp(random.normal(0, 80, SIZE)),
}
DATA = pa.table(COLUMNS)
AGGREGATES = {
    "n": wr.count(),
    "total": wr.sum("x"),
    "exact": wr.sum("y"),
    "spread": wr.stddev("y"),
    "most": wr.max("y"),
    "last": wr.last("x"),
}


def in_any_order(late: pa.Table) -> list[str]:
    """Of late rows that came together, each thread gives its own."""
    return sorted(map(repr, late.to_pylist()))


@pytest.mark.parametrize("keys", [(), ("k",)])
@pytest.mark.parametrize("window", [{"range": 300, "slide": 100}, {"range": "unbounded", "slide": 500}, {"gap": 2}])
def test_any_number_of_threads(window: dict[str, Any], keys: tuple[str, ...]) -> None:
    data = DATA.slice(0, SIZE // 6) if "gap" in window else DATA
    stream = wr.stream(data, time="t", progress=wr.slack(20)).where("x IS NULL OR x > 0")
    query = stream.group_by(*keys).window(**window).agg(**AGGREGATES).late("side")
    one, two = (query.run(threads=threads) for threads in (1, 2))
    assert one.table.num_rows > 0
    assert one.table.equals(two.table)
    assert in_any_order(one.late) == in_any_order(two.late)
    assert (one.metrics.rows_used, one.metrics.rows_late) == (two.metrics.rows_used, two.metrics.rows_late)


@pytest.mark.parametrize("threads", [0, -1])
def test_threads_are_counted_from_one(threads: int) -> None:
    with pytest.raises(
        wr.ConfigurationError, match=rf"\A`threads` must be a whole number of at least 1, got {threads}\.\Z"
    ):
        wr.stream(DATA, time="t").window(range=10).agg(n=wr.count()).run(threads=threads)


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (4, 2), (2, 4)])
def test_a_checkpoint_is_of_no_number_of_threads(tmp_path: Path, before: int, after: int) -> None:
    """Groups stay divided as they were when it was written."""
    rows, half = DATA.slice(0, SIZE // 10), SIZE // 20

    def broken() -> Iterator[pa.Table]:
        yield rows.slice(0, half)
        raise OSError("the cable is gone")

    def query(data: Any) -> wr.Query:
        stream = wr.stream(data, time="t", progress=wr.slack(20), schema=rows.schema, name="s")
        return stream.group_by("k").window(range=300, slide=100).agg(**AGGREGATES, middle=wr.median("x")).late("drop")

    options: dict[str, Any] = {"checkpoint": str(tmp_path), "checkpoint_every": 1000}
    with pytest.raises(OSError, match=r"the cable is gone"):
        query(broken()).run(threads=before, **options)
    again = query(iter(rows.to_batches(max_chunksize=999))).run(threads=after, restore=True, **options)
    whole = query(rows).run()
    assert whole.table.equals(again.table)
    assert (whole.metrics.rows_used, whole.metrics.rows_late) == (again.metrics.rows_used, again.metrics.rows_late)


@pytest.mark.parametrize("window", [{"range": 40, "slide": "1 row", "partition": "k"}, {"range": 40, "slide": 20}])
def test_windows_that_are_complete_look_at_the_first_row_of_all_groups(window: dict[str, Any]) -> None:
    rows = pa.table({"t": list(range(300)), "k": [f"g{i % 5}" for i in range(300)]})
    query = wr.stream(rows, time="t", progress=wr.ordered()).window(**window).agg(n=wr.count()).emit("complete")
    assert query.collect(threads=1).equals(query.collect(threads=4))
