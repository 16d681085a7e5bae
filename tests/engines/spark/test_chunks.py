"""State in chunks comes back whole, in whatever order an operator keeps it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.engines.local.test_oracle import SCHEMA, STREAM
from windrow.engines.build import build
from windrow.engines.spark.chunks import Key, load, save
from windrow.operators.base import Batch
from windrow.plan.nodes import AggregateCall, WindowAggregate
from windrow.semantics.expressions import Column
from windrow.semantics.windows import Rows, SlideByTuple, Sliding, Window


class Kept(dict[Key, bytes]):
    """Chunks in memory."""

    def put(self, key: Key, body: bytes) -> None:
        self[key] = body

    def remove(self, key: Key) -> None:
        del self[key]


WINDOWS = (
    Rows(20, 2, ("k",)),
    Rows(20, 2, ("k",), "ts"),
    SlideByTuple("ts", 30, partition=("k",)),
    Sliding("ts", 30, 10),
)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_state_comes_back_whole(window: Window) -> None:
    """The panes of key a are numbered on where those of key b have not come to."""
    calls = AggregateCall("n", "count"), AggregateCall("m", "median", Column("x"))
    plan = WindowAggregate(STREAM, window, (("k", Column("k")),), calls)
    pipeline = build(plan)
    rows = [{"ts": i, "k": "a" if i < 44 else "b", "x": i} for i in range(62)]
    pipeline.push("s", Batch.unread(pa.RecordBatch.from_pylist(rows, SCHEMA)))
    store = Kept()
    for stage in pipeline.stages:
        tables = stage.operator.state()
        save(tables, dict.fromkeys(store, b""), store)
        found, _ = load(iter(store.items()))
        assert {name: table.to_pylist() for name, table in tables.items()} == {
            name: table.to_pylist() for name, table in found.items()
        }
