"""Windows given in slices: the same answers, late rows and promises as all at once, each promise after its results."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import EMITS, STREAM
from tests.operators.low_levels import ALL, BOUNDED, SLIDING, TUMBLING, WILD, batch_of, query, row
from tests.saved import whole_tables
from windrow.errors import ConfigurationError, SumOverflowError
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch, Element, LateRows
from windrow.physical.how import Flush, When
from windrow.physical.pane_cells import why_not_smooth
from windrow.physical.planner import Choice
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, Late, Lateness, Strategy, WindowAggregate
from windrow.semantics.progress.policies import END, START, Punctuation
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Landmark, Session

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
COUNT = AggregateCall("n", "count")


def operator_of(node: WindowAggregate, flush: Flush) -> WindowAggregateOperator:
    return WindowAggregateOperator(node, shape_of(node.input), shape_of(node), Choice(Strategy.PANES, ()), flush=flush)


@dataclass
class Heard:
    """What an operator said. A result that lies below a promise given before it breaks that promise."""

    answers: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    promises: list[int] = field(default_factory=list)
    broken: int = 0

    def take(self, said: Iterable[Element]) -> None:
        for element in said:
            if isinstance(element, Punctuation):
                self.promises.append(element.value)
            elif isinstance(element, LateRows):
                self.late += element.data.to_pylist()
            elif isinstance(element, Batch):
                self.answers += element.data.to_pylist()
                self.broken += int(np.count_nonzero(element.times < max(self.promises, default=START)))


@st.composite
def nodes(draw: st.DrawFn) -> WindowAggregate:
    """Queries whose windows can be given in slices."""
    node = WindowAggregate(
        STREAM,
        draw(st.one_of(streams.sliding(), streams.landmarks())),
        tuple((name, Column(name)) for name in draw(st.sampled_from(((), ("k",), ("g",), ("k", "g"), ("y",))))),
        (COUNT,),
        emit=draw(EMITS),
        lateness=draw(st.sampled_from(Lateness)),
        late=draw(st.sampled_from((Late.DROP, Late.SIDE))),
    )
    drawn = streams.calls(draw(streams.aggregate_lists(BOUNDED)))
    calls = [AggregateCall(c.name, c.function, c.argument, c.parameters) for c in drawn]
    fit = tuple(call for call in calls if why_not_smooth(replace(node, aggregates=(call,))) is None)
    return replace(node, aggregates=fit or (COUNT,))


@st.composite
def flushes(draw: st.DrawFn) -> Flush:
    """Slices of few groups, low tables of few places."""
    when = draw(st.sampled_from((When.SLOW, When.LAZY)))
    return Flush(when, draw(st.integers(1, 4)), draw(st.integers(1, 3)), draw(st.sampled_from((1, 2, 8, 64))))


def parts_of(elements: Iterable[streams.Element], cuts: set[int]) -> list[list[dict[str, Any]] | Punctuation]:
    """Runs of rows, cut at these places too, and the punctuations between them; the last is the end."""
    parts: list[list[dict[str, Any]] | Punctuation] = []
    for i, element in enumerate([*elements, Punctuation(END)]):
        if isinstance(element, Punctuation):
            parts.append(element)
        elif parts and isinstance(parts[-1], list) and i not in cuts:
            parts[-1].append(element)
        else:
            parts.append([element])
    return parts


def heard(node: WindowAggregate, flush: Flush, parts: Iterable[Any], restores: Collection[int] = ()) -> Any:
    """Everything said, with a slice of what waits after each part, as an engine does it; None: a sum was too large."""
    told, operator = Heard(), operator_of(node, flush)
    try:
        for i, part in enumerate(parts):
            whole = isinstance(part, Punctuation)
            told.take(operator.punctuate(part) if whole else operator.process(batch_of(part)))
            if i in restores:
                state = whole_tables(operator.state())
                operator = operator_of(node, flush)
                operator.restore(state)
            if operator.smoothing is not None:
                told.take(operator.smoothing.resume())
    except SumOverflowError:
        return None
    counters = operator.counters
    account = counters.rows_in, counters.late, counters.results
    assert 0 == told.broken
    assert sorted(told.promises) == told.promises
    # Empty windows hold promises back until the next row of their group, so what is promised depends on what was given.
    promises = told.promises[-1:] if node.emit is Emit.EMPTY else told.promises
    return streams.comparable(told.answers), streams.comparable(told.late), promises, account


@settings(max_examples=25_000 if SOAK else 60)
@given(data=st.data())
def test_slices_change_nothing_but_when_results_leave(data: st.DataObject) -> None:
    node = data.draw(nodes())
    elements = data.draw(streams.elements(late=True))
    places = st.sets(st.integers(0, 60))
    cut, restores = data.draw(places), data.draw(places)
    expected = heard(node, Flush(), parts_of(elements, set()))
    assert expected == heard(node, data.draw(flushes()), parts_of(elements, cut), restores)


@settings(max_examples=5_000 if SOAK else 40)
@given(data=st.data())
def test_times_that_lie_far_apart(data: st.DataObject) -> None:
    window = data.draw(streams.sliding())
    node = query(("count", None), ("last", "x"), window=window, keys=("k", "g"), late=Late.SIDE)
    parts = parts_of(data.draw(streams.elements(late=True, spread=1 << 51)), set())
    assert heard(node, Flush(), parts) == heard(node, data.draw(flushes()), parts)


@pytest.mark.parametrize("when", [When.SLOW, When.LAZY])
def test_groups_that_come_and_go_are_forgotten(when: When) -> None:
    """Every window has groups of its own; without forgetting there would be 40,000."""
    node = query(("sum", "x"), keys=("g",))
    parts: list[Any] = []
    for window in range(20):
        rows = [row(10 * window + i % 10, g=2_000 * window + i, x=i) for i in range(2_000)]
        parts += [rows[:1_000], rows[1_000:], Punctuation(10 * window + 10)]
    parts.append(Punctuation(END))
    flush = Flush(when, rows=256, windows=2, cells=512)
    assert heard(node, Flush(), parts) == heard(node, flush, parts)
    operator = operator_of(node, flush)
    for part in parts[:-1]:
        list(operator.punctuate(part) if isinstance(part, Punctuation) else operator.process(batch_of(part)))
    assert 20_000 > operator.grouping.count


@pytest.mark.parametrize("second", WILD)
@pytest.mark.parametrize("first", WILD)
def test_cells_on_their_way_widen_with_the_others(first: str, second: str) -> None:
    node = query(*ALL, window=SLIDING)
    parts = [WILD[first], Punctuation(10), WILD[second], Punctuation(END)]
    expected = heard(node, Flush(), parts)
    assert expected is not None
    assert expected == heard(node, Flush(When.SLOW, rows=1, cells=1), parts)


def four_groups(when: When, windows: int) -> tuple[WindowAggregateOperator, Heard]:
    """Four groups in slices of one, closed at 10."""
    operator, told = operator_of(query(("count", None), keys=("g",)), Flush(when, 1, windows, cells=1)), Heard()
    told.take(operator.process(batch_of([row(1, g=g) for g in range(4)])))
    told.take(operator.punctuate(Punctuation(10)))
    return operator, told


def slices(operator: WindowAggregateOperator, told: Heard, count: int) -> list[tuple[int, list[int]]]:
    """Answers and promises so far, after each of some slices."""
    assert operator.smoothing is not None
    seen = []
    for _ in range(count):
        told.take(operator.smoothing.resume())
        seen.append((len(told.answers), told.promises.copy()))
    return seen


def test_slow_gives_a_slice_at_a_time_and_the_promise_last() -> None:
    """The first slice sweeps the low table, which has one place."""
    operator, told = four_groups(When.SLOW, 2)
    assert not told.answers
    assert [(0, []), (1, []), (2, []), (3, []), (4, [20]), (4, [20])] == slices(operator, told, 6)


def test_lazy_begins_a_window_before_results_are_due() -> None:
    operator, told = four_groups(When.LAZY, 3)
    assert [(0, [])] * 9 == slices(operator, told, 9)
    told.take(operator.punctuate(Punctuation(20)))
    assert [(0, [])] * 9 == slices(operator, told, 9)
    told.take(operator.punctuate(Punctuation(30)))
    assert [(0, []), (1, []), (2, []), (3, []), (4, [20]), (4, [20])] == slices(operator, told, 6)


@pytest.mark.parametrize("when", [When.SLOW, When.LAZY])
def test_results_are_behind_by_so_many_windows_and_no_more(when: When) -> None:
    operator, told = four_groups(when, 2)
    told.take(operator.punctuate(Punctuation(20)))
    assert not told.answers
    told.take(operator.punctuate(Punctuation(30)))
    assert (4, [20]) == (len(told.answers), told.promises)


def test_rows_late_for_a_window_that_waits_do_not_count_in_it() -> None:
    """RANGE 20 SLIDE 10, closed at 30 and not given yet: a row at 22 is late for 10..30 and counts in 20..40."""
    node = query(("count", None), window=SLIDING)
    operator, told = operator_of(node, Flush(When.SLOW, rows=1)), Heard()
    told.take(operator.process(batch_of([row(21)])))
    told.take(operator.punctuate(Punctuation(30)))
    told.take(operator.process(batch_of([row(22), row(31)])))
    told.take(operator.punctuate(Punctuation(END)))
    assert [(30, 1), (40, 3), (50, 1)] == [(answer["window_end"], answer["a0"]) for answer in told.answers]
    assert 1 == operator.counters.late


def test_what_waits_and_what_was_driven_out_is_counted() -> None:
    operator, told = four_groups(When.SLOW, 2)
    assert operator.smoothing is not None
    level = operator.smoothing.windower
    assert (4, 3) == (level.waiting, level.low.collisions)
    slices(operator, told, 3)
    assert 2 == level.waiting
    slices(operator, told, 2)
    assert 0 == level.waiting


def test_the_low_level_is_as_large_for_many_groups_as_for_few() -> None:
    node = query(("sum", "x"), keys=("g",))
    sizes = []
    for groups in (10, 20_000):
        operator = operator_of(node, Flush(When.SLOW, cells=256))
        list(operator.process(batch_of([row(1, g=i % groups) for i in range(20_000)])))
        assert operator.smoothing is not None
        sizes.append(operator.smoothing.windower.low.nbytes)
    assert sizes[0] == sizes[1]


REASONS = [
    (query(("median", "x")), r"\Amedian\(x\) keeps values\Z"),
    (query(("count", None), window=Session("ts", 5)), r"\Asession windows have no panes\Z"),
    (query(("count", None), late=Late.REVISE, within=Amount.of(10)), r"\ALATE REVISE looks at closed windows"),
    (query(("count", None), early=Amount.of(10)), r"\AEMIT EARLY looks at open windows of all groups\Z"),
    (query(("count", None), strategy=Strategy.WID), r"\ASTRATEGY wid has no panes\Z"),
]


@pytest.mark.parametrize(("node", "pattern"), REASONS)
def test_windows_that_are_given_at_once_say_why(node: WindowAggregate, pattern: str) -> None:
    assert re.search(pattern, why_not_smooth(node) or "")


@pytest.mark.parametrize("window", [TUMBLING, SLIDING, Landmark("ts", 10)], ids=["tumbling", "sliding", "landmark"])
@pytest.mark.parametrize("options", [{}, {"late": Late.SIDE}, {"emit": Emit.COMPLETE}, {"emit": Emit.EMPTY}])
def test_windows_of_bounded_aggregates_can_be_given_in_slices(window: Any, options: dict[str, Any]) -> None:
    assert why_not_smooth(query(("count", None), window=window, **options)) is None


@pytest.mark.parametrize(("written", "read"), [(When.SLOW, When.EAGER), (When.EAGER, When.LAZY)])
def test_state_is_read_by_an_operator_that_flushes_alike(written: When, read: When) -> None:
    node = query(("count", None))
    state = whole_tables(operator_of(node, Flush(written)).state())
    expected = "slow or lazy" if written is When.SLOW else "eager"
    with pytest.raises(ConfigurationError, match=rf"\A`flush` must be {expected}, as in the run that wrote"):
        operator_of(node, Flush(read)).restore(state)


def test_state_is_read_by_an_operator_with_slices_of_the_same_size() -> None:
    node = query(("count", None))
    state = whole_tables(operator_of(node, Flush(When.SLOW, rows=8)).state())
    with pytest.raises(ConfigurationError, match=r"\A`flush_rows` must be as large as in the run that wrote"):
        operator_of(node, Flush(When.SLOW, rows=9)).restore(state)
