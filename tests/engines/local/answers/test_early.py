"""Early results: what is given less what is taken back is the answer, at every moment, and the oracle agrees."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_group_punctuations import EMITS, Run, in_batches, whole_groups
from tests.engines.local.answers.test_oracle import SCHEMA, approximately, strategies_for
from windrow.errors import SumOverflowError
from windrow.plan.nodes import AggregateCall, Lateness, Stream, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.oracle.early_results import early_results, points
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []


def told(results: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [{n: v for n, v in row.items() if n != "kind"} for row in results if row["kind"] == kind]


@settings(max_examples=10_000 if SOAK else 80)
@given(data=st.data())
def test_early_results_are_those_of_the_oracle_and_all_of_them_are_taken_back(data: st.DataObject) -> None:
    window = data.draw(st.one_of(streams.sliding(), streams.landmarks()))
    by = data.draw(st.sampled_from((None, "k", "g")))
    names = (by,) if by else data.draw(st.sampled_from(((), ("k",), ("k", "g"))))
    elements = data.draw(streams.elements(late=True, by=by, extremes=False, max_size=24))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in names)
    emit, lateness, every = data.draw(EMITS), data.draw(st.sampled_from(Lateness)), data.draw(st.integers(1, 40))
    stream = Stream("s", SCHEMA, "ts", External(per=(by,) if by else ()))
    node = WindowAggregate(stream, window, keys, tuple(calls), emit=emit, lateness=lateness, early=Amount.of(every))
    pieces = list(in_batches(elements, data.draw(st.sets(st.integers(0, 24)))))
    restarts = data.draw(st.sets(st.integers(0, max(0, len(pieces) - 1)), max_size=4))
    spelled = whole_groups(elements, names, by) if by else elements
    asked: dict[str, Any] = {"keys": keys, "aggregates": calls, "lateness": lateness.value}
    try:
        expected = oracle.answer(spelled, window, emit=emit, **asked).results
        spoken = points(spelled, window, every, None)
        shown: dict[str, Any] = {**asked, "emit": emit if emit is not Emit.EMPTY else Emit.NONEMPTY}
        early = early_results(spelled, window, spoken, **shown)
    except SumOverflowError:
        return
    for strategy in strategies_for(window):
        note(strategy.value)
        run = Run(replace(node, strategy=strategy))
        for i, piece in enumerate(pieces):
            if i in restarts:
                run.restart()
            run.feed(piece)
        assert streams.comparable(approximately(expected, calls)) == streams.comparable(
            approximately(told(run.results, "final"), calls)
        )
        assert streams.comparable(approximately(early, calls)) == streams.comparable(
            approximately(told(run.results, "early"), calls)
        )
        replayed(run.results)


def replayed(results: list[dict[str, Any]]) -> None:
    """Only what stands is taken back, and only finals stand in the end."""
    standing: Counter[str] = Counter()
    for row in results:
        shown = repr({n: v for n, v in row.items() if n != "kind"})
        standing[shown] += -1 if row["kind"] == "retract" else 1
        assert standing[shown] >= 0
    finals = Counter(repr(row) for row in told(results, "final"))
    assert finals == +standing
