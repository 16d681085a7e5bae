"""Promises for single groups: their windows close while those of the others stay open, and the oracle agrees."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import SCHEMA, approximately, last_revisions, strategies_for
from tests.saved import whole_tables
from windrow.errors import DataError, QueryError, SumOverflowError
from windrow.operators.base import Batch
from windrow.physical.explain.plans import explain
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline, account_of, state_bytes
from windrow.plan.nodes import AggregateCall, Late, Lateness, Node, Strategy, Stream, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, External, Punctuation
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.scalars.ordering import normal
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []

CARRIED = pa.schema([*SCHEMA, ("p", pa.int64())])
EMITS = st.sampled_from((Emit.NONEMPTY, Emit.NONEMPTY, Emit.EMPTY, Emit.COMPLETE))


@dataclass
class Run:
    """One plan fed element by element, brought back from its saved state wherever it is asked to."""

    plan: Node

    def __post_init__(self) -> None:
        self.results: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []
        self.pipeline = self._built()

    def _built(self) -> Pipeline:
        pipeline = build(self.plan)
        pipeline.ends[0].on_result = lambda batch: self.results.extend(batch.to_pylist())
        pipeline.ends[0].on_late = lambda batch: self.late.extend(batch.to_pylist())
        return pipeline

    def restart(self) -> None:
        fresh = self._built()
        for new, old in zip(fresh.stages, self.pipeline.stages, strict=True):
            new.operator.restore(whole_tables(old.operator.state()))
            new.operator.counters = old.operator.counters
        self.pipeline = fresh

    def feed(self, element: pa.RecordBatch | Punctuation) -> None:
        self.pipeline.push("s", element if isinstance(element, Punctuation) else Batch.unread(element))


def fed(plan: WindowAggregate, pieces: Sequence[pa.RecordBatch | Punctuation], restarts: Collection[int]) -> Run:
    run = Run(plan)
    for i, piece in enumerate(pieces):
        if i in restarts:
            run.restart()
        run.feed(piece)
    return run


def check(expected: oracle.OracleAnswer, run: Run) -> None:
    assert isinstance(run.plan, WindowAggregate)
    calls = run.plan.aggregates
    wanted, found = approximately(expected.results, calls), approximately(run.results, calls)
    assert streams.comparable(wanted) == streams.comparable(found)
    assert expected.account.late == account_of(run.pipeline.ends[0], 0).late


def in_batches(elements: Sequence[Any], cuts: Collection[int]) -> Iterator[pa.RecordBatch | Punctuation]:
    """Punctuations as elements between batches."""
    rows: list[dict[str, Any]] = []
    for i, element in enumerate([*elements, Punctuation(END)]):
        if rows and (isinstance(element, Punctuation) or i in cuts):
            yield pa.RecordBatch.from_pylist(rows, SCHEMA)
            rows = []
        if isinstance(element, Punctuation):
            yield element
        else:
            rows.append(element)


def in_rows(elements: Sequence[Any], cuts: Collection[int], by: str) -> Iterator[pa.RecordBatch | Punctuation]:
    """Punctuations as rows of the batches."""
    rows: list[dict[str, Any]] = []
    for i, element in enumerate(elements):
        if rows and i in cuts:
            yield pa.RecordBatch.from_pylist(rows, CARRIED)
            rows = []
        if isinstance(element, Punctuation):
            rows.append({"p": element.value, by: element.group[0] if element.group else None})
        else:
            rows.append(element)
    if rows:
        yield pa.RecordBatch.from_pylist(rows, CARRIED)
    yield Punctuation(END)


def whole_groups(elements: Sequence[Any], keys: Sequence[str], by: str) -> list[Any]:
    """Promises by one column as promises for each group of all keys that has its value there."""
    groups = {tuple(normal(row[key]) for key in keys) for row in elements if not isinstance(row, Punctuation)}
    spelled: list[Any] = []
    for element in elements:
        if isinstance(element, Punctuation) and element.group is not None:
            here = [group for group in groups if group[keys.index(by)] == normal(element.group[0])]
            spelled += [Punctuation(element.value, group) for group in sorted(here, key=repr)]
        else:
            spelled.append(element)
    return spelled


@settings(max_examples=10_000 if SOAK else 60)
@given(data=st.data())
def test_promises_for_single_groups_give_the_answer_of_the_oracle(data: st.DataObject) -> None:
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks(), streams.sessions()))
    by = data.draw(st.sampled_from(("k", "g")))
    names = data.draw(st.sampled_from(((by,), (by, "y"), ("y", by), ("k", "g"))))
    in_data = data.draw(st.booleans())
    elements = data.draw(streams.elements(late=True, by=by))
    if in_data:  # there, a group of nothing but NULL is all rows
        elements = [e for e in elements if not isinstance(e, Punctuation) or e.group != (None,)]
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in names)
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    stream = Stream("s", CARRIED if in_data else SCHEMA, "ts", External("p" if in_data else None, (by,)))
    node = WindowAggregate(stream, window, keys, tuple(calls), emit=emit, late=Late.SIDE, lateness=lateness)
    cuts = data.draw(st.sets(st.integers(0, 40)))
    pieces = list(in_rows(elements, cuts, by) if in_data else in_batches(elements, cuts))
    restarts = data.draw(st.sets(st.integers(0, max(0, len(pieces) - 1)), max_size=4))
    spelled = whole_groups(elements, names, by)
    try:
        expected = oracle.answer(
            spelled, window, keys=keys, aggregates=calls, emit=emit, late="side", lateness=lateness.value
        )
    except SumOverflowError:
        return
    for strategy in strategies_for(window):
        note(strategy.value)
        run = fed(replace(node, strategy=strategy), pieces, restarts)
        check(expected, run)
        assert streams.comparable({n: row[n] for n in SCHEMA.names} for row, _, _ in expected.missed) == (
            streams.comparable({n: row[n] for n in SCHEMA.names} for row in run.late)
        )
        if isinstance(window, Sliding):
            spans = [(len(m), m[0][0], m[-1][1]) for _, _, m in expected.missed]
            assert sorted(spans, key=repr) == sorted(
                ((r["late_windows"], r["late_from"], r["late_until"]) for r in run.late), key=repr
            )


@settings(max_examples=10_000 if SOAK else 40)
@given(data=st.data())
def test_corrections_wait_for_the_promise_of_their_group(data: st.DataObject) -> None:
    window = data.draw(streams.sliding())
    by = data.draw(st.sampled_from(("k", "g")))
    names = data.draw(st.sampled_from(((by,), ("k", "g"))))
    elements = data.draw(streams.elements(late=True, by=by, extremes=False))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in names)
    lateness, within = data.draw(st.sampled_from(Lateness)), data.draw(st.integers(1, 12)) * window.slide
    stream = Stream("s", SCHEMA, "ts", External(per=(by,)))
    settled: Any = {"late": Late.REVISE, "lateness": lateness, "within": Amount.of(within)}
    pieces = list(in_batches(elements, data.draw(st.sets(st.integers(0, 40)))))
    restarts = data.draw(st.sets(st.integers(0, max(0, len(pieces) - 1)), max_size=4))
    run = fed(WindowAggregate(stream, window, keys, tuple(calls), **settled), pieces, restarts)
    expected = oracle.answer(
        whole_groups(elements, names, by),
        window,
        keys=keys,
        aggregates=calls,
        late="revise",
        lateness=lateness.value,
        within=within,
    )
    plain = last_revisions(run.results, list(names))
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(approximately(plain, calls))
    assert len(expected.missed) == len(run.late)
    assert expected.account.late == account_of(run.pipeline.ends[0], 0).late


def test_a_late_row_corrects_what_its_group_reported_ahead_of_the_others() -> None:
    late: Any = {"late": Late.REVISE, "within": Amount.of(30)}
    run = Run(replace(over(PER_K, Sliding("ts", 10, 10), ("k",)), **late))
    run.feed(rows((1, "a"), (1, "b")))
    run.feed(Punctuation(30, ("a",)))
    run.feed(rows((2, "a"), (2, "b")))
    run.feed(Punctuation(END))
    told = [(r["k"], r["n"], r["revision"]) for r in run.results]
    assert [("a", 1, 0), ("a", 2, 1), ("b", 2, 0)] == told
    assert 1 == account_of(run.pipeline.ends[0], 0).late


@settings(max_examples=10_000 if SOAK else 60)
@given(data=st.data())
def test_counted_windows_of_single_groups_give_the_answer_of_the_oracle(data: st.DataObject) -> None:
    by = data.draw(st.sampled_from(("k", "g")))
    names = data.draw(st.sampled_from(((by,), (by, "y"), ("k", "g"))))
    window: RowsWindow | SlideByTuple
    if data.draw(st.booleans()):
        window = data.draw(streams.slide_by_tuple(partition=names))
    else:
        lengths, partition = st.integers(1, 6), data.draw(st.sampled_from((names, (by,))))
        window = RowsWindow(data.draw(lengths), data.draw(lengths), partition, "ts")
    elements = data.draw(streams.elements(late=True, by=by))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in names)
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    late = Late.SIDE if isinstance(window, RowsWindow) else data.draw(st.sampled_from((Late.DROP, Late.SIDE)))
    stream = Stream("s", SCHEMA, "ts", External(per=(by,)))
    node = WindowAggregate(stream, window, keys, tuple(calls), emit=emit, late=late, lateness=lateness)
    pieces = list(in_batches(elements, data.draw(st.sets(st.integers(0, 40)))))
    restarts = data.draw(st.sets(st.integers(0, max(0, len(pieces) - 1)), max_size=4))
    spelled = whole_groups(elements, names, by)
    try:
        expected = oracle.answer(
            spelled, window, keys=keys, aggregates=calls, emit=emit, late="side", lateness=lateness.value
        )
    except SumOverflowError:
        return
    run = fed(node, pieces, restarts)
    check(expected, run)
    if late is Late.SIDE:
        missed = [{n: row[n] for n in SCHEMA.names} for row, _, _ in expected.missed]
        assert streams.comparable(missed) == streams.comparable({n: r[n] for n in SCHEMA.names} for r in run.late)
    if late is Late.SIDE and isinstance(window, SlideByTuple):
        spans = [(by, len(m), m[0][0], m[-1][1]) for _, by, m in expected.missed]
        told = ("late_by", "late_windows", "late_from", "late_until")
        assert sorted(spans, key=repr) == sorted((tuple(r[n] for n in told) for r in run.late), key=repr)


def test_counted_windows_of_a_group_are_reported_at_its_own_promise() -> None:
    count, given = (AggregateCall("n", "count"),), Stream("s", SCHEMA, "ts", External(per=("k",)))
    for window in (SlideByTuple("ts", 10, partition=("k",)), RowsWindow(3, 1, ("k",), "ts")):
        run = Run(WindowAggregate(given, window, (("k", Column("k")),), count))
        run.feed(rows((5, "a"), (3, "b"), (1, "a"), (8, "a"), (4, "b")))
        run.feed(Punctuation(6, ("a",)))
        assert [("a", 1), ("a", 2)] == [(r["k"], r["n"]) for r in run.results]
        run.feed(Punctuation(7))
        assert [("b", 1), ("b", 2)] == [(r["k"], r["n"]) for r in run.results[2:]]
        run.feed(Punctuation(END))
        assert [("a", 3)] == [(r["k"], r["n"]) for r in run.results[4:]]


def rows(*pairs: tuple[int, str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"ts": ts, "k": k} for ts, k in pairs], SCHEMA)


def counting(window: Sliding | Landmark | Session, strategy: Strategy = Strategy.AUTO) -> Run:
    stream = Stream("s", SCHEMA, "ts", External(per=("k",)))
    calls = (AggregateCall("n", "count"),)
    return Run(WindowAggregate(stream, window, (("k", Column("k")),), calls, strategy=strategy))


@pytest.mark.parametrize("strategy", [Strategy.PANES, Strategy.WID, Strategy.BUFFER])
def test_a_group_is_reported_at_its_own_promise_and_its_state_is_let_go(strategy: Strategy) -> None:
    run = counting(Sliding("ts", 10, 5), strategy)
    run.feed(rows(*((ts, k) for ts in range(500) for k in "abcdefgh")))
    before = state_bytes(run.pipeline.stages)
    for k in "bcdefgh":
        run.feed(Punctuation(1000, (k,)))
    assert [k for k in "bcdefgh" for _ in range(101)] == [result["k"] for result in run.results]
    assert [5, *[10] * 99, 5] * 7 == [result["n"] for result in run.results]
    assert before > 2 * state_bytes(run.pipeline.stages)
    run.feed(Punctuation(END))
    assert ["a"] * 101 == [result["k"] for result in run.results[7 * 101 :]]


def test_sessions_close_at_the_promise_of_their_group() -> None:
    run = counting(Session("ts", 3))
    run.feed(rows((1, "a"), (3, "a"), (9, "a"), (1, "b"), (4, "b")))
    run.feed(Punctuation(8, ("a",)))
    assert [("a", 1, 6, 2)] == [(r["k"], r["window_start"], r["window_end"], r["n"]) for r in run.results]
    run.feed(rows((2, "a"), (7, "a"), (2, "b")))  # late for the session of a, joined to the next one, in time for b
    run.feed(Punctuation(END))
    told = sorted((r["k"], r["window_start"], r["window_end"], r["n"]) for r in run.results[1:])
    assert [("a", 7, 12, 2), ("b", 1, 7, 3)] == told
    assert 1 == account_of(run.pipeline.ends[0], 0).late


def test_windows_over_sessions_close_for_the_group_too() -> None:
    inner = WindowAggregate(PER_K, Session("ts", 3), (("k", Column("k")),), (COUNT,))
    run = Run(WindowAggregate(inner, Sliding("window_end", 10, 10), (("k", Column("k")),), (COUNT,)))
    run.feed(rows((1, "a"), (15, "a"), (1, "b")))
    run.feed(Punctuation(14, ("a",)))
    assert [("a", 10, 1)] == [(r["k"], r["window_end"], r["n"]) for r in run.results]


def test_groups_that_come_later_are_bound_by_what_was_promised_for_them() -> None:
    run = counting(Sliding("ts", 10, 10))
    run.feed(Punctuation(30, ("a",)))
    run.feed(rows((5, "a"), (35, "a"), (5, "b")))
    run.feed(Punctuation(END))
    assert [("b", 10, 1), ("a", 40, 1)] == [(r["k"], r["window_end"], r["n"]) for r in run.results]
    assert 1 == account_of(run.pipeline.ends[0], 0).late


def test_a_promise_below_what_is_known_says_nothing() -> None:
    run = counting(Sliding("ts", 10, 10))
    run.feed(Punctuation(30, ("a",)))
    run.feed(Punctuation(20, ("a",)))
    run.feed(Punctuation(20))
    run.feed(rows((25, "a"), (25, "b")))
    run.feed(Punctuation(END))
    assert [("b", 30, 1)] == [(r["k"], r["window_end"], r["n"]) for r in run.results]


def over(stream: Stream, window: Sliding, keys: tuple[str, ...], *calls: AggregateCall) -> WindowAggregate:
    return WindowAggregate(stream, window, tuple((key, Column(key)) for key in keys), calls or (COUNT,))


COUNT = AggregateCall("n", "count")
PER_K = Stream("s", SCHEMA, "ts", External(per=("k",)))


def test_windows_over_windows_close_for_the_group_too() -> None:
    inner = over(PER_K, Sliding("ts", 5, 5), ("k", "g"))
    total = AggregateCall("total", "sum", Column("n"))
    run = Run(WindowAggregate(inner, Sliding("window_end", 20, 20), (("k", Column("k")),), (total,)))
    run.feed(pa.RecordBatch.from_pylist([{"ts": ts, "k": k, "g": ts % 2} for ts in range(30) for k in "ab"], SCHEMA))
    run.feed(Punctuation(26, ("a",)))
    assert [("a", 20, 15)] == [(r["k"], r["window_end"], r["total"]) for r in run.results]
    run.feed(Punctuation(END))
    rest = [("a", 40, 15), ("b", 20, 15), ("b", 40, 15)]
    assert rest == sorted((r["k"], r["window_end"], r["total"]) for r in run.results[1:])


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (over(PER_K, Sliding("ts", 10, 10), ("g",)), "groups by another column"),
        (WindowAggregate(PER_K, Session("ts", 3), (("g", Column("g")),), (COUNT,)), "sessions of other groups"),
    ],
)
def test_promises_of_no_use_are_left_out_and_explained(plan: WindowAggregate, why: str) -> None:
    run = Run(plan)
    run.feed(rows((1, "a"), (2, "b")))
    run.feed(Punctuation(50, ("a",)))
    assert [] == run.results, why
    run.feed(rows((3, "a")))
    run.feed(Punctuation(END))
    assert 3 == sum(result["n"] for result in run.results)
    assert "- Promises of s for single groups by k are of no use here: only sliding," in explain(plan)


def test_a_group_needs_columns_that_name_it() -> None:
    run = Run(over(replace(PER_K, policy=External()), Sliding("ts", 10, 10), ("k",)))
    rule = r"\A`punctuation` must have a value for each of the columns that name a group \(none\), got \('a',\)"
    with pytest.raises(DataError, match=rule + r".*declare the columns of s: .*PUNCTUATED PER \.\.\.\.\Z"):
        run.feed(Punctuation(1, ("a",)))


def test_a_group_needs_values_of_its_columns() -> None:
    run = Run(over(PER_K, Sliding("ts", 10, 10), ("k",)))
    rule = r"\A`punctuation` must name a group by values of its columns \(k string\), got \(7,\)"
    with pytest.raises(DataError, match=rule):
        run.feed(Punctuation(1, (7,)))


@pytest.mark.parametrize(
    ("per", "rule"),
    [
        (("z",), r"\A`per` must be a column of the input, got z\. "),
        (("ts",), r"\A`per` must be different columns of plain values, .* got ts, taken already\. Hint: "),
        (("k", "k"), r"\A`per` must be different columns of plain values, .* got k, taken already\. Hint: "),
    ],
)
def test_the_columns_of_a_group_are_checked(per: tuple[str, ...], rule: str) -> None:
    with pytest.raises(QueryError, match=rule):
        build(over(replace(PER_K, policy=External(per=per)), Sliding("ts", 10, 10), ("k",)))
