"""What a window operator promises of its results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import windrow as wr
from tests import strategies as streams
from tests.engines.local.answers.test_oracle import STREAM, Split
from windrow.operators.base import Batch, Element
from windrow.pipeline.build import build
from windrow.plan.nodes import AggregateCall, WindowAggregate
from windrow.semantics.progress.policies import END, START, External, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Rows, Window

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


KINDS = st.one_of(streams.windows(), streams.slide_by_tuple(), st.builds(Rows, st.integers(1, 4), st.integers(1, 4)))


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
