"""Low level, wire, shards and saved state, without Spark: any query, disorder, tasks and shards equal the oracle."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_early import replayed, told
from tests.engines.local.answers.test_group_punctuations import CARRIED, whole_groups
from tests.engines.local.answers.test_oracle import EMITS, KEYS, SCHEMA, STREAM, approximately
from tests.engines.local.answers.test_sessions import standing
from tests.engines.local.test_together import bounded_queries
from tests.operators.windows.rows.test_counted_rows import LENGTHS
from tests.sharded.kept_chunks import Kept, checked_save, tiny_chunks
from windrow.engines.spark.session.shard_count import shard_keys
from windrow.errors import SumOverflowError
from windrow.operators.late.judging import COLUMNS
from windrow.physical.how import EAGER, Flush, When
from windrow.plan.checks.windows import within_of
from windrow.plan.nodes import AggregateCall, Filter, Late, Lateness, Node, OrderedOutput, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.oracle.early_results import early_results
from windrow.semantics.oracle.in_order import in_order
from windrow.semantics.progress.policies import END, External, Punctuation
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Call, Column, Literal
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding
from windrow.sharded import chunks
from windrow.sharded.bundle import Shards, bundled
from windrow.sharded.chunks import Known
from windrow.sharded.pre_aggregate import bodies_of
from windrow.sharded.shard import Outcome
from windrow.sharded.wire import COUNTS, LATE, RESULT, batches_of, opened

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
MicroBatch = list[Any]


@pytest.fixture(autouse=True, scope="module")
def _tiny() -> Iterator[None]:
    with tiny_chunks():
        yield


@dataclass
class Given:
    """What one query gave."""

    results: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    counts: list[Outcome] = field(default_factory=list)
    """Of the last micro-batch."""

    def take(self, outcome: Outcome) -> None:
        if outcome.kind == COUNTS:
            self.counts.append(outcome)
            return
        assert outcome.body is not None
        into = {RESULT: self.results, LATE: self.late}[outcome.kind]
        body = opened(outcome.body, (outcome.kind, outcome.query, outcome.time), "a result")
        into.extend(row for batch in batches_of(body) for row in batch.to_pylist())

    def total(self, name: str) -> int:
        return sum(getattr(outcome, name) for outcome in self.counts)


class Cluster:
    """All shards of queries that run together, driven as Spark would: tasks, shuffle, shards, state."""

    def __init__(self, *plans: Node, shards: int, seed: int = 0, flush: Flush = EAGER) -> None:
        self.bundle, self.readings = bundled(plans, tuple(shard_keys(shards)), panes=flush is EAGER, flush=flush)
        self.random = random.Random(seed)
        self.shards = {key: Shards(self.bundle, key) for key in self.bundle.shards}
        self.stores = {key: Kept() for key in self.shards}
        self.known: dict[int, Known] = {key: {} for key in self.shards}
        self.given = [Given() for _ in plans]

    def micro_batch(self, elements: Sequence[Sequence[Any]], tasks: int, *, ends: bool = False) -> None:
        """The elements of each stream, divided among tasks; promises come at the end of the last task."""
        bodies: dict[int, list[bytes]] = {key: [] for key in self.shards}
        for reading, mine in zip(self.readings, elements, strict=True):
            for order, part in enumerate(_parts(mine, tasks)):
                batches = _batches(part, reading[0].exchange.stream.schema)
                for sent in bodies_of(reading, batches, order=order, ends=ends and order == tasks - 1):
                    for row in sent.to_pylist():
                        bodies[row["shard"]].append(row["body"])
        for one in self.given:
            one.counts = []
        for key, shard in self.shards.items():
            self.random.shuffle(bodies[key])
            for outcome in shard.run(bodies[key]):
                self.given[outcome.query].take(outcome)

    @property
    def results(self) -> list[dict[str, Any]]:
        return self.given[0].results

    @property
    def late(self) -> list[dict[str, Any]]:
        return self.given[0].late

    def total(self, name: str) -> int:
        return self.given[0].total(name)

    def save(self) -> None:
        for key, shard in self.shards.items():
            self.known[key] = checked_save(shard.tables, self.known[key], self.stores[key])

    def restart(self) -> None:
        """Every shard from its saved state."""
        for key, shard in list(self.shards.items()):
            tables, self.known[key] = chunks.load(iter(self.stores[key].chunks.items()))
            anew = Shards(self.bundle, key)
            anew.restore(shard.facts(), tables)
            self.shards[key] = anew


def _parts(elements: Sequence[Any], tasks: int) -> Iterator[Sequence[Any]]:
    size = -(-len(elements) // tasks)
    for task in range(tasks):
        yield elements[task * size : (task + 1) * size]


def _batches(elements: Iterable[Any], schema: pa.Schema) -> Iterator[pa.RecordBatch | Punctuation]:
    rows: list[dict[str, Any]] = []
    for element in elements:
        if isinstance(element, Punctuation):
            yield element
        else:
            rows.append({name: element.get(name) for name in schema.names})
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema)


def micro_batches(elements: Sequence[Any], cuts: set[int]) -> list[MicroBatch]:
    """Elements cut after each punctuation, because it speaks for the whole micro-batch, and at the given places."""
    made: list[MicroBatch] = [[]]
    for i, element in enumerate(elements):
        if i in cuts and made[-1]:
            made.append([])
        made[-1].append(element)
        if isinstance(element, Punctuation):
            made.append([])
    return made


@settings(max_examples=20_000 if SOAK else 60, deadline=None)
@given(data=st.data())
def test_two_levels_give_the_answer_of_the_oracle(data: st.DataObject) -> None:
    by = data.draw(st.sampled_from((None, "k", "g")))
    window = data.draw(streams.windows())
    elements = data.draw(streams.elements(late=True, by=by))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    names = data.draw(st.sampled_from(((by,), ("k", "g"), ("g", "k")))) if by else data.draw(KEYS)
    keys = tuple((name, Column(name)) for name in names)
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    late = data.draw(st.sampled_from((Late.DROP, Late.SIDE)))
    if isinstance(window, Session) and emit is Emit.NONEMPTY:
        late = data.draw(st.sampled_from((Late.SIDE, Late.REVISE)))
    stream, in_data = replace(STREAM, policy=External(per=(by,) if by else ())), data.draw(st.booleans())
    if by and in_data:  # there, a group of nothing but NULL is all rows
        elements = [e for e in elements if not isinstance(e, Punctuation) or e.group != (None,)]
        stream = replace(STREAM, schema=CARRIED, policy=External("p", (by,)))
    node = WindowAggregate(stream, window, keys, tuple(calls), emit=emit, late=late, lateness=lateness)
    cluster = Cluster(node, shards=data.draw(st.integers(1, 4)), seed=data.draw(st.integers(0, 99)))
    tasks, restarts = data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 12)))
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 40), max_size=6)))
    if by and in_data:
        batches = [[as_row(element, by) for element in batch] for batch in batches]
    try:
        expected = oracle.answer(
            whole_groups(elements, names, by) if by else elements,
            window,
            keys=keys,
            aggregates=calls,
            emit=emit,
            late=late.value,
            lateness=lateness.value,
            within=within_of(node, Domain.INTEGER) if late is Late.REVISE else None,
        )
    except SumOverflowError:
        with pytest.raises(SumOverflowError):
            _drive(cluster, batches, tasks, restarts)
        return
    _drive(cluster, batches, tasks, restarts)
    results = standing(cluster.results, names) if late is Late.REVISE else cluster.results
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
        approximately(results, calls)
    )
    account = expected.account
    sent = sum(not isinstance(element, Punctuation) for element in elements)
    assert (account.late, 0, sent) == (cluster.total("late"), cluster.total("filtered"), account.rows_in)
    assert len(cluster.results) == cluster.total("results")
    if late is not Late.DROP:
        rows = [{n: row[n] for n in SCHEMA.names} for row, _, _ in expected.missed]
        assert streams.comparable(rows) == streams.comparable({n: r[n] for n in SCHEMA.names} for r in cluster.late)
    if late is not Late.DROP and isinstance(window, Session):
        spans = [(by, len(m), *m[0]) for _, by, m in expected.missed]
        assert sorted(spans) == sorted(tuple(row[name] for name in COLUMNS[:4]) for row in cluster.late)


@settings(max_examples=20_000 if SOAK else 30, deadline=None)
@given(data=st.data())
def test_queries_that_run_together_give_the_answers_of_the_oracle(data: st.DataObject) -> None:
    elements = data.draw(streams.elements(late=True, extremes=False))
    plans = data.draw(st.lists(bounded_queries(), min_size=2, max_size=4))
    cluster = Cluster(*plans, shards=data.draw(st.integers(1, 3)), seed=data.draw(st.integers(0, 99)))
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 40), max_size=6)))
    _drive(cluster, batches, data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 12))))
    for plan, one in zip(plans, cluster.given, strict=True):
        expected = oracle.answer(
            elements,
            plan.window,
            keys=plan.keys,
            aggregates=plan.aggregates,
            emit=plan.emit,
            lateness=plan.lateness.value,
            where=plan.input.predicate if isinstance(plan.input, Filter) else None,
        )
        assert streams.comparable(approximately(expected.results, plan.aggregates)) == streams.comparable(
            approximately(one.results, plan.aggregates)
        )
        account = expected.account
        filtered = account.rows_in - account.used - account.late
        assert (account.late, filtered, len(one.results)) == tuple(map(one.total, ("late", "filtered", "results")))


COUNT = AggregateCall("n", "count")
BY_K = WindowAggregate(STREAM, Sliding("ts", 20, 10), (("k", Column("k")),), (COUNT,))


@pytest.mark.parametrize(
    ("receivers", "others"),
    [
        ([((0, 0), (1, 0))], [BY_K]),
        ([((0, 0), (1, 0))], [replace(BY_K, window=Sliding("ts", 30, 15), keys=(("other", Column("k")),))]),
        ([((0, 0),), ((1, 0),)], [replace(BY_K, keys=())]),
        ([((0, 0),), ((1, 0), (2, 0))], [replace(BY_K, late=Late.SIDE, window=Sliding("ts", n, n)) for n in (5, 7)]),
        ([((0, 0),), ((1, 0),)], [replace(BY_K, input=Filter(STREAM, Call(">", (Column("x"), Literal(0)))))]),
    ],
)
def test_what_is_sent_once_for_several_queries(receivers: list[Any], others: list[WindowAggregate]) -> None:
    _, (reading,) = bundled([BY_K, *others], tuple(shard_keys(2)))
    assert receivers == [lowering.to for lowering in reading]


def as_row(element: Any, by: str) -> dict[str, Any]:
    """A punctuation as the row that carries it."""
    if not isinstance(element, Punctuation):
        return dict(element)
    return {"p": element.value, by: element.group[0] if element.group else None}


def _drive(cluster: Cluster, batches: Sequence[MicroBatch], tasks: int, restarts: set[int]) -> None:
    for i, batch in enumerate(batches):
        cluster.micro_batch([batch], tasks, ends=i == len(batches) - 1)
        cluster.save()
        if i in restarts:
            cluster.restart()


@settings(max_examples=20_000 if SOAK else 30, deadline=None)
@given(data=st.data())
def test_early_results_come_after_micro_batches(data: st.DataObject) -> None:
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks()))
    elements = data.draw(streams.elements(late=True, extremes=False, max_size=24))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    every, lateness = data.draw(st.integers(1, 40)), data.draw(st.sampled_from(Lateness))
    node = WindowAggregate(STREAM, window, keys, tuple(calls), lateness=lateness, early=Amount.of(every))
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 24), max_size=6)))
    cluster = Cluster(node, shards=data.draw(st.integers(1, 4)), seed=data.draw(st.integers(0, 99)))
    _drive(cluster, batches, data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 12))))
    asked: dict[str, Any] = {"keys": keys, "aggregates": calls, "lateness": lateness.value}
    expected = oracle.answer(elements, window, **asked).results
    early = early_results(elements, window, spoken(batches[:-1], window, every), **asked)
    assert streams.comparable(approximately(expected, calls)) == streams.comparable(
        approximately(told(cluster.results, "final"), calls)
    )
    assert streams.comparable(approximately(early, calls)) == streams.comparable(
        approximately(told(cluster.results, "early"), calls)
    )
    replayed(cluster.results)


def spoken(batches: Sequence[MicroBatch], window: Sliding | Landmark, every: int) -> Iterator[int]:
    """After how many elements there are early results: the last micro-batch closes everything instead."""
    seen, step = 0, None
    high: int | None = None
    for batch in batches:
        seen += len(batch)
        times = [element["ts"] for element in batch if not isinstance(element, Punctuation)]
        high = max([*times, *([] if high is None else [high])], default=None)
        if high is not None:
            now = (high - window.origin) // every
            if step is not None and now > step:
                yield seen
            step = now


@settings(max_examples=20_000 if SOAK else 30, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True, extremes=False))
def test_ordered_output_comes_micro_batch_after_micro_batch(data: st.DataObject, elements: list[Any]) -> None:
    window, emit = data.draw(streams.windows()), data.draw(EMITS)
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    calls = (AggregateCall("n", "count"), AggregateCall("s", "sum", Column("x")))
    node = OrderedOutput(WindowAggregate(STREAM, window, keys, calls, emit=emit))
    cluster = Cluster(node, shards=data.draw(st.integers(1, 4)), seed=data.draw(st.integers(0, 99)))
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 40), max_size=6)))
    restarts, given, last = data.draw(st.sets(st.integers(0, 12))), 0, -(1 << 62)
    for i, batch in enumerate(batches):
        cluster.micro_batch([batch], data.draw(st.integers(1, 3)), ends=i == len(batches) - 1)
        cluster.save()
        if i in restarts:
            cluster.restart()
        news = [row["window_end"] for row in cluster.results[given:]]
        given += len(news)
        assert not news or last < min(news)
        last = max([last, *news])
    expected = oracle.answer(elements, window, keys=keys, aggregates=calls, emit=emit)
    assert streams.comparable(expected.results) == streams.comparable(cluster.results)


@settings(max_examples=20_000 if SOAK else 25, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True, extremes=False))
def test_rows_leave_sorted_where_there_is_no_window(data: st.DataObject, elements: list[Any]) -> None:
    cluster = Cluster(OrderedOutput(STREAM), shards=data.draw(st.integers(1, 4)))
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 40), max_size=6)))
    _drive(cluster, batches, data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 12))))
    steps = list(in_order([*elements, Punctuation(END)], "ts"))
    assert sorted(row["ts"] for row in cluster.results) == [row["ts"] for row in cluster.results]
    expected = ({name: row[name] for name in SCHEMA.names} for step in steps for row in step.leaving)
    assert streams.comparable(expected) == streams.comparable(cluster.results)
    assert sum(len(step.late) for step in steps) == cluster.total("late")


@settings(max_examples=20_000 if SOAK else 30, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True))
def test_windows_given_in_slices_are_the_same(data: st.DataObject, elements: list[Any]) -> None:
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks()))
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    calls, emit = (AggregateCall("n", "count"), AggregateCall("m", "max", Column("x"))), data.draw(EMITS)
    node = WindowAggregate(STREAM, window, keys, calls, emit=emit)
    flush = Flush(data.draw(st.sampled_from((When.SLOW, When.LAZY))), data.draw(st.integers(1, 3)), cells=4)
    cluster = Cluster(node, shards=data.draw(st.integers(1, 3)), flush=flush)
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 40), max_size=6)))
    _drive(cluster, batches, data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 12))))
    expected = oracle.answer(elements, window, keys=keys, aggregates=calls, emit=emit)
    assert streams.comparable(expected.results) == streams.comparable(cluster.results)
    assert expected.account.late == cluster.total("late")
    assert 0 == cluster.total("waiting")


@st.composite
def counted_windows(draw: st.DrawFn) -> WindowAggregate:
    """Windows that count rows: of rows, by arrival or by time, and those that end with rows."""
    calls = tuple(
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(draw(streams.aggregate_lists()))
    )
    partition = draw(st.sampled_from(((), ("k",), ("g",), ("k", "g"))))
    window: RowsWindow | SlideByTuple = draw(
        st.one_of(
            st.builds(RowsWindow, LENGTHS, LENGTHS, st.just(partition), st.sampled_from((None, "ts"))),
            streams.slide_by_tuple(partition=partition),
        )
    )
    more = draw(st.sampled_from(((), ("g",), ("y",)))) if isinstance(window, RowsWindow) or not partition else ()
    keys = tuple((name, Column(name)) for name in dict.fromkeys((*more, *partition)))
    emit, late = draw(EMITS), draw(st.sampled_from((Late.DROP, Late.SIDE)))
    return WindowAggregate(STREAM, window, keys, calls, emit=emit, late=late, lateness=draw(st.sampled_from(Lateness)))


@settings(max_examples=20_000 if SOAK else 30, deadline=None)
@given(data=st.data(), node=counted_windows(), elements=streams.elements(late=True))
def test_rows_are_counted_as_they_came(data: st.DataObject, node: WindowAggregate, elements: list[Any]) -> None:
    cluster = Cluster(node, shards=data.draw(st.integers(1, 4)), seed=data.draw(st.integers(0, 99)))
    batches = micro_batches(elements, data.draw(st.sets(st.integers(0, 40), max_size=6)))
    tasks, restarts = data.draw(st.integers(1, 3)), data.draw(st.sets(st.integers(0, 12)))
    asked: dict[str, Any] = {"keys": node.keys, "aggregates": node.aggregates, "emit": node.emit}
    try:
        expected = oracle.answer(elements, node.window, late=node.late.value, lateness=node.lateness.value, **asked)
    except SumOverflowError:
        return
    _drive(cluster, batches, tasks, restarts)
    assert streams.comparable(approximately(expected.results, node.aggregates)) == streams.comparable(
        approximately(cluster.results, node.aggregates)
    )
    assert expected.account.late == cluster.total("late")
