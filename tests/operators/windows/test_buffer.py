"""Buffering equals the oracle however much is unpacked and answered from at once, and keeps few bytes a row."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_oracle import EMITS, KEYS, SCHEMA, STREAM, Split, answer, approximately
from tests.saved import whole_tables
from windrow.errors import SumOverflowError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch
from windrow.operators.windows import buffer
from windrow.pipeline.build import build
from windrow.plan.nodes import AggregateCall, Late, Strategy, WindowAggregate
from windrow.query import Query
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.expressions import Column

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
HABITS = st.builds(
    lambda unpacked, visits, few: {"UNPACKED": unpacked, "VISITS": visits, "FEW": few},
    st.sampled_from((1, 3, 1000)), st.sampled_from((1, 7, 1000)), st.sampled_from((0, 3, 1000)),
)  # fmt: skip


def plans(data: st.DataObject) -> tuple[WindowAggregate, list[AggregateCall]]:
    shapes = streams.calls(data.draw(streams.aggregate_lists()))
    calls = [AggregateCall(c.name, c.function, c.argument, c.parameters) for c in shapes]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks()))
    emit = data.draw(EMITS)
    node = WindowAggregate(STREAM, window, keys, tuple(calls), emit=emit, late=Late.SIDE, strategy=Strategy.BUFFER)
    return node, calls


@settings(max_examples=10_000 if SOAK else 60)
@given(data=st.data(), habits=HABITS)
def test_however_much_is_unpacked_at_once_the_answer_is_that_of_the_oracle(
    data: st.DataObject, habits: dict[str, int]
) -> None:
    plan, calls = plans(data)
    elements, cuts = data.draw(streams.elements(late=True)), data.draw(st.sets(st.integers(0, 40)))
    try:
        expected = oracle.answer(elements, plan.window, keys=plan.keys, aggregates=calls, emit=plan.emit, late="side")
    except SumOverflowError:
        return
    with ExitStack() as stack:
        for name, value in habits.items():
            stack.enter_context(patch.object(buffer, name, value))
        results, late, _ = answer(plan, Split(elements, cuts))
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
        approximately(results, calls)
    )
    assert len(expected.missed) == len(late)


@settings(max_examples=10_000 if SOAK else 40)
@given(data=st.data())
def test_state_saved_and_restored_anywhere_gives_the_same_answer(data: st.DataObject) -> None:
    plan, _ = plans(data)
    elements, cuts = data.draw(streams.elements(late=True, extremes=False)), data.draw(st.sets(st.integers(0, 40)))
    expected, _, _ = answer(plan, Split(elements, cuts))
    results: list[dict[str, Any]] = []
    pipeline = build(plan)
    for piece in [*Split(elements, cuts, schema=SCHEMA).elements(), Punctuation(END)]:
        again = build(plan)
        for old, new in zip(pipeline.stages, again.stages, strict=True):
            new.operator.restore(whole_tables(old.operator.state()))
        pipeline = again
        pipeline.ends[0].on_result = lambda batch: results.extend(batch.to_pylist())
        pipeline.push("s", piece if isinstance(piece, Punctuation) else Batch.unread(piece))
    assert streams.comparable(expected) == streams.comparable(results)


ROWS = 4_096
TRADES = pa.table(
    {
        "ts": pa.array(1_700_000_000_000_000 + 7_000 * np.arange(ROWS)),
        "symbol": pa.array(np.arange(ROWS) % 6),
        "price": pa.array(np.round(61_837.63 + np.arange(ROWS), 2)),
    }
)


def windower_of(query: Query, rows: pa.Table) -> buffer.Buffer:
    """What the rows are in, before a window of them closed."""
    pipeline = build(query.plan)
    pipeline.push("rows", Batch.unread(rows.to_batches()[0]))
    operator = next(s.operator for s in pipeline.stages if isinstance(s.operator, WindowAggregateOperator))
    assert isinstance(operator.windower, buffer.Buffer)
    return operator.windower


@pytest.mark.parametrize(
    "asked",
    [
        {"n": wr.count(), "s": wr.sum("price"), "m": wr.max("price")},
        {"m": wr.median("price")},
        {"n": wr.count(), "s": wr.sum("price"), "m": wr.median("price"), "d": wr.count_distinct("price")},
        {"first": wr.first("price"), "last": wr.last("price")},
    ],
    ids=["adds and compares", "lists", "all of these", "in time"],
)
def test_a_row_is_kept_once_whatever_is_asked_of_it(asked: dict[str, Any]) -> None:
    """Four bytes of time, one of the group, four of a price."""
    stream = wr.stream(TRADES, time="ts", progress=wr.slack(0), name="rows").group_by("symbol")
    query = stream.window(range=3_600_000_000, slide=600_000_000).strategy("buffer").compress("off").agg(**asked)
    windower = windower_of(query, TRADES)
    assert 9 * ROWS == windower.nbytes
    again = buffer.Buffer(windower.window, windower.plan)
    again.restore(whole_tables(windower.state()))
    assert 9 * ROWS == again.nbytes
