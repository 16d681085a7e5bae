"""Merging pane cells does what processing their rows does, whoever made the cells and of whichever rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import STREAM
from tests.operators.low_levels import (
    ALL,
    BOUNDED,
    SLIDING,
    WILD,
    batch_of,
    cells_of,
    low_level,
    operator_of,
    query,
    row,
)
from tests.saved import whole_tables
from windrow.errors import SumOverflowError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.partials import PaneAggregate, Partials
from windrow.operators.base import Batch, Element
from windrow.operators.divided.routing import shards_of
from windrow.physical.pane_cells import why_not_partial
from windrow.plan.nodes import AggregateCall, Lateness, WindowAggregate
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Landmark

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []


@dataclass
class Seen:
    """What an operator said: answers and promises, its counters, and whether a sum was too large."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    promises: list[int] = field(default_factory=list)
    counters: list[tuple[int, int, int]] = field(default_factory=list)
    overflow: bool = False

    def take(self, said: Iterable[Element]) -> None:
        for element in said:
            if isinstance(element, Punctuation):
                self.promises.append(element.value)
            elif isinstance(element, Batch):
                self.answers += element.data.to_pylist()


def seen(
    segments: Sequence[tuple[list[dict[str, Any]], int]],
    operator: WindowAggregateOperator,
    feed: Callable[[WindowAggregateOperator, list[dict[str, Any]]], Iterable[Element]],
    change: Callable[[WindowAggregateOperator], WindowAggregateOperator] = lambda operator: operator,
) -> tuple[Any, ...]:
    """Feed rows and the punctuation after them, segment by segment, and tell what came of each."""
    told = Seen()
    try:
        for rows, value in segments:
            told.take(feed(operator, rows))
            operator = change(operator)
            told.take(operator.punctuate(Punctuation(value)))
            told.counters.append((operator.counters.rows_in, operator.counters.late, operator.counters.results))
    except SumOverflowError:
        told.overflow = True
    return streams.comparable(told.answers) if not told.overflow else [], told.promises, told.counters, told.overflow


def segments_of(elements: Iterable[streams.Element]) -> list[tuple[list[dict[str, Any]], int]]:
    """Runs of rows with the punctuation that follows each; the last is the end."""
    segments: list[tuple[list[dict[str, Any]], int]] = []
    rows: list[dict[str, Any]] = []
    for element in [*elements, Punctuation(END)]:
        if isinstance(element, Punctuation):
            segments.append((rows, element.value))
            rows = []
        else:
            rows.append(element)
    return segments


COUNT = AggregateCall("n", "count")


@st.composite
def nodes(draw: st.DrawFn) -> WindowAggregate:
    """Queries that can be computed from cells."""
    node = WindowAggregate(
        STREAM,
        draw(st.one_of(streams.sliding(), streams.landmarks())),
        tuple((name, Column(name)) for name in draw(st.sampled_from(((), ("k",), ("g",), ("k", "g"), ("y",))))),
        (COUNT,),
        emit=draw(st.sampled_from((Emit.NONEMPTY, Emit.EMPTY))),
        lateness=draw(st.sampled_from(Lateness)),
    )
    drawn = streams.calls(draw(streams.aggregate_lists(BOUNDED)))
    calls = [AggregateCall(c.name, c.function, c.argument, c.parameters) for c in drawn]
    fit = tuple(call for call in calls if why_not_partial(replace(node, aggregates=(call,))) is None)
    return replace(node, aggregates=fit or (COUNT,))


@settings(max_examples=25_000 if SOAK else 80)
@given(data=st.data())
def test_merge_does_what_process_does(data: st.DataObject) -> None:
    node = data.draw(nodes())
    segments = segments_of(data.draw(streams.elements(late=True)))
    levels = [low_level(node) for _ in range(data.draw(st.integers(1, 3)))]
    owner = st.integers(0, len(levels) - 1)
    dictionary, restores = data.draw(st.booleans()), data.draw(st.booleans())
    without = data.draw(st.sampled_from((None, None, 2)))
    draw_size = st.integers(1, 20)

    def process(operator: WindowAggregateOperator, rows: list[dict[str, Any]]) -> Iterable[Element]:
        if rows:
            yield from operator.process(batch_of(rows, without=without))

    def merge(operator: WindowAggregateOperator, rows: list[dict[str, Any]]) -> Iterable[Element]:
        while rows:
            size, level = data.draw(draw_size), levels[data.draw(owner)]
            level.add(batch_of(rows[:size], dictionary=dictionary, without=without))
            rows = rows[size:]
            if data.draw(st.booleans()):
                yield from merged(operator, level)
        for level in levels:
            yield from merged(operator, level)

    def merged(operator: WindowAggregateOperator, level: PaneAggregate) -> Iterable[Element]:
        taken = level.take()
        if taken is not None:
            yield from operator.merge(Partials.from_batch(taken.to_batch()))

    def restored(operator: WindowAggregateOperator) -> WindowAggregateOperator:
        if not restores:
            return operator
        fresh = operator_of(node)
        fresh.restore(whole_tables(operator.state()))
        return fresh

    assert seen(segments, operator_of(node), process) == seen(segments, operator_of(node), merge, restored)


