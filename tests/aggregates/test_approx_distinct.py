"""approx_distinct: near the truth, the same as the oracle whatever the way, and narrow wherever its state is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow as wr
from tests.strategies import AggregateCall, comparable
from windrow.aggregates.approx_distinct import HyperLogLog, estimates
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.partials import PaneAggregate, Partials
from windrow.operators.base import Batch
from windrow.operators.state.hashes import hashes
from windrow.operators.windows.panes import PanedWid
from windrow.physical.pane_cells import why_not_partial
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall as Asked
from windrow.plan.nodes import Stream, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.oracle.sketch import RARITY, approximate, precision_for
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

COLUMNS: dict[str, pa.DataType] = {"t": pa.int64(), "k": pa.string(), "x": pa.float64(), "w": pa.string()}
SCHEMA = pa.schema(COLUMNS)
X = Column("x")


def sketched(values: Any, precision: int) -> int:
    """The estimate for some values, all at once."""
    registers = np.zeros(1 << precision, np.uint8)
    places, numbers = HyperLogLog(precision).lift(hashes(values))
    np.maximum.at(registers, places.astype(np.int64), numbers.astype(np.uint8))
    return int(estimates(np.bincount(registers, minlength=RARITY + 2)[None], len(registers))[0])


@pytest.mark.parametrize("error", [0.2, 0.1, 0.02, 0.005])
def test_the_error_is_the_one_asked_for(error: float) -> None:
    """Over many cardinalities and 40 sets each: unbiased, and as near as the standard error says."""
    for size in (1, 10, 100, 1000, 3000, 10_000, 30_000, 100_000):
        sets = (np.arange(seed * size, (seed + 1) * size) for seed in range(40))
        found = np.array([sketched(pa.array(values), precision_for(error)) for values in sets]) / size - 1
        assert error * 1.5 > np.sqrt(np.mean(found**2))
        assert error > abs(found.mean())


@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_few_values_are_counted_almost_exactly(size: int) -> None:
    texts = [f"user {i}" for i in range(size)]
    assert abs(sketched(pa.array(texts, pa.string()), 12) - size) <= size // 30
    assert approximate(texts, 0.02) == sketched(pa.array(texts, pa.string()), 12)


# Every way to the answer


def rows(seed: str, size: int = 400) -> list[dict[str, Any]]:
    """Disordered rows with NULLs, NaN and both zeros, some of them many times."""
    chance = random.Random(seed)
    values = [None, float("nan"), 0.0, -0.0, *(float(i) for i in range(60))]
    return [
        {
            "t": max(0, i + chance.randrange(-20, 1)),
            "k": chance.choice("abc"),
            "x": chance.choice(values),
            "w": chance.choice((None, "", "u", "v", f"w{chance.randrange(99)}")),
        }
        for i in range(size)
    ]


CALLS = [
    AggregateCall("a", "approx_distinct", X),
    AggregateCall("b", "approx_distinct", X, (0.1,)),
    AggregateCall("c", "approx_distinct", Column("w"), (0.2,)),
    AggregateCall("n", "count", X),
    AggregateCall("m", "max", X),
]
SPECS = {
    "a": wr.approx_distinct("x"),
    "b": wr.approx_distinct("x", 0.1),
    "c": wr.approx_distinct("w", 0.2),
    "n": wr.count("x"),
    "m": wr.max("x"),
}
WINDOWS: dict[str, tuple[Window, dict[str, Any], tuple[str, ...]]] = {
    "sliding": (Sliding("t", 40, 15), {"range": 40, "slide": 15}, ("panes", "wid", "adaptive", "buffer")),
    "tumbling": (Sliding("t", 30, 30), {"range": 30}, ("panes", "wid", "adaptive", "buffer")),
    "landmark": (Landmark("t", 50), {"range": "unbounded", "slide": 50}, ("panes", "buffer")),
    "session": (Session("t", 1), {"gap": 1}, ("auto",)),
    "each row": (SlideByTuple("t", 30, 1), {"range": 30, "slide": "1 row"}, ("auto",)),
}


@pytest.mark.parametrize("batch_rows", [1, 37, 1000])
@pytest.mark.parametrize(("window", "strategy"), [(name, how) for name, of in WINDOWS.items() for how in of[2]])
def test_the_same_answer_by_every_way(window: str, strategy: str, batch_rows: int) -> None:
    given = rows(window)
    kind, settings, _ = WINDOWS[window]
    expected = oracle.answer(given, kind, keys=(("k", Column("k")),), aggregates=CALLS).results
    query = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="t").group_by("k").window(**settings).agg(**SPECS)
    found = query.strategy(strategy).collect(engine="local", batch_rows=batch_rows)
    assert pa.int64() == found.schema.field("a").type
    assert comparable(expected) == comparable(found.to_pylist())


def test_last_rows() -> None:
    given = rows("last rows")
    expected = oracle.answer(given, RowsWindow(20, 7), aggregates=CALLS).results
    query = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="t").window(range="20 rows", slide="7 rows")
    for batch_rows in (1, 64):
        found = query.agg(**SPECS).collect(engine="local", batch_rows=batch_rows).to_pylist()
        assert comparable(expected) == comparable(found)


def test_late_rows_correct_it() -> None:
    """With corrections in, the answer is that of all rows."""
    given = rows("late", 200)
    whole = oracle.answer(given, Sliding("t", 40, 20), aggregates=CALLS).results
    stream = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="t", progress=wr.slack(2))
    asked = stream.window(range=40, slide=20).agg(**SPECS).late("revise", within=1000)
    last = {row["window_end"]: row for row in asked.collect(engine="local", batch_rows=9).to_pylist()}
    names = ("window_end", *SPECS)
    assert comparable({n: row[n] for n in names} for row in whole) == comparable(
        {n: row[n] for n in names} for row in last.values()
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_smoothing(threads: int) -> None:
    given = rows("threads", 1000)
    expected = oracle.answer(given, Sliding("t", 40, 20), keys=(("k", Column("k")),), aggregates=CALLS).results
    query = wr.stream(pa.Table.from_pylist(given, SCHEMA), time="t").group_by("k").window(range=40, slide=20)
    for flush in ("eager", "slow", "lazy"):
        found = query.agg(**SPECS).collect(engine="local", threads=threads, flush=flush).to_pylist()
        assert comparable(expected) == comparable(found)


def test_sql() -> None:
    data = pa.table({"t": [1, 2, 3], "x": ["a", "b", None]})
    text = "SELECT approx_distinct(x) AS a, approx_count_distinct(x, 0.1) AS b FROM s [RANGE 10 WATTR t]"
    (row,) = wr.sql(text, s=wr.stream(data, time="t")).collect(engine="local").to_pylist()
    assert (2, 2) == (row["a"], row["b"])


# Its state


def node(*calls: Asked) -> WindowAggregate:
    return WindowAggregate(Stream("s", SCHEMA, "t"), Sliding("t", 40, 20), (("k", Column("k")),), calls)


def filled(size: int) -> tuple[PaneAggregate, WindowAggregate]:
    asked = node(Asked("a", "approx_distinct", X))
    panes = PaneAggregate(asked, shape_of(asked.input))
    data = pa.record_batch(
        {
            "t": pa.array(np.arange(size) % 20),
            "k": pa.array(["a"] * size),
            "x": pa.array(np.arange(size) * 1.0),
            "w": pa.nulls(size, pa.string()),
        },
        schema=SCHEMA,
    )
    panes.add(Batch(data, np.asarray(data.column("t"))))
    return panes, asked


def arrays(state: PanedWid) -> Iterator[np.ndarray[Any, Any]]:
    yield from state.cells.state.matrices.values()
    yield from state.timeline.cells.matrices.values()
    yield from (stacks.suffix for stacks in state.timeline.stacks.values())


def test_registers_are_bytes_wherever_they_are() -> None:
    asked = node(Asked("a", "approx_distinct", X))
    windower = PanedWid(Sliding("t", 40, 20), Grouping(asked, shape_of(asked.input)).plan)
    assert {(np.dtype(np.int64), 1), (np.dtype(np.uint8), 4096)} == {(a.dtype, a.shape[1]) for a in arrays(windower)}


@pytest.mark.parametrize(("size", "most"), [(0, 0), (3, 12), (1000, 4096), (100_000, 4096)])
def test_panes_are_made_before_the_shuffle_and_sent_narrow(size: int, most: int) -> None:
    panes, asked = filled(size)
    assert why_not_partial(asked) is None
    taken = panes.take()
    if taken is None:
        assert 0 == size
        return
    batch = taken.to_batch()
    assert most >= max(len(registers or b"") for registers in batch.column("byte4096").to_pylist())
    again = Partials.from_batch(batch)
    for kind, matrix in taken.state.matrices.items():
        assert np.array_equal(matrix, again.state.matrices[kind])


# What is refused


@pytest.mark.parametrize("error", [0, 0.004, 0.21, True, "x"])
def test_errors_out_of_reach_are_refused(error: Any) -> None:
    query = wr.stream(pa.table({"t": [1], "x": [1]}), time="t").window(range=5)
    with pytest.raises(
        wr.QueryError, match=r"\A`error` of approx_distinct must be between 0\.005 and 0\.2, got .*\.\Z"
    ):
        query.agg(a=wr.aggregate("approx_distinct", "x", error)).run()


def test_more_than_an_error_is_refused() -> None:
    query = wr.stream(pa.table({"t": [1], "x": [1]}), time="t").window(range=5)
    pattern = r"\A`approx_distinct` takes 1 parameter\(s\) besides its column, got 2\. Hint: write .*\.\Z"
    with pytest.raises(wr.QueryError, match=pattern):
        query.agg(a=wr.aggregate("approx_distinct", "x", 0.1, 2)).run()
