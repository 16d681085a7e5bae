"""Partners are found in stores of many runs and segments, in chunks, on threads: against trying every pair."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from tests.operators.joins.cases import NAMES, PREDICATES, SCHEMAS, STREAMS, both, equal
from windrow.operators.base import Batch
from windrow.operators.joins import probing, results, runs, store
from windrow.operators.joins.operator import JoinOperator
from windrow.physical.how import How
from windrow.pipeline.build import build
from windrow.plan.checks.joins import usual_time
from windrow.plan.nodes import Join, JoinStrategy
from windrow.semantics.joins import LEFT, RIGHT, Between, JoinKind
from windrow.semantics.progress.policies import END, Punctuation

ROWS, SPREAD, BATCH = 1_500, 10_000, 150
Columns = dict[str, npt.NDArray[Any]]


@pytest.fixture(params=[(1, 16), (2, 2)], ids=["one thread", "two threads, many runs"])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Limits so small that few rows reach every path."""
    monkeypatch.setattr(runs, "CHUNK", 700)
    monkeypatch.setattr(results, "ROWS", 1_000)
    monkeypatch.setattr(store, "ROWS", 64)
    monkeypatch.setattr(probing, "_IN_CACHE", 500)
    monkeypatch.setattr(probing, "_WORTHWHILE", 100)
    threads, many = request.param
    monkeypatch.setattr(probing, "_MANY", many)
    return int(threads)


def columns(seed: int) -> Columns:
    chance = np.random.default_rng(seed)
    return {
        "ts": np.sort(chance.integers(0, SPREAD, ROWS)) + chance.integers(-300, 300, ROWS),
        "k": chance.integers(0, 40, ROWS).astype(str),
        "g": chance.integers(0, 30, ROWS),
        "x": chance.integers(-60, 60, ROWS),
        "y": chance.normal(0, 20, ROWS).astype(np.float32).astype(np.float64),
    }


def held(name: str, left: Columns, right: Columns) -> npt.NDArray[np.bool_]:
    """The predicate on every pair, as a matrix."""
    a, b = ({key: side[key].reshape(shape) for key in side} for side, shape in ((left, (-1, 1)), (right, (1, -1))))
    tests: dict[str, Any] = {
        "none": lambda: np.ones((ROWS, ROWS), np.bool_),
        "text": lambda: a["k"] == b["k"],
        "numbers of two types": lambda: a["g"] == b["g"],
        "two keys": lambda: (a["k"] == b["k"]) & (a["g"] == b["g"]),
        "band of whole numbers": lambda: (a["x"] >= b["x"] - 2) & (a["x"] <= b["x"] + 3),
        "band of floats": lambda: (a["y"] > b["y"] - 0.5) & (a["y"] < b["y"] + 1),
        "two bands": lambda: (abs(a["x"] - b["x"]) <= 2) & (b["y"] >= a["y"] - 1.0) & (b["y"] <= a["y"] + 1.0),
        "three bands": lambda: (abs(a["x"] - b["x"]) <= 3) & (abs(a["g"] - b["g"]) <= 1) & near(a["y"], b["y"], 2),
        "key and two bands": lambda: (a["g"] == b["g"]) & (abs(a["x"] - b["x"]) <= 2) & near(a["y"], b["y"], 1),
        "rest": lambda: a["x"] + b["x"] > 1,
    }
    found: npt.NDArray[np.bool_] = tests[name]()
    return found


def near(left: Any, right: Any, distance: float) -> Any:
    return (left >= right - distance) & (left <= right + distance)


def batches(found: Columns, side: int) -> Iterator[Batch]:
    for start in range(0, ROWS, BATCH):
        part = {name: values[start : start + BATCH] for name, values in found.items()}
        data = pa.record_batch(
            [pa.array(part[f.name].tolist()).cast(f.type) for f in SCHEMAS[side]], schema=SCHEMAS[side]
        )
        yield Batch(data, part["ts"], None, ("one", "two")[side])