@settings(max_examples=10_000 if SOAK else 70)
@given(data=st.data())
def test_shards_that_witness_each_other_give_the_answers_of_one(data: st.DataObject) -> None:
    node = data.draw(nodes())
    segments = segments_of(data.draw(streams.elements(late=True, extremes=False)))
    single, shards = operator_of(node), [operator_of(node) for _ in range(data.draw(st.integers(2, 3)))]
    one, many = Seen(), Seen()
    level = low_level(node)
    for rows, value in segments:
        level.add(batch_of(rows))
        one.take(single.process(batch_of(rows)))
        cells = level.take()
        for shard, operator in enumerate(shards):
            operator.witness(level.latest)
            if cells is not None:
                mine = shards_of(cells.keys, len(cells), len(shards)) == shard
                many.take(operator.merge(cells.take(mine)))
        for operator, told in ((single, one), *((operator, many) for operator in shards)):
            told.take(operator.punctuate(Punctuation(value)))
    assert streams.comparable(one.answers) == streams.comparable(many.answers)
    for name in ("rows_in", "late", "results"):
        assert getattr(single.counters, name) == sum(getattr(shard.counters, name) for shard in shards)


@pytest.mark.parametrize("second", WILD)
@pytest.mark.parametrize("first", WILD)
def test_narrow_and_wide_cells_meet_in_either_order(first: str, second: str) -> None:
    """Those that come first have made the operator's columns as wide as theirs; the others are wider, or narrower."""
    node = query(*ALL, window=SLIDING)
    both = [(WILD[first] + WILD[second], END)]

    def merge(operator: WindowAggregateOperator, rows: list[dict[str, Any]]) -> Iterable[Element]:
        for part in (first, second):
            yield from operator.merge(cells_of(node, WILD[part]))

    def process(operator: WindowAggregateOperator, rows: list[dict[str, Any]]) -> Iterable[Element]:
        return operator.process(batch_of(rows))

    expected = seen(both, operator_of(node), process)
    assert not expected[-1]
    assert expected == seen(both, operator_of(node), merge)


def test_sums_that_overflow_only_together_stay_exact() -> None:
    """Each low level is sure that its own sum fits into one column."""
    node = query(("avg", "x"), keys=())
    large = (1 << 62) - 1
    parts = [cells_of(node, [row(ts, x=large)]) for ts in (1, 2, 3)]
    assert [1, 1, 1] == [part.layout[1]["width"] for part in parts]
    operator, told = operator_of(node), Seen()
    for part in parts:
        told.take(operator.merge(part))
    told.take(operator.punctuate(Punctuation(END)))
    assert [float(large)] == [answer["a0"] for answer in told.answers]


def test_late_cells_are_counted_by_their_rows() -> None:
    """RANGE 20 SLIDE 10, closed at 30: rows from 20 on count in the window up to 40, rows below in none.

    |----- 0..20 -----|
             |---- 10..30 ----|
                      |---- 20..40 ----|
    """
    node = query(("count", None), window=SLIDING)
    operator, told = operator_of(node), Seen()
    told.take(operator.punctuate(Punctuation(35)))
    told.take(operator.merge(cells_of(node, [row(5), row(6), row(22), row(24), row(25), row(31)])))
    assert (6, 5) == (operator.counters.rows_in, operator.counters.late)
    told.take(operator.punctuate(Punctuation(END)))
    assert [(40, 4), (50, 1)] == [(answer["window_end"], answer["a0"]) for answer in told.answers]


def test_consistent_lateness_counts_late_cells_in_no_window() -> None:
    node = query(("count", None), window=SLIDING, lateness=Lateness.CONSISTENT)
    operator, told = operator_of(node), Seen()
    told.take(operator.punctuate(Punctuation(30)))
    told.take(operator.merge(cells_of(node, [row(22), row(31)])))
    told.take(operator.punctuate(Punctuation(END)))
    assert 1 == operator.counters.late
    assert [(40, 1), (50, 1)] == [(answer["window_end"], answer["a0"]) for answer in told.answers]


def test_a_witness_makes_landmark_windows_last_until_it() -> None:
    """The row of another shard, at 25, asks for the windows that end at 20 and 30 in this shard, too."""
    node = query(("count", None), window=Landmark("ts", 10))
    operator, told = operator_of(node), Seen()
    told.take(operator.merge(cells_of(node, [row(5)])))
    operator.witness(START)
    operator.witness(25)
    told.take(operator.punctuate(Punctuation(END)))
    assert [(10, 1), (20, 1), (30, 1)] == [(answer["window_end"], answer["a0"]) for answer in told.answers]


def test_a_witness_that_saw_nothing_changes_nothing() -> None:
    operator = operator_of(query(("count", None), window=Landmark("ts", 10)))
    operator.witness(START)
    assert 0 == operator.open_windows


def test_many_groups_split_among_shards_give_every_answer_once() -> None:
    node = query(("sum", "x"), ("last", "y"), keys=("g",))
    rows = [row(i % 40, g=i % 5_000, x=i, y=float(i)) for i in range(20_000)]
    whole = cells_of(node, rows)
    shards = shards_of(whole.keys, len(whole), 3)
    single, parts = Seen(), Seen()
    for told, chosen in [(single, whole), *((parts, whole.take(shards == shard)) for shard in range(3))]:
        operator = operator_of(node)
        told.take(operator.merge(chosen))
        told.take(operator.punctuate(Punctuation(END)))
    assert 20_000 == whole.rows
    assert streams.comparable(single.answers) == streams.comparable(parts.answers)
    assert 5_000 == len({answer["g"] for answer in single.answers})
