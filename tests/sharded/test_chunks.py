"""State in chunks comes back whole, in whatever order an operator keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.engines.local.answers.test_oracle import SCHEMA, STREAM
from tests.saved import whole_tables
from tests.sharded.kept_chunks import Kept
from tests.strategies import comparable
from windrow.errors import ConfigurationError
from windrow.operators.base import Batch
from windrow.pipeline.build import build
from windrow.plan.checks.joins import joined_names
from windrow.plan.nodes import AggregateCall, Join, Strategy, WindowAggregate
from windrow.semantics.joins import Between, JoinKind
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, SlideByTuple, Sliding, Window
from windrow.sharded.chunks import Known, digest, load, save
from windrow.sharded.task_progress import Progress, Sighting

NAMES = joined_names([SCHEMA, SCHEMA], ("a", "b"))
WINDOWS = (
    RowsWindow(20, 2, ("k",)),
    RowsWindow(20, 2, ("k",), "ts"),
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
    for stage in pipeline.stages:
        store = Kept()
        save(stage.operator.state(), {}, store)
        found, _ = load(iter(store.chunks.items()))
        assert {name: table.to_pylist() for name, table in whole_tables(stage.operator.state()).items()} == {
            name: table.to_pylist() for name, table in found.items()
        }


def test_a_batch_writes_the_pieces_of_a_join_that_it_changed() -> None:
    plan = Join(STREAM, STREAM, JoinKind.INNER, Between(-50_000, 50_000), None, NAMES, ("a", "b"))
    pipeline = build(plan)
    left = Kept()
    known: Known = {}
    for start in range(0, 40_000, 10_000):
        rows = [{"ts": start + i, "k": "a", "x": i} for i in range(10_000)]
        pipeline.feed(pipeline.entries[0], Batch.unread(pa.RecordBatch.from_pylist(rows, SCHEMA)))
        before = dict(left.chunks)
        known = save({"join 1/left": pipeline.stages[0].operator.state()["left"]}, known, left)
    changed = {key for key, body in left.chunks.items() if body != before.get(key)}
    assert [0, 1, 2, 3, 4] == sorted(number for _, number, _, _ in left.chunks)
    assert [3, 4] == sorted(number for _, number, _, _ in changed)
    found, _ = load(iter(left.chunks.items()))
    assert list(range(40_000)) == found["join 1/left"]["place"].to_pylist()


@pytest.mark.parametrize("window", [Sliding("ts", 30, 30), Sliding("ts", 30, 10), Landmark("ts", 30)], ids=str)
def test_a_save_writes_little_where_little_changed(window: Window) -> None:
    """One group in a hundred, chosen by chance, again and again: patches, and now and then a chunk as a whole."""
    calls = AggregateCall("n", "count"), AggregateCall("m", "max", Column("x"))
    plan = WindowAggregate(STREAM, window, (("g", Column("g")),), calls, strategy=Strategy.PANES)
    pipeline, store, chance = build(plan), Kept(), np.random.default_rng(7)
    known: Known = {}
    sizes = []
    for number in range(80):
        groups = chance.choice(50_000, 500, replace=False) if number else np.arange(50_000)
        size = len(groups)
        columns: dict[str, Any] = {"ts": [5 if number else 25] * size, "g": groups, "x": chance.integers(0, 99, size)}
        batch = pa.RecordBatch.from_pydict({**columns, "k": ["a"] * size, "y": [0.0] * size}, schema=SCHEMA)
        pipeline.push("s", Batch.unread(batch))
        before = store.written
        known = save(pipeline.stages[-1].operator.state(), known, store)
        sizes.append(store.written - before)
    assert sum(sizes[1:]) / 79 < sizes[0] / 10
    assert [] == [one for table in known.values() for one in table.chunks.values() if one.patches > 64]
    found, expected = load(store.chunks.items())[0], whole_tables(pipeline.stages[-1].operator.state())
    for name in expected:
        assert comparable(expected[name].to_pylist()) == comparable(found[name].to_pylist())


def test_state_that_has_changed_is_refused() -> None:
    """Before Arrow sees it, whatever bit it was, and under another key as well."""
    kept = Kept()
    store, known = kept.chunks, save({"a": pa.table({"x": [1, 2, 3]}), "b": pa.table({"x": [4]})}, {}, kept)
    assert digest(known) == digest(load(iter(store.items()))[1])
    body = store["a", 0, 0, 0]
    message = (
        r"\A`checkpoint` must hold a whole checkpoint; the state 'a' has changed since it was written: its checksum "
        r"differs\. Hint: bring the folder back from a copy, or run the query from the start in an empty folder\.\Z"
    )
    flipped = [body[:i] + bytes([body[i] ^ 1 << i % 8]) + body[i + 1 :] for i in range(len(body))]
    for harmed in [*flipped, body[:-1], body[:9], b"", store["b", 0, 0, 0]]:
        with pytest.raises(ConfigurationError, match=message):
            load(iter([(("a", 0, 0, 0), harmed)]))
    del store["b", 0, 0, 0]
    assert digest(known) != digest(load(iter(store.items()))[1])


def test_rows_that_spark_skips_or_repeats_are_noticed() -> None:
    progress = Progress(read=50)
    progress.check([Sighting(order=70, first=70, last=75), Sighting(order=50, first=50, last=70)], "trades")
    progress.check([Sighting(rows=3)], "trades")  # rows of a DataFrame have no numbers
    message = r"\A`checkpoint` must hold .*; its state has 75 rows of trades, and Spark goes on behind 77\. Hint: .*\Z"
    with pytest.raises(ConfigurationError, match=message):
        progress.check([Sighting(order=77, first=77, last=97)], "trades")
