"""What late rows tell, under every policy and for every kind of window, is what the oracle says they missed."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_oracle import SCHEMA, STREAM, Split, answer
from windrow.operators.late.judging import COLUMNS
from windrow.plan.checks.windows import within_of
from windrow.plan.nodes import AggregateCall, Late, Lateness, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Sliding, Window

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
ROWS = st.builds(lambda n, m: RowsWindow(n, m, ("k",), "ts"), st.integers(1, 6), st.integers(1, 6))
WINDOWS = {
    Late.DROP: st.one_of(streams.windows(), streams.slide_by_tuple(), ROWS),
    Late.SIDE: st.one_of(streams.windows(), streams.slide_by_tuple(), ROWS),
    Late.REVISE: st.one_of(streams.sliding(), streams.sessions()),
}


def boundary(window: Window, bound: int) -> int:
    """What `late_by` is measured from: the end of the last closed window, where windows end on a grid."""
    if isinstance(window, (Sliding, Landmark)):
        return window.origin + (bound - window.origin) // window.slide * window.slide
    return bound


def told(window: Window, late_by: int, count: int | None, start: int | None, end: int | None) -> tuple[Any, ...]:
    """Landmark windows beyond the last row so far are not known as a row comes; rows in order have no windows."""
    return (late_by, start) if isinstance(window, Landmark) else (late_by, count, start, end)


def missed(window: Window, row: Any, late_by: int, spans: list[Any]) -> tuple[Any, ...]:
    by = boundary(window, row["ts"] + late_by) - row["ts"]
    known = (len(spans), spans[0][0], spans[-1][1]) if spans else (None, None, None)
    return row["ts"], row["k"], *told(window, by, *known)


@settings(max_examples=20_000 if SOAK else 250, deadline=None)
@given(data=st.data(), policy=st.sampled_from(Late), lateness=st.sampled_from(Lateness))
def test_late_rows_tell_what_they_missed(data: st.DataObject, policy: Late, lateness: Lateness) -> None:
    window = data.draw(WINDOWS[policy])
    elements = data.draw(streams.elements(late=True, extremes=False))
    keys = tuple((name, Column(name)) for name in data.draw(st.sampled_from(((), ("k",), ("k", "g")))))
    if isinstance(window, RowsWindow):
        keys = (("k", Column("k")),)
    asked = data.draw(st.one_of(st.none(), st.integers(1, 100).map(Amount.of))) if policy is Late.REVISE else None
    calls = (AggregateCall("n", "count"),)
    node = WindowAggregate(STREAM, window, keys, calls, late=policy, lateness=lateness, within=asked)
    within = within_of(node, Domain.INTEGER) if policy is Late.REVISE else None
    expected = oracle.answer(
        elements, window, keys=keys, aggregates=calls, late=policy.value, lateness=lateness.value, within=within
    )
    _, late, metrics = answer(node, Split(elements, data.draw(st.sets(st.integers(0, 40)))))
    assert expected.account.late == metrics.rows_late
    given = [missed(window, *one) for one in expected.missed] if policy is not Late.DROP else []
    shown = [(row["ts"], row["k"], *told(window, *(row[name] for name in COLUMNS[:4]))) for row in late]
    assert sorted(given, key=repr) == sorted(shown, key=repr)


@pytest.mark.parametrize("lateness", ["generous", "consistent"])
def test_windows_that_are_corrected_are_not_missed(lateness: str) -> None:
    """RANGE 20 SLIDE 10 WITHIN 10, bound 29: of the windows of 5, [-10, 10) is past correction and [0, 20) is not."""
    rows = [{"ts": 5}, {"ts": 29}, {"ts": 5}]
    stream = wr.stream(rows, time="ts", schema=SCHEMA, progress=wr.ordered())
    asked = stream.window(range=20, slide=10).agg(n=wr.count()).late("revise", within=10).lateness(lateness)
    result = asked.run()
    assert [(15, 1, -10, 10)] == [tuple(row[name] for name in COLUMNS[:4]) for row in result.late.to_pylist()]
    corrected = [row for row in result.table.to_pylist() if row["revision"]]
    assert ([(20, 2)] if lateness == "generous" else []) == [(row["window_end"], row["n"]) for row in corrected]
