"""Sort: over slack it is the sort with slack, over a union the one that keeps order; the definition agrees."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_group_punctuations import in_batches
from tests.engines.local.answers.test_oracle import SCHEMA
from tests.plan.streams import columns
from tests.saved import whole_tables
from windrow.operators.base import Batch, Counters, Element, Operator, Stateless
from windrow.operators.input.input import Input
from windrow.operators.rowwise.meld import MeldOperator
from windrow.operators.rowwise.sort import SortOperator
from windrow.physical.nodes import Grid
from windrow.pipeline.graph import Pipeline, Stage
from windrow.plan.nodes import Lateness
from windrow.semantics.oracle.in_order import in_order
from windrow.semantics.progress.policies import END, START, External, Policy, Punctuation, Slack, SlackRows, bounds
from windrow.semantics.scalars.amounts import Amount

CUTS = st.sets(st.integers(0, 40))


class Listener(Stateless):
    """Hears everything that comes out at the top."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[Any] = []

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        self.heard += batch.compact().data.to_pylist()
        return ()

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.heard.append(punctuation)
        return ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [element for element in self.heard if not isinstance(element, Punctuation)]


def sorting(sort: SortOperator, policies: Sequence[Policy]) -> tuple[Pipeline, Listener]:
    """Inputs, a union where there are several, a sort, and someone who listens."""
    listener = Listener()
    pipeline = Pipeline()
    top = Stage(sort, "sort", [(Stage(listener, "listener"), 0)])
    if len(policies) > 1:
        top = Stage(MeldOperator(len(policies), SCHEMA), "meld", [(top, 0)])
    for place, policy in enumerate(policies):
        slack = int(policy.amount.number) if isinstance(policy, Slack) else 0
        stage = Stage(Input(f"s{place}", "ts", policy, slack=slack, grid=Grid()), "input", [(top, place)])
        pipeline.inputs[stage.label + str(place)] = [stage]
    return pipeline, listener


def shown(rows: Iterable[Any]) -> list[Any]:
    """Rows with their columns in the order of the schema, as values that `==` compares."""
    found: list[Any] = streams._plain([{name: row[name] for name in SCHEMA.names} for row in rows])
    return found


def restored(operator: Operator, fresh: Operator) -> None:
    fresh.restore(whole_tables(operator.state()))
    fresh.counters = Counters(**vars(operator.counters))


@settings(max_examples=150)
@given(elements=streams.elements(late=True), cuts=CUTS, restarts=CUTS, data=st.data())
def test_a_sort_does_what_the_definition_says(
    elements: list[Any], cuts: Collection[int], restarts: Collection[int], data: st.DataObject
) -> None:
    lateness = data.draw(st.sampled_from(Lateness))
    pipeline, listener = sorting(SortOperator(SCHEMA, lateness=lateness), [External()])
    (entry,) = pipeline.inputs["input0"]
    ((top, _),) = entry.after
    for number, piece in enumerate(in_batches(elements, cuts)):
        if number in restarts:
            fresh = SortOperator(SCHEMA, lateness=lateness)
            restored(top.operator, fresh)
            top.operator = fresh
        pipeline.push("input0", piece if isinstance(piece, Punctuation) else Batch.unread(piece))
    steps = list(in_order([*elements, Punctuation(END)], "ts"))
    leaving, late = [row for s in steps for row in s.leaving], [row for s in steps for row in s.late]
    if lateness is Lateness.CONSISTENT:
        assert shown(leaving) == shown(listener.rows)
        assert len(late) == top.operator.counters.late
    else:
        assert sorted(shown([*leaving, *late]), key=repr) == sorted(shown(listener.rows), key=repr)
        assert 0 == top.operator.counters.late
    assert sum(not isinstance(e, Punctuation) for e in elements) == top.operator.counters.rows_in


def slacks() -> st.SearchStrategy[Policy]:
    in_time = st.integers(0, 40).map(lambda units: Slack(Amount.of(units)))
    return st.one_of(in_time, st.integers(0, 12).map(SlackRows))


