"""Windows of rows equal the oracle: any partition, groups, aggregates, disorder, batch split; restored anywhere."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import gcd, prod
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import SCHEMA, STREAM, approximately
from tests.saved import whole_tables
from windrow.aggregates import UserAggregate, register
from windrow.errors import DataError, SumOverflowError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch, Element, LateRows
from windrow.operators.input.input import Input
from windrow.operators.windows.rows import counted_rows
from windrow.operators.windows.rows import last_rows as row_windows
from windrow.physical.planner import choose
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, Late, Lateness, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, External, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, RowsWindow

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []

PARTITIONS = st.sampled_from(((), (), ("k",), ("k",), ("g",), ("k", "g"), ("y",)))
LENGTHS = st.one_of(st.integers(1, 4), st.integers(1, 12))
WINDOWS = st.builds(RowsWindow, LENGTHS, LENGTHS, PARTITIONS, st.sampled_from((None, "ts")))
EMITS = st.sampled_from((Emit.NONEMPTY, Emit.NONEMPTY, Emit.EMPTY, Emit.COMPLETE))


def keys_of(window: RowsWindow, more: Sequence[str]) -> tuple[tuple[str, Column], ...]:
    """The partition's columns and others, in any order: groups may be the partitions, or finer."""
    return tuple((name, Column(name)) for name in dict.fromkeys((*more, *window.partition)))


@dataclass
class Driven:
    """An operator with its input, fed element by element, put away and brought back where asked."""

    node: WindowAggregate
    results: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    promises: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operator = self._fresh()

    def _fresh(self) -> WindowAggregateOperator:
        return WindowAggregateOperator(self.node, shape_of(self.node.input), shape_of(self.node), choose(self.node))

    def replace(self) -> None:
        tables = whole_tables(self.operator.state())
        self.operator = self._fresh()
        self.operator.restore(tables)

    def feed(self, element: Batch | Punctuation) -> None:
        take = self.operator.process if isinstance(element, Batch) else self.operator.punctuate
        self.note(take(element))  # type: ignore[arg-type]

    def note(self, given: Iterable[Element]) -> None:
        for element in given:
            if isinstance(element, LateRows):
                self.late += element.data.to_pylist()
            elif isinstance(element, Batch):
                assert element.times.tolist() == element.data.column("window_end").to_pylist()
                assert all(end >= promise for end in element.times.tolist() for promise in self.promises)
                self.results += element.data.to_pylist()
            elif isinstance(element, Punctuation):
                self.promises.append(element.value)


def drive(node: WindowAggregate, elements: Sequence[Any], cuts: set[int], *, restored: bool = False) -> Driven:
    driven = Driven(node)
    source = Input("s", "ts", External())
    rows: list[dict[str, Any]] = []

    def flush() -> None:
        if rows:
            for element in source.process(Batch.unread(pa.RecordBatch.from_pylist(rows, SCHEMA))):
                driven.feed(element)  # type: ignore[arg-type]
            rows.clear()

    for i, element in enumerate([*elements, Punctuation(END)]):
        if isinstance(element, Punctuation) or i in cuts:
            flush()
        if restored:
            driven.replace()
        if isinstance(element, Punctuation):
            driven.feed(element)
        else:
            rows.append(element)
    return driven


def check(node: WindowAggregate, elements: Sequence[Any], cuts: set[int], *, restored: bool = False) -> None:
    def answer() -> oracle.OracleAnswer:
        settings: dict[str, Any] = {"keys": node.keys, "aggregates": node.aggregates, "emit": node.emit}
        return oracle.answer(elements, node.window, late="side", lateness=node.lateness.value, **settings)

    try:
        expected = answer()
    except SumOverflowError:
        with pytest.raises(SumOverflowError):
            drive(node, elements, cuts, restored=restored)
        return
    driven = drive(node, elements, cuts, restored=restored)
    wanted, found = approximately(expected.results, node.aggregates), approximately(driven.results, node.aggregates)
    assert streams.comparable(wanted) == streams.comparable(found)
    counters = driven.operator.counters
    assert (expected.account.rows_in, expected.account.late) == (counters.rows_in, counters.late)
    late = [{**{name: row[name] for name in SCHEMA.names}, "late_by": by} for row, by, _ in expected.missed]
    unknown = dict.fromkeys(("late_windows", "late_from", "late_until"))
    assert streams.comparable({**row, **unknown, "late_source": "s"} for row in late) == streams.comparable(driven.late)
    assert len(driven.results) == counters.results
    assert END == driven.promises[-1]
    assert driven.promises == sorted(set(driven.promises))


