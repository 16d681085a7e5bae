"""The first rows of a stream choose the algorithm, and no answer depends on which it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import EMITS, KEYS, SCHEMA, STREAM, Split, answer
from tests.saved import whole_tables
from windrow.operators.aggregate import algorithm as choosing
from windrow.operators.aggregate.algorithm import measured
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.physical.how import How
from windrow.physical.planner import Choice
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline
from windrow.plan.nodes import AggregateCall, Lateness, Strategy, WindowAggregate
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding

TRIAL = How(trial=True)
STRATEGIES = st.sampled_from([strategy for strategy in Strategy if strategy is not Strategy.AUTO])


@contextmanager
def choosing_always(strategy: Strategy, enough: int) -> Iterator[None]:
    with patch.multiple(choosing, choose=lambda *_: Choice(strategy, ("of the test",)), ENOUGH=enough):
        yield


def plans(data: st.DataObject) -> WindowAggregate:
    calls = tuple(
        AggregateCall(f"a{i}", function, None if column is None else Column(column))
        for i, (function, column) in enumerate([("count", None), ("sum", "x"), ("max", "y"), ("last", "x")])
    )
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    lateness = data.draw(st.sampled_from(Lateness))
    return WindowAggregate(STREAM, data.draw(streams.sliding()), keys, calls, emit=data.draw(EMITS), lateness=lateness)


def run(pieces: list[Any], pipeline: Pipeline, saving: int | None = None) -> list[dict[str, Any]]:
    """The answer; before piece `saving` all state is saved, and restored into another pipeline."""
    results: list[dict[str, Any]] = []
    for i, piece in enumerate(pieces):
        if i == saving:
            again = build_of(pipeline)
            for old, new in zip(pipeline.stages, again.stages, strict=True):
                new.operator.restore(whole_tables(old.operator.state()))
            pipeline = again
        pipeline.ends[0].on_result = lambda batch: results.extend(batch.to_pylist())
        pipeline.push("s", piece if isinstance(piece, Punctuation) else Batch.unread(piece))
    return results


def operator_of(pipeline: Pipeline) -> WindowAggregateOperator:
    return next(s.operator for s in pipeline.stages if isinstance(s.operator, WindowAggregateOperator))


def build_of(pipeline: Pipeline) -> Pipeline:
    return build(operator_of(pipeline).node, how=TRIAL)


@settings(max_examples=100)
@given(data=st.data(), strategy=STRATEGIES, enough=st.sampled_from([0, 3, 1000]))
def test_whatever_is_chosen_whenever_the_answer_is_the_same(
    data: st.DataObject, strategy: Strategy, enough: int
) -> None:
    plan = plans(data)
    elements, cuts = data.draw(streams.elements(late=True, extremes=False)), data.draw(st.sets(st.integers(0, 40)))
    expected, _, _ = answer(plan, Split(elements, cuts))
    pieces = [*Split(elements, cuts, schema=SCHEMA).elements(), Punctuation(END)]
    saving = data.draw(st.none() | st.integers(0, len(pieces) - 1))
    with choosing_always(strategy, enough):
        results = run(pieces, build(plan, how=TRIAL), saving)
    assert streams.comparable(expected) == streams.comparable(results)


def counted(window: Sliding, strategy: Strategy = Strategy.AUTO) -> WindowAggregate:
    calls = (AggregateCall("n", "count"),)
    return WindowAggregate(STREAM, window, (("g", Column("g")),), calls, strategy=strategy)


def batch(times: Any, groups: Any) -> Batch:
    size = len(times)
    columns = {"ts": times, "g": groups, "k": [None] * size, "x": [0] * size, "y": [None] * size}
    return Batch.unread(pa.RecordBatch.from_pydict(columns, schema=SCHEMA))


def test_groups_of_one_row_are_kept_as_rows_and_groups_of_many_are_not() -> None:
    size = choosing.ENOUGH
    for groups, expected in ((np.arange(size), Strategy.ADAPTIVE), (np.arange(size) % 8, Strategy.PANES)):
        pipeline = build(counted(Sliding("ts", 10, 10)), how=TRIAL)
        pipeline.push("s", batch(np.arange(size) * 10 // size, groups))
        assert operator_of(pipeline).algorithm.trial is None
        assert expected is operator_of(pipeline).algorithm.choice.strategy


def test_few_rows_choose_nothing() -> None:
    pipeline = build(counted(Sliding("ts", 10, 10)), how=TRIAL)
    pipeline.push("s", batch(list(range(choosing.FEW - 1)), list(range(choosing.FEW - 1))))
    assert operator_of(pipeline).state_bytes > 0
    assert choosing.FEW // 10 + 1 == operator_of(pipeline).open_windows
    pipeline.push("s", Punctuation(END))
    assert (
        Choice(Strategy.PANES, ("RANGE equals SLIDE: each window is one pane",))
        == operator_of(pipeline).algorithm.choice
    )


def test_a_restored_run_keeps_the_strategy_of_its_state() -> None:
    pipeline = build(counted(Sliding("ts", 10, 10)), how=TRIAL)
    with choosing_always(Strategy.BUFFER, 1):
        pipeline.push("s", batch([1], [1]))
    again = build_of(pipeline)
    operator_of(again).restore(whole_tables(operator_of(pipeline).state()))
    assert Choice(Strategy.BUFFER, ("of the test",)) == operator_of(again).algorithm.choice
    assert type(operator_of(pipeline).windower) is type(operator_of(again).windower)


@pytest.mark.parametrize("strategy", [Strategy.WID, Strategy.PANES])
def test_a_strategy_that_was_asked_for_is_not_tried(strategy: Strategy) -> None:
    assert operator_of(build(counted(Sliding("ts", 10, 10), strategy), how=TRIAL)).algorithm.trial is None


def test_statistics_are_those_of_one_window_by_kind_of_group() -> None:
    """Group 0 has 8 rows in 4 panes, group 1 has one; group 2 comes after the window."""
    times = np.array([0, 1, 10, 11, 20, 21, 30, 39, 5, 45])
    rows = GroupedRows(times, np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 2], np.int32), {})
    found = measured(rows, Sliding("ts", 40, 10))
    assert 2 == found.groups
    assert found.rows == pytest.approx(4.5 / 4.1)
    assert [1, 1] == [groups for groups, _ in found.kinds]
    assert [rows for _, rows in found.kinds] == pytest.approx([1 / 4.1, 8 / 4.1])