SOME = ("text", "numbers of two types", "two keys", "band of whole numbers", "band of floats", "two bands")
MORE = ("three bands", "key and two bands", "rest", "none")


@pytest.mark.parametrize("name", [*SOME, *MORE])
@pytest.mark.parametrize("kind", [JoinKind.INNER, JoinKind.FULL, JoinKind.SEMI])
def test_every_pair_is_found_once(threads: int, name: str, kind: JoinKind) -> None:
    window = Between(-400, 900) if name not in ("none", "rest") else Between(-20, 30)
    plan = Join(*STREAMS, kind, window, PREDICATES[name], NAMES, ("l", "r"), usual_time(kind))
    way = JoinStrategy.SCAN if name in ("none", "rest") else JoinStrategy.INDEX
    operator = build(replace(plan, strategy=way), how=How(threads=threads)).stages[0].operator
    assert isinstance(operator, JoinOperator)
    left, right = columns(1), columns(2)
    given: list[pa.RecordBatch] = []
    high = 0
    for one, other in zip(batches(left, LEFT), batches(right, RIGHT), strict=True):
        for side, batch in ((LEFT, one), (RIGHT, other)):
            given += [e.data for e in operator.process(batch, side) if isinstance(e, Batch)]
        high = max(high, int(one.times.max()), int(other.times.max()))
        for side in (LEFT, RIGHT):
            given += [e.data for e in operator.punctuate(Punctuation(high - 2_000), side) if isinstance(e, Batch)]
    for side in (LEFT, RIGHT):
        given += [e.data for e in operator.punctuate(Punctuation(END), side) if isinstance(e, Batch)]
    assert operator.counters.late == 0
    assert counted(pa.Table.from_batches(given), kind) == expected(name, window, kind, left, right)
    assert max(map(len, given)) <= 2_500


def expected(name: str, window: Between, kind: JoinKind, left: Columns, right: Columns) -> list[Any]:
    apart = right["ts"].reshape(1, -1) - left["ts"].reshape(-1, 1)
    pairs = held(name, left, right) & (apart >= window.low) & (apart <= window.high)
    rows, others = np.nonzero(pairs)
    if kind is JoinKind.SEMI:
        return sorted(left["ts"][np.unique(rows)].tolist())
    found: list[Any] = list(zip(left["ts"][rows].tolist(), right["ts"][others].tolist(), strict=True))
    if kind is JoinKind.FULL:
        found += [(t, END) for t in left["ts"][~pairs.any(axis=1)].tolist()]
        found += [(END, t) for t in right["ts"][~pairs.any(axis=0)].tolist()]
    return sorted(found)


def counted(table: Any, kind: JoinKind) -> list[Any]:
    columns: Any = [table[name].fill_null(END).to_pylist() for name in ("l_ts", "r_ts") if name in table.column_names]
    return sorted(columns[0]) if kind is JoinKind.SEMI else sorted(zip(*columns, strict=True))


def test_a_frequent_key_does_not_hide_others(threads: int) -> None:
    """Rows of one key fill whole chunks; the chunk after goes on within that key."""
    plan = Join(*STREAMS, JoinKind.INNER, Between(-10, 10), both(equal("g"), equal("k")), NAMES, ("l", "r"))
    operator = build(plan, how=How(threads=threads)).stages[0].operator
    sizes = 0
    for side in (LEFT, RIGHT):
        rows = [{"ts": i % 5, "k": "a" if i % 10 else "b", "g": 1, "x": i, "y": 0.0} for i in range(200)]
        data = pa.Table.from_pylist(rows, schema=SCHEMAS[side]).combine_chunks().to_batches()[0]
        batch = Batch(data, np.array([row["ts"] for row in rows]))
        sizes += sum(len(e) for e in operator.process(batch, side) if isinstance(e, Batch))
    assert sizes == 180 * 180 + 20 * 20