def punctuated(rows: Sequence[dict[str, Any]], policy: Policy) -> Iterator[dict[str, Any] | Punctuation]:
    """The rows with what the policy says before each of them."""
    slack = int(policy.amount.number) if isinstance(policy, Slack) else 0
    for row, bound in zip(rows, bounds([row["ts"] for row in rows], policy, slack), strict=True):
        yield Punctuation(bound)
        yield row
    yield Punctuation(END)


@settings(max_examples=150)
@given(elements=streams.elements(late=True), policy=slacks(), cuts=CUTS)
def test_slack_in_time_and_in_rows_drops_what_comes_later_than_it(
    elements: list[Any], policy: Policy, cuts: Collection[int]
) -> None:
    rows = [element for element in elements if not isinstance(element, Punctuation)]
    pipeline, listener = sorting(SortOperator(SCHEMA), [policy])
    for piece in in_batches(rows, cuts):
        pipeline.push("input0", piece if isinstance(piece, Punctuation) else Batch.unread(piece))
    expected = [row for step in in_order(punctuated(rows, policy), "ts") for row in step.leaving]
    assert shown(expected) == shown(listener.rows)


@settings(max_examples=60)
@given(left=streams.elements(late=False), right=streams.elements(late=False), data=st.data())
def test_a_merge_waits_for_its_slowest_input_and_loses_nothing(
    left: list[Any], right: list[Any], data: st.DataObject
) -> None:
    pipeline, listener = sorting(SortOperator(SCHEMA), [External(), External()])
    ports = {"input0": list(in_batches(left, data.draw(CUTS))), "input1": list(in_batches(right, data.draw(CUTS)))}
    reached = dict.fromkeys(ports, START)
    given: list[dict[str, Any]] = []
    while any(ports.values()):
        name = data.draw(st.sampled_from([name for name in ports if ports[name]]))
        piece = ports[name].pop(0)
        if isinstance(piece, Punctuation):
            reached[name] = piece.value
            pipeline.push(name, piece)
        else:
            given += piece.to_pylist()
            pipeline.push(name, Batch.unread(piece))
        bound = min(reached.values())
        due = [row for row in given if bound == END or row["ts"] < bound]
        assert sorted(shown(due), key=repr) == sorted(shown(listener.rows), key=repr)
        times = [row["ts"] for row in listener.rows]
        assert sorted(times) == times


def test_rows_of_equal_time_leave_in_the_order_of_an_answer_where_that_is_asked_for() -> None:
    schema = columns(k=pa.dictionary(pa.int32(), pa.string()), t=pa.int64())
    data = pa.record_batch([pa.array(["b", "a", None, "c"]).dictionary_encode(), pa.array([2, 2, 2, 1])], schema=schema)
    sort = SortOperator(columns(k=pa.string(), t=pa.int64()), time="t")
    assert [] == list(sort.process(Batch(data, data.column("t").to_numpy())))
    batch, promise = sort.punctuate(Punctuation(3))
    assert isinstance(batch, Batch)
    assert ["c", "a", "b", None] == batch.data.column("k").to_pylist()
    assert Punctuation(3) == promise


def test_rows_that_wait_count_as_state() -> None:
    sort = SortOperator(SCHEMA)
    row = pa.RecordBatch.from_pylist([{"ts": 5, "k": "a", "g": 1, "x": 1, "y": 1.0}], SCHEMA)
    list(sort.process(Batch(row, row.column("ts").to_numpy())))
    assert sort.state_bytes >= row.nbytes
    list(sort.punctuate(Punctuation(6)))
    assert 0 == sort.state_bytes


@pytest.mark.parametrize("lateness", Lateness)
def test_a_row_at_the_bound_is_in_time(lateness: Lateness) -> None:
    sort = SortOperator(pa.schema({"t": pa.int64()}), lateness=lateness)
    list(sort.punctuate(Punctuation(5)))
    row = pa.record_batch({"t": pa.array([5])})
    assert [] == list(sort.process(Batch(row, row.column("t").to_numpy())))
