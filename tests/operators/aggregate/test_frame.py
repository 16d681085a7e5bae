"""What every kind of window has from the frame: promises, counts of late rows, state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_oracle import STREAM, Split
from tests.saved import whole_tables
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch, Element, LateRows
from windrow.physical.planner import choose
from windrow.pipeline.build import build
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, Late, WindowAggregate
from windrow.semantics.progress.policies import END, START, External, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window

LATE_AFTER_A_LULL: list[Any] = [{"t": 5}, Punctuation(100), {"t": 47}, Punctuation(200), {"t": 250}]
NOTHING_IN_TIME: list[Any] = [Punctuation(100), {"t": 47}, Punctuation(200), {"t": 33}, {"t": 250}]


@pytest.mark.parametrize("strategy", ["panes", "buffer"])
@pytest.mark.parametrize("elements", [LATE_AFTER_A_LULL, NOTHING_IN_TIME], ids=["lull", "nothing in time"])
def test_no_landmark_result_comes_below_the_promise(elements: list[Any], strategy: str) -> None:
    """A late row asks for windows that no row asked for before: after 5 and punctuation 100, 47 asks for 20 to 50."""

    def landmarks() -> wr.Query:
        stream = wr.stream(list(elements), time="t", progress=External(), schema=pa.schema({"t": pa.int64()}))
        return stream.window(range="unbounded", slide=10).agg(n=wr.count()).strategy(strategy)

    plain: Any = landmarks().run().table
    nested: Any = landmarks().window(range=50).agg(windows=wr.count(), total=wr.sum("n")).run().table
    assert plain.num_rows == sum(nested["windows"].to_pylist())
    assert sum(plain["n"].to_pylist()) == sum(nested["total"].to_pylist())


KINDS = st.one_of(
    streams.windows(), streams.slide_by_tuple(), st.builds(RowsWindow, st.integers(1, 4), st.integers(1, 4))
)


def given_by(node: WindowAggregate, elements: list[Any], cuts: set[int]) -> Iterator[Element]:
    """What the window operator gives, element by element."""
    operators: list[Any] = [stage.operator for stage in build(node).stages]
    window, source = operators
    for element in [*Split(elements, cuts).elements(), Punctuation(END)]:
        read = source.punctuate(element) if isinstance(element, Punctuation) else source.process(Batch.unread(element))
        for made in read:
            yield from window.punctuate(made) if isinstance(made, Punctuation) else window.process(made)


@settings(max_examples=300)
@given(KINDS, streams.elements(), st.sampled_from(((), ("g",))), st.sampled_from(Emit), st.sets(st.integers(0, 40)))
def test_no_result_comes_below_a_promise(
    window: Window, elements: list[Any], keys: tuple[str, ...], emit: Emit, cuts: set[int]
) -> None:
    """Also not an empty window, of which is heard only with the next that its group has rows in."""
    named, calls = tuple((name, Column(name)) for name in keys), (AggregateCall("n", "count"),)
    promised = START
    for element in given_by(WindowAggregate(STREAM, window, named, calls, emit=emit), elements, cuts):
        if isinstance(element, Punctuation):
            assert element.value >= promised
            promised = element.value
        elif isinstance(element, Batch):
            assert element.times.min() >= promised


def test_a_window_above_empty_windows_waits_for_them() -> None:
    """Group a is silent from 5 to 95: its windows 20 to 90 are known to be empty only then."""
    elements: list[Any] = [{"t": 5, "k": "a"}, Punctuation(60), {"t": 95, "k": "a"}]
    kinds: dict[str, pa.DataType] = {"t": pa.int64(), "k": pa.string()}
    schema = pa.schema(kinds)
    stream = wr.stream(elements, time="t", progress=External(), schema=schema)
    inner = stream.group_by("k").window(range=10).emit("empty").agg(n=wr.count())
    found: Any = inner.window(range=50).agg(windows=wr.count(), total=wr.sum("n")).run().table
    assert [(50, 4, 1), (100, 5, 0), (150, 1, 1)] == list(
        zip(*(found[name].to_pylist() for name in ("window_end", "windows", "total")), strict=True)
    )


WINDOWS: dict[str, Window] = {
    "sliding": Sliding("ts", 20, 5),
    "tumbling": Sliding("ts", 10, 10),
    "landmark": Landmark("ts", 10),
    "session": Session("ts", 4),
    "per row": SlideByTuple("ts", 10, every=2),
    "last rows": RowsWindow(4, 2),
    "last rows in order": RowsWindow(4, 2, order="ts"),
}
TIMES = [3, 9, 4, 21, 7, 22, 40, 38, 60, 5]


def frame_of(kind: str, late: Late) -> WindowAggregateOperator:
    calls = (AggregateCall("n", "count"), AggregateCall("s", "sum", Column("x")))
    node = WindowAggregate(STREAM, WINDOWS[kind], (("k", Column("k")),), calls, late=late)
    return WindowAggregateOperator(node, shape_of(node.input), shape_of(node), choose(node))


def rows_at(*times: int) -> Batch:
    rows = [dict.fromkeys(STREAM.schema.names) | {"ts": t, "k": "ab"[t % 2], "x": t} for t in times]
    return Batch(pa.RecordBatch.from_pylist(rows, STREAM.schema), np.array(times, np.int64), source="s")


def fed(operator: WindowAggregateOperator, place: int) -> list[Element]:
    """A row, and the promise that no row more than 10 below it comes."""
    bound = max(TIMES[: place + 1]) - 10
    return [*operator.process(rows_at(TIMES[place])), *operator.punctuate(Punctuation(bound))]


def shown(elements: Iterable[Element]) -> list[Any]:
    """Which group of a window comes first is no part of an answer."""
    return [e.value if isinstance(e, Punctuation) else sorted(e.data.to_pylist(), key=str) for e in elements]  # type: ignore[union-attr]


@pytest.mark.parametrize("late", [Late.DROP, Late.SIDE])
@pytest.mark.parametrize("kind", WINDOWS)
def test_state_saved_after_any_row_brings_back_the_same_operator(kind: str, late: Late) -> None:
    whole, again = frame_of(kind, late), frame_of(kind, late)
    for place in range(len(TIMES)):
        saved = whole_tables(again.state())
        again = frame_of(kind, late)
        again.restore(saved)
        assert shown(fed(whole, place)) == shown(fed(again, place))
    assert shown(whole.punctuate(Punctuation(END))) == shown(again.punctuate(Punctuation(END)))
    assert whole.counters == again.counters


@pytest.mark.parametrize("kind", WINDOWS)
def test_late_rows_are_counted_and_given(kind: str) -> None:
    """By arrival no row is late; all others have lost 7 and 5, and in some windows maybe more."""
    operator = frame_of(kind, Late.SIDE)
    given = [e for place in range(len(TIMES)) for e in fed(operator, place) if isinstance(e, LateRows)]
    told = [row["ts"] for e in given for row in e.data.to_pylist()]
    assert ([] if kind == "last rows" else [7, 5]) == told
    assert (len(TIMES), len(told)) == (operator.counters.rows_in, operator.counters.late)
    assert (len(told), len(told)) == (operator.late_rows(0), operator.lost_rows(0))


@pytest.mark.parametrize("kind", WINDOWS)
def test_a_promise_is_given_once(kind: str) -> None:
    operator = frame_of(kind, Late.DROP)
    promises = [e.value for place in range(len(TIMES)) for e in fed(operator, place) if isinstance(e, Punctuation)]
    assert sorted(set(promises)) == promises
    assert [END] == [e.value for e in operator.punctuate(Punctuation(END)) if isinstance(e, Punctuation)]
    assert [] == list(operator.punctuate(Punctuation(END)))
