"""AdaptWID equals the oracle wherever its thresholds are, and does not thrash."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.test_oracle import EMITS, KEYS, SCHEMA, STREAM, Split, answer, approximately
from windrow.engines.build import build
from windrow.engines.local.run import Runner
from windrow.errors import SumOverflowError
from windrow.operators.base import Batch
from windrow.operators.window_aggregate import WindowOperator
from windrow.operators.windows import adaptive, standings
from windrow.operators.windows.adaptive import AdaptWid
from windrow.plan.nodes import AggregateCall, Late, Lateness, Strategy, WindowAggregate
from windrow.semantics import oracle
from windrow.semantics.expressions import Column
from windrow.semantics.progress import Punctuation
from windrow.semantics.windows import Sliding


@dataclass(frozen=True)
class Habits:
    """Where the thresholds are, and how much is done at once."""

    upper: float
    lower: float
    patience: int
    most_rows: int
    review: int
    block: int

    @contextmanager
    def hold(self) -> Iterator[None]:
        with (
            patch.multiple(
                standings, UPPER=self.upper, LOWER=self.lower, PATIENCE=self.patience, MOST_ROWS=self.most_rows
            ),
            patch.multiple(adaptive, REVIEW_ROWS=self.review, BLOCK_ROWS=self.block, BLOCK_WINDOWS=3),
        ):
            yield


HABITS = st.builds(
    Habits,
    st.sampled_from((0.0, 0.05, 0.1, 0.2)),
    st.sampled_from((0.0, 0.05, 0.2, 10.0)),
    st.integers(1, 2),
    st.sampled_from((1, 3, 32)),
    st.integers(0, 8),
    st.sampled_from((1, 7, 1000)),
)


def plans(data: st.DataObject) -> tuple[WindowAggregate, list[AggregateCall]]:
    shapes = streams.calls(data.draw(streams.aggregate_lists()))
    calls = [AggregateCall(c.name, c.function, c.argument, c.parameters) for c in shapes]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    window, emit, lateness = data.draw(streams.sliding()), data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    settings = {"emit": emit, "late": Late.SIDE, "lateness": lateness, "strategy": Strategy.ADAPTIVE}
    return WindowAggregate(STREAM, window, keys, tuple(calls), **settings), calls


@settings(max_examples=1500)
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