@settings(max_examples=10_000 if SOAK else 100)
@given(st.data())
def test_the_answer_of_the_oracle(data: st.DataObject) -> None:
    window = data.draw(WINDOWS)
    keys = keys_of(window, data.draw(st.sampled_from(((), (), ("k",), ("g",), ("g", "k")))))
    listed = streams.calls(data.draw(streams.aggregate_lists()))
    calls = tuple(AggregateCall(c.name, c.function, c.argument, c.parameters) for c in listed)
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    node = WindowAggregate(STREAM, window, keys, calls, emit=emit, late=Late.SIDE, lateness=lateness)
    elements = data.draw(streams.elements(late=True))
    check(node, elements, data.draw(st.sets(st.integers(0, 40))), restored=data.draw(st.booleans()))


@settings(max_examples=10_000 if SOAK else 60)
@given(st.data())
def test_rows_that_are_cells_of_their_own(data: st.DataObject) -> None:
    """Groups are partitions, and panes are rows: what a row added is found again from its columns when it leaves."""
    length = data.draw(LENGTHS)
    slide = data.draw(st.sampled_from([n for n in range(1, length + 1) if gcd(n, length) == 1]))
    window = RowsWindow(length, slide, data.draw(PARTITIONS), data.draw(st.sampled_from((None, "ts"))))
    listed = streams.calls(data.draw(streams.aggregate_lists()))
    calls = tuple(AggregateCall(c.name, c.function, c.argument, c.parameters) for c in listed)
    node = WindowAggregate(STREAM, window, keys_of(window, ()), calls, late=Late.SIDE)
    elements = data.draw(streams.elements(late=True))
    check(node, elements, data.draw(st.sets(st.integers(0, 40))), restored=data.draw(st.booleans()))


@settings(max_examples=10_000 if SOAK else 40)
@given(WINDOWS, streams.elements(spread=1 << 51, extremes=False), st.sets(st.integers(0, 40)))
def test_times_far_apart(window: RowsWindow, elements: list[Any], cuts: set[int]) -> None:
    node = WindowAggregate(STREAM, replace(window, order="ts"), keys_of(window, ()), CALLS, late=Late.SIDE)
    check(node, elements, cuts)


def test_a_row_without_a_place_in_the_order_is_refused() -> None:
    rows: list[dict[str, Any]] = [{"ts": 1, "x": 1}, {"ts": None, "x": 2}]
    source = Input("s", "ts", External())
    message = r"\A`ts` must not be null: a row without a time belongs to no window, got null at row 1 of s\. Hint: "
    with pytest.raises(DataError, match=message):
        list(source.process(Batch.unread(pa.RecordBatch.from_pylist(rows, SCHEMA))))


