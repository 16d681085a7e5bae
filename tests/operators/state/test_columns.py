"""State columns that widen while others stay as they are."""

from __future__ import annotations

import statistics
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr

LEVEL = [1.0, 2.0, 4.0, 8.0, 0.5]
WILD = {
    "infinite": [1.0, float("inf"), 1.0, 1.0, 1.0],
    "huge": [1.0, 1e300, 1.0, 1.0, 1.0],
    "tiny": [1.0, 1.0, 1.0, 5e-324, 1.0],
}


@pytest.mark.parametrize("wild", WILD)
@pytest.mark.parametrize("batch_rows", [1, 10])
@pytest.mark.parametrize("strategy", ["panes", "wid", "buffer"])
def test_one_argument_widens_and_the_other_does_not(wild: str, batch_rows: int, strategy: str) -> None:
    columns: dict[str, Any] = {"t": [1, 2, 3, 4, 5], "level": LEVEL, "wild": WILD[wild]}
    for first, second in (("level", "wild"), ("wild", "level")):
        aggregates = {f"of_{name}": wr.variance(name) for name in (first, second)} | {"total": wr.sum("wild")}
        query = wr.stream(pa.table(columns), time="t").window(range=10).agg(**aggregates).strategy(strategy)
        row = query.run(batch_rows=batch_rows).table.to_pylist()[0]
        assert statistics.variance(LEVEL) == pytest.approx(row["of_level"], rel=1e-15)
        assert sum(WILD[wild]) == row["total"]


@pytest.mark.parametrize("batch_rows", [1, 10])
def test_a_sum_beside_a_variance(batch_rows: int) -> None:
    """The sum of one argument looks like that of the other until it widens."""
    columns: dict[str, Any] = {"t": [1, 2, 3, 4, 5], "level": LEVEL, "wild": WILD["huge"]}
    query = wr.stream(pa.table(columns), time="t").window(range=10).agg(v=wr.variance("level"), s=wr.sum("wild"))
    row = query.run(batch_rows=batch_rows).table.to_pylist()[0]
    assert statistics.variance(LEVEL) == pytest.approx(row["v"], rel=1e-15)
