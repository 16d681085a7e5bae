"""AdaptWID equals the oracle wherever its thresholds are, and does not thrash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import EMITS, KEYS, SCHEMA, STREAM, Split, answer, approximately
from tests.saved import whole_tables
from windrow.errors import SumOverflowError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch
from windrow.operators.windows.adaptive import eager_groups as standings
from windrow.operators.windows.adaptive import windower as adaptive
from windrow.operators.windows.adaptive.windower import AdaptWid
from windrow.pipeline.build import build
from windrow.plan.nodes import AggregateCall, Late, Lateness, Strategy, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []


@dataclass(frozen=True)
class Habits:
    """Where the thresholds are, and how much is done at once."""

    upper: float
    lower: float
    patience: int
    review: int
    block: int
    pending: int

    @contextmanager
    def hold(self) -> Iterator[None]:
        with (
            patch.multiple(
                standings,
                UPPER=self.upper,
                LOWER=self.lower,
                PATIENCE=self.patience,
                FEW=0,
            ),
            patch.multiple(
                adaptive,
                REVIEW_ROWS=self.review,
                REVIEW_GROWTH=1,
                BLOCK_ROWS=self.block,
                BLOCK_WINDOWS=3,
                PENDING=self.pending,
            ),
        ):
            yield


HABITS = st.builds(
    Habits,
    st.sampled_from((0.0, 0.05, 0.1, 0.2)),
    st.sampled_from((0.0, 0.05, 0.2, 10.0)),
    st.integers(1, 2),
    st.integers(0, 8),
    st.sampled_from((1, 7, 1000)),
    st.sampled_from((0, 3, 1000)),
)


def plans(data: st.DataObject) -> tuple[WindowAggregate, list[AggregateCall]]:
    shapes = streams.calls(data.draw(streams.aggregate_lists()))
    calls = [AggregateCall(c.name, c.function, c.argument, c.parameters) for c in shapes]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    window, emit, lateness = data.draw(streams.sliding()), data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    settings = {"emit": emit, "late": Late.SIDE, "lateness": lateness, "strategy": Strategy.ADAPTIVE}
    return WindowAggregate(STREAM, window, keys, tuple(calls), **settings), calls


@settings(max_examples=10_000 if SOAK else 75)
@given(data=st.data(), habits=HABITS)
def test_any_thresholds_give_the_answer_of_the_oracle(data: st.DataObject, habits: Habits) -> None:
    plan, calls = plans(data)
    elements, cuts = data.draw(streams.elements(late=True)), data.draw(st.sets(st.integers(0, 40)))
    try:
        expected = oracle.answer(
            elements, plan.window, keys=plan.keys, aggregates=calls, emit=plan.emit, late="side",
            lateness=plan.lateness.value,
        )  # fmt: skip
    except SumOverflowError:
        return
    with habits.hold():
        results, late, metrics = answer(plan, Split(elements, cuts))
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
        approximately(results, calls)
    )
    account = expected.account
    assert (account.used, account.late, account.rows_in) == (metrics.rows_used, metrics.rows_late, metrics.rows_in)
    assert len(expected.missed) == len(late)


@settings(max_examples=10_000 if SOAK else 60)
@given(data=st.data(), habits=HABITS)
def test_state_saved_and_restored_anywhere_gives_the_same_answer(data: st.DataObject, habits: Habits) -> None:
    plan, _ = plans(data)
    elements, cuts = data.draw(streams.elements(late=True, extremes=False)), data.draw(st.sets(st.integers(0, 40)))
    with habits.hold():
        expected, _, _ = answer(plan, Split(elements, cuts))
        results: list[dict[str, Any]] = []
        pieces = [*Split(elements, cuts, schema=SCHEMA).elements(), Punctuation(END)]
        pipeline = build(plan)
        for piece in pieces:
            again = build(plan)
            for old, new in zip(pipeline.stages, again.stages, strict=True):
                new.operator.restore(whole_tables(old.operator.state()))
            pipeline = again
            pipeline.ends[0].on_result = lambda batch: results.extend(batch.to_pylist())
            pipeline.push("s", piece if isinstance(piece, Punctuation) else Batch.unread(piece))
    assert streams.comparable(expected) == streams.comparable(results)


def windower_of(plan: WindowAggregate) -> tuple[Any, AdaptWid]:
    pipeline = build(plan)
    operator = next(s.operator for s in pipeline.stages if isinstance(s.operator, WindowAggregateOperator))
    assert isinstance(operator.windower, AdaptWid)
    return pipeline, operator.windower


def counted(window: Sliding) -> WindowAggregate:
    return WindowAggregate(
        STREAM, window, (("k", Column("k")),), (AggregateCall("n", "count"),), strategy=Strategy.ADAPTIVE
    )


def feed(pipeline: Any, times: list[int], key: str) -> None:
    size = len(times)
    columns: dict[str, list[Any]] = {"ts": times, "k": [key] * size, "g": [0] * size, "x": [0] * size}
    columns["y"] = [0.0] * size
    batch = pa.RecordBatch.from_pydict(columns, schema=SCHEMA)
    pipeline.push("s", Batch.unread(batch))


def noted_switches(windower: AdaptWid) -> list[int]:
    """Grows by an item whenever a group becomes eager or lazy."""
    known, switches = windower.standings, []
    become_eager, judge = known._raise, known.judge

    def noting_eager(groups: Any, codes: Any) -> None:
        switches.extend(groups.tolist())
        become_eager(groups, codes)

    def noting_lazy(parts: Any) -> None:
        before = np.count_nonzero(known.levels)
        judge(parts)
        switches.extend([-1] * int(before - np.count_nonzero(known.levels)))

    patch.multiple(known, _raise=noting_eager, judge=noting_lazy).start()
    return switches


def switches_of_a_hovering_group(window: Sliding) -> int:
    """For some panes more rows a pane than are worth cells, for some fewer, again and again."""
    pipeline, windower = windower_of(counted(window))
    switches = noted_switches(windower)
    panes = window.range // window.slide
    counts = np.arange(1, 1000)
    burdens = windower.standings.memory.burden(panes * counts, np.full(len(counts), panes))
    worth = int(counts[burdens > standings.UPPER][0])
    for pane in range(160):
        feed(pipeline, [10 * pane + 1] * (worth + (-2, 2)[pane // 16 % 2]), "a")
        pipeline.push("s", Punctuation(10 * pane))
    return len(switches)


WINDOWS = pytest.mark.parametrize("window", [Sliding("ts", 10, 10), Sliding("ts", 50, 10)], ids=["tumbling", "sliding"])


@WINDOWS
def test_a_group_that_hovers_at_the_threshold_hardly_switches(window: Sliding) -> None:
    """One way, once, is what that should cost."""
    assert 1 == switches_of_a_hovering_group(window)


@WINDOWS
def test_with_one_threshold_it_would_switch_to_and_fro(window: Sliding) -> None:
    """What the second threshold is for; the test above would see it."""
    with patch.multiple(standings, LOWER=standings.UPPER):
        assert switches_of_a_hovering_group(window) > 4


def test_a_dense_group_is_eager_and_a_sparse_one_is_not() -> None:
    pipeline, windower = windower_of(counted(Sliding("ts", 50, 10)))
    for pane in range(20):
        feed(pipeline, [10 * pane + 5] * 200, "dense")
        feed(pipeline, [10 * pane + 5], "sparse")
        pipeline.push("s", Punctuation(10 * pane))
    assert [0] == windower.standings.outer.tolist()
    assert {1} == set(windower.kept.used("code").tolist())


def test_a_group_that_thins_out_becomes_lazy_and_its_cells_leave_with_their_windows() -> None:
    """Transitional: it keeps rows while the cells of old windows are still there."""
    pipeline, windower = windower_of(counted(Sliding("ts", 50, 10)))
    results: list[Any] = []
    pipeline.ends[0].on_result = lambda batch: results.extend(batch.to_pylist())
    seen = set()
    for pane in range(30):
        feed(pipeline, [10 * pane + 5] * (500 if pane < 5 else 1), "a")
        pipeline.push("s", Punctuation(10 * pane))
        cells = windower.cells.count + len(windower.timeline.codes_in_use())
        seen.add((cells > 0, len(windower.kept) > 0))
    seen.discard((False, False))  # the first rows wait to be looked at
    assert {(True, False), (True, True), (False, True)} == seen
    assert [5] * 10 == [row["n"] for row in results[-10:]]


def test_many_rows_in_overlapping_windows_are_not_read_again_and_again() -> None:
    """One row a pane is less than a cell, but a thousand of them would be read for every window."""
    pipeline, windower = windower_of(counted(Sliding("ts", 10_000, 10)))
    switches = noted_switches(windower)
    for pane in range(2200):
        feed(pipeline, [10 * pane], "a")
        pipeline.push("s", Punctuation(10 * pane))
    assert len(windower.kept) == 0
    assert 1 == len(switches)


def test_lazy_groups_take_less_than_cells() -> None:
    groups = 20_000
    calls = (AggregateCall("s", "sum", Column("x")),)
    plan = WindowAggregate(STREAM, Sliding("ts", 10, 10), (("g", Column("g")),), calls)
    columns = {"ts": np.full(groups, 1), "g": np.arange(groups), "x": np.arange(groups) % 1000}
    batch = pa.RecordBatch.from_pydict({**columns, "k": [None] * groups, "y": [None] * groups}, schema=SCHEMA)
    sizes = {}
    for strategy in ("panes", "wid", "buffer", "adaptive"):
        pipeline = build(replace(plan, strategy=Strategy(strategy)))
        pipeline.push("s", Batch.unread(batch))
        operators = [stage.operator for stage in pipeline.stages]
        sizes[strategy] = sum(o.state_bytes for o in operators if isinstance(o, WindowAggregateOperator))
    kept = sizes.pop("adaptive")
    assert 4 * kept < min(sizes["panes"], sizes["wid"])
    assert sizes["buffer"] <= kept  # of a row it keeps the same, of groups nothing