def by_hand(window: RowsWindow, keys: Sequence[str], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Windows of many rows straight from their definition: rows in the order in which they count."""
    counted: dict[Any, list[dict[str, Any]]] = {}
    found: list[dict[str, Any]] = []
    for row in rows:
        partition = counted.setdefault(tuple(row[name] for name in window.partition), [])
        partition.append(row)
        if len(partition) % window.slide:
            continue
        members: dict[Any, list[int]] = {}
        for member in partition[max(0, len(partition) - window.range) :]:
            members.setdefault(tuple(member[name] for name in keys), []).append(member["x"])
        for key, values in members.items():
            bounds = {"window_start": len(partition) - window.range, "window_end": len(partition)}
            facts = {"n": len(values), "s": sum(values), "hi": max(values), "last": values[-1], "m": median(values)}
            found.append({**dict(zip(keys, key, strict=True)), **bounds, **facts})
    return found


def many_rows(seed: int, size: int, keys: int) -> list[dict[str, Any]]:
    chance = np.random.default_rng(seed)
    columns = chance.integers(0, keys, size), chance.integers(0, 9, size), chance.integers(-99, 99, size)
    listed = zip(*(column.tolist() for column in columns), strict=True)
    return [{"ts": i, "k": str(k), "g": g, "x": x, "y": 0.0} for i, (k, g, x) in enumerate(listed)]


CALLS = (
    AggregateCall("n", "count"),
    AggregateCall("s", "sum", Column("x")),
    AggregateCall("hi", "max", Column("x")),
    AggregateCall("last", "last", Column("x")),
    AggregateCall("m", "median", Column("x")),
)
LARGE = [
    (RowsWindow(40, 8, ("k",)), ("k",), 70, 50),
    (RowsWindow(40, 8, ("k",)), ("k",), 20_000, 50),
    (RowsWindow(7, 3, ("k",)), ("g", "k"), 6_000, 30),
    (RowsWindow(900, 300), ("k",), 70_000, 9_000),
    (RowsWindow(5, 50, ("k",)), ("k",), 9_000, 4),
    (RowsWindow(3_000, 1_000), (), 9_000, 4),
    (RowsWindow(97, 5, ("k",)), ("k",), 6_000, 7),
    (RowsWindow(60, 1, ("k",)), ("k",), 2_000, 300),
    (RowsWindow(301, 7), (), 9_000, 4),
]


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize(("window", "keys", "size", "groups"), LARGE)
def test_many_rows_and_groups(
    window: RowsWindow, keys: tuple[str, ...], size: int, groups: int, restored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rings grow and move, answers come in several pieces, groups are forgotten."""
    monkeypatch.setattr(row_windows, "ANSWERS", 64)
    monkeypatch.setattr("windrow.operators.windows.rows.sliding_runs.FOUND", 1000)
    monkeypatch.setattr(counted_rows, "PIECE", 5000)
    rows = many_rows(seed=size, size=size, keys=groups)
    node = WindowAggregate(STREAM, window, tuple((name, Column(name)) for name in keys), CALLS)
    driven = Driven(node)
    cuts = [0, size // 10, size // 2, size // 2 + 1, size]
    for start, end in pairwise(cuts):
        data = pa.RecordBatch.from_pylist(rows[start:end], SCHEMA)
        driven.feed(Batch(data, np.arange(start, end)))
        if restored:
            driven.replace()
    assert streams.comparable(by_hand(window, keys, rows)) == streams.comparable(driven.results)


@pytest.mark.parametrize(
    ("columns", "calls"),
    [
        (1, [AggregateCall("m", "median", Column("y"))]),
        (
            1,
            [
                AggregateCall("n", "count"),
                AggregateCall("s", "sum", Column("y")),
                AggregateCall("m", "avg", Column("y")),
            ],
        ),
        (1, [AggregateCall("s", "sum", Column("y")), AggregateCall("m", "median", Column("y"))]),
        (2, [AggregateCall("s", "sum", Column("y")), AggregateCall("hi", "max", Column("y"))]),
        (0, [AggregateCall("n", "count")]),
    ],
    ids=["listed", "added", "added and listed", "greatest too", "counted"],
)
@pytest.mark.parametrize("nulls", [False, True])
def test_a_row_takes_its_columns_and_little_else(columns: int, calls: list[AggregateCall], nulls: bool) -> None:
    """Eight bytes a column, and one that says what is NULL once something was; groups and spare room are a fifth."""
    size, keys = 20_000, 4
    window = RowsWindow(4_096, 1, ("k",))
    driven = Driven(WindowAggregate(STREAM, window, keys_of(window, ()), tuple(calls)))
    values = np.arange(size) % 1000 / 4
    names = pa.array([str(i % keys) for i in range(size)])
    empty = pa.array(np.zeros(size, np.int64))
    missing = pa.array(values, mask=(np.arange(size) == 17) if nulls else None)
    data = pa.record_batch([pa.array(np.arange(size)), names, empty, empty, missing], schema=SCHEMA)
    for start in range(0, size, 1000):
        driven.feed(Batch(data.slice(start, 1000), np.arange(start, start + 1000)))
    bytes_a_row = driven.operator.state_bytes / (keys * window.range)
    has_marks = nulls and any(call.argument for call in calls)
    assert bytes_a_row < 1.2 * (8 * columns + has_marks) + 1
    driven.replace()
    assert driven.operator.state_bytes / (keys * window.range) < 1.2 * (8 * columns + has_marks) + 1


def test_groups_that_are_in_no_window_are_forgotten() -> None:
    node = WindowAggregate(STREAM, RowsWindow(10, 10), (("k", Column("k")),), CALLS[:3])
    driven = Driven(node)
    for start in range(0, 60_000, 6000):
        rows = [{"ts": i, "k": str(i), "g": 0, "x": 1, "y": 0.0} for i in range(start, start + 6000)]
        driven.feed(Batch(pa.RecordBatch.from_pylist(rows, SCHEMA), np.arange(start, start + 6000)))
    assert 60_000 == len(driven.results)
    assert driven.operator.grouping.groups.count < 10_000


def test_a_window_is_reported_with_its_last_row() -> None:
    node = WindowAggregate(STREAM, RowsWindow(2, 2), (), CALLS[:1])
    driven = Driven(node)
    ends = []
    for row in many_rows(0, 5, 2):
        driven.feed(Batch(pa.RecordBatch.from_pylist([row], SCHEMA), np.array([row["ts"]])))
        ends.append([result["window_end"] for result in driven.results])
    assert [[], [2], [2], [2, 4], [2, 4]] == ends
    assert [2, 4, 6] == driven.promises


def test_rows_wait_until_the_promise_passes_them() -> None:
    node = WindowAggregate(STREAM, RowsWindow(2, 1, (), "ts"), (), (AggregateCall("all", "collect", Column("x")),))
    driven = Driven(node)
    rows = [{"ts": t, "k": "a", "g": 0, "x": t, "y": 0.0} for t in (7, 3, 5)]
    driven.feed(Batch(pa.RecordBatch.from_pylist(rows, SCHEMA), np.array([7, 3, 5])))
    assert [] == driven.results
    driven.feed(Punctuation(5))
    assert [[3]] == [result["all"] for result in driven.results]
    driven.feed(Punctuation(8))
    assert [[3], [3, 5], [5, 7]] == [result["all"] for result in driven.results]


class Product(UserAggregate):
    """An aggregate that can neither be subtracted nor sorted."""

    name = "test_rows_product"
    result = pa.int64()

    def lift(self, values: Any) -> Any:
        return (values % 7 + 1,)

    def combine(self, left: Any, right: Any) -> Any:
        return (left[0] * right[0],)

    def finish(self, state: Any, parameters: Any) -> Any:
        return state[0]


@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("window", [RowsWindow(6, 2), RowsWindow(6, 2, ("k",)), RowsWindow(2, 5, ("k",))])
def test_aggregates_of_users(window: RowsWindow, restored: bool) -> None:
    register(Product())
    rows = many_rows(3, 500, 5)
    keys = (("k", Column("k")),)
    calls = (AggregateCall("x", "collect", Column("x")), AggregateCall("p", Product.name, Column("x")))
    driven = Driven(WindowAggregate(STREAM, window, keys, calls))
    for start in range(0, 500, 125):
        data = pa.RecordBatch.from_pylist(rows[start : start + 125], SCHEMA)
        driven.feed(Batch(data, np.arange(start, start + 125)))
        if restored:
            driven.replace()
    assert driven.results
    assert [prod(x % 7 + 1 for x in result["x"]) for result in driven.results] == [r["p"] for r in driven.results]
