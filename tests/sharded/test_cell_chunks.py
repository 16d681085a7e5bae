"""What a structure says that changed is all that changed: after any save the chunks hold the whole state."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.answers.test_oracle import (
    EMITS,
    KEYS,
    SCHEMA,
    STREAM,
    Split,
    approximately,
    last_revisions,
    strategies_for,
)
from tests.sharded.kept_chunks import Kept, checked_save, checked_take, tiny_chunks
from windrow.errors import SumOverflowError
from windrow.operators.base import Batch
from windrow.operators.state.changes import Marks
from windrow.operators.state.groups import Groups
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline
from windrow.plan.checks.joins import joined_names
from windrow.plan.checks.windows import within_of
from windrow.plan.nodes import AggregateCall, Distinct, Join, Late, Lateness, Node, Strategy, WindowAggregate
from windrow.semantics.joins import Between, JoinKind
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Landmark, RowsWindow, SlideByTuple, Sliding
from windrow.sharded.chunks import Known, load, save

SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []


@pytest.fixture(autouse=True, scope="module")
def _tiny() -> Iterator[None]:
    with tiny_chunks():
        yield


class Run:
    """A plan fed piece by piece and saved in between, brought back from its chunks wherever it is asked to."""

    def __init__(self, plan: Node) -> None:
        self.plan = plan
        self.results: list[dict[str, Any]] = []
        self.known: Known = {}
        self.store = Kept()
        self.writing: Callable[[], Known] = lambda: self.known
        self.pipeline = self._built()

    def _built(self) -> Pipeline:
        pipeline = build(self.plan)
        pipeline.ends[0].on_result = lambda batch: self.results.extend(batch.to_pylist())
        return pipeline

    def tables(self) -> dict[str, Any]:
        stages = enumerate(self.pipeline.stages)
        return {f"{i}/{name}": table for i, stage in stages for name, table in stage.operator.state().items()}

    def save(self, *, later: bool = False) -> None:
        """With `later`, what is taken now is written when the next save comes."""
        self.finish()
        self.writing = checked_take(self.tables, self.known, self.store)
        if not later:
            self.finish()

    def finish(self) -> None:
        self.known, self.writing = self.writing(), lambda: self.known

    def restart(self) -> None:
        tables, self.known = load(self.store.chunks.items())
        fresh = self._built()
        for i, (new, old) in enumerate(zip(fresh.stages, self.pipeline.stages, strict=True)):
            own = {n.removeprefix(f"{i}/"): table for n, table in tables.items() if n.startswith(f"{i}/")}
            new.operator.restore(own)
            new.operator.counters = old.operator.counters
        self.pipeline = fresh

    def feed(self, pieces: Sequence[Any], skipped: set[int], restarts: set[int]) -> None:
        for i, piece in enumerate(pieces):
            for source in self.pipeline.inputs:
                self.pipeline.push(source, piece if isinstance(piece, Punctuation) else Batch.unread(piece))
            if i not in skipped:
                self.save(later=i not in restarts)
                if i in restarts:
                    self.restart()
        self.finish()


def driven(data: st.DataObject, plan: Node, elements: Sequence[Any]) -> list[dict[str, Any]]:
    """What a plan gives that is saved after most pieces and restarted after some."""
    numbers = st.sets(st.integers(0, 40))
    pieces = [*Split(elements, data.draw(numbers), data.draw(st.booleans())).elements(), Punctuation(END)]
    run = Run(plan)
    run.feed(pieces, data.draw(numbers), data.draw(st.sets(st.integers(0, 40), max_size=4)))
    return run.results


def calls_of(data: st.DataObject) -> tuple[AggregateCall, ...]:
    found = streams.calls(data.draw(streams.aggregate_lists()))
    return tuple(AggregateCall(c.name, c.function, c.argument, c.parameters) for c in found)


@settings(max_examples=20_000 if SOAK else 20, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True), lateness=st.sampled_from(Lateness))
def test_every_strategy_saves_all_that_changed(data: st.DataObject, elements: list[Any], lateness: Lateness) -> None:
    window, calls = data.draw(streams.windows()), calls_of(data)
    keys, emit = tuple((name, Column(name)) for name in data.draw(KEYS)), data.draw(EMITS)
    strategy = data.draw(st.sampled_from(strategies_for(window)))
    note(strategy.value)
    node = WindowAggregate(STREAM, window, keys, calls, emit=emit, lateness=lateness, strategy=strategy)
    try:
        expected = oracle.answer(elements, window, keys=keys, aggregates=calls, emit=emit, lateness=lateness.value)
    except SumOverflowError:
        return
    results = driven(data, node, elements)
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
        approximately(results, calls)
    )


@settings(max_examples=20_000 if SOAK else 20, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True, extremes=False))
def test_revisions_save_all_that_changed(data: st.DataObject, elements: list[Any]) -> None:
    window, calls = data.draw(streams.sliding()), calls_of(data)
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    within = data.draw(st.integers(1, 12)) * window.slide
    node = WindowAggregate(STREAM, window, keys, calls, late=Late.REVISE, within=Amount.of(within))
    asked: dict[str, Any] = {"keys": keys, "aggregates": calls, "late": "revise"}
    expected = oracle.answer(elements, window, within=within_of(node, Domain.INTEGER), **asked)
    found = last_revisions(driven(data, node, elements), [name for name, _ in keys])
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(approximately(found, calls))


@settings(max_examples=20_000 if SOAK else 20, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True, extremes=False))
def test_other_operators_save_all_that_changed(data: st.DataObject, elements: list[Any]) -> None:
    """Whatever is saved in between, the answers are those of a run without saves."""
    window, calls = data.draw(st.one_of(streams.sliding(), streams.landmarks())), calls_of(data)
    names = joined_names([SCHEMA, SCHEMA], ("a", "b"))
    early = WindowAggregate(STREAM, window, (("k", Column("k")),), calls, early=Amount.of(7))
    join = Join(STREAM, replace(STREAM, name="t"), JoinKind.INNER, Between(-9, 9), None, names, ("a", "b"))
    plans: tuple[Node, ...] = early, join, Distinct(STREAM)
    plan = data.draw(st.sampled_from(plans))
    cuts = data.draw(st.sets(st.integers(0, 40)))
    pieces = [*Split(elements, cuts).elements(), Punctuation(END)]
    plain, saved = Run(plan), Run(plan)
    everywhere = set(range(len(pieces)))
    plain.feed(pieces, everywhere, set())
    saved.feed(pieces, set(), data.draw(st.sets(st.integers(0, 40), max_size=4)))
    assert streams.comparable(plain.results) == streams.comparable(saved.results)


@settings(max_examples=20_000 if SOAK else 20, deadline=None)
@given(data=st.data(), elements=streams.elements(late=True, extremes=False))
def test_counted_windows_save_all_that_changed(data: st.DataObject, elements: list[Any]) -> None:
    partition = data.draw(st.sampled_from(((), ("k",), ("g",))))
    last_rows = st.builds(
        RowsWindow, st.integers(1, 9), st.integers(1, 9), st.just(partition), st.sampled_from((None, "ts"))
    )
    window = data.draw(st.one_of(last_rows, streams.slide_by_tuple(partition=partition)))
    keys = tuple((name, Column(name)) for name in partition or ("g",))
    calls = calls_of(data)
    expected = oracle.answer(elements, window, keys=keys, aggregates=calls)
    results = driven(data, WindowAggregate(STREAM, window, keys, calls), elements)
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
        approximately(results, calls)
    )


def test_groups_that_leave_a_window_that_ends_with_rows() -> None:
    calls = (AggregateCall("n", "count"),)
    run = Run(WindowAggregate(STREAM, SlideByTuple("ts", 10), (("g", Column("g")),), calls))
    first, second = rows(range(10), list(range(10))), rows(range(20, 25), [1, 2, 3, 4, 5])
    run.feed([first, Punctuation(8), second, Punctuation(23), rows([40, 41], [7, 8]), Punctuation(41)], set(), set())


def wide(window: Sliding | Landmark) -> WindowAggregate:
    calls = tuple(AggregateCall(f, f, Column("x")) for f in ("sum", "max", "last"))
    return WindowAggregate(STREAM, window, (("g", Column("g")),), calls, strategy=Strategy.PANES)


def rows(times: range | list[int], groups: list[int], value: int = 1) -> pa.RecordBatch:
    given = [{"ts": t, "k": "a", "g": g, "x": value, "y": 0.0} for t, g in zip(times, groups, strict=True)]
    return pa.RecordBatch.from_pylist(given, SCHEMA)


def story() -> list[Any]:
    """Cells that come, change, close, are late, widen, and whose groups are forgotten."""
    return [
        rows(range(40), list(range(40))),
        rows(range(40, 60), list(range(20))),
        rows([41, 43], [1, 3]),
        Punctuation(45),
        rows([38, 21, 5], [38, 21, 5]),
        rows([70, 71], [1, 2], 1 << 62),
        Punctuation(62),
        rows([72, 70], [2, 1], 5),
        Punctuation(90),
        rows([91, 92, 93], [50, 51, 52]),
        Punctuation(120),
        rows([121], [50]),
    ]


def without(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    """A structure that forgets to mark something."""

    def forget(monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(Marks, name)

        def mutated(self: Marks, *given: Any) -> None:
            before = None if not hasattr(self, "new") else (self.touched.copy(), self.new.copy())
            real(self, *given)
            if before is not None and self.is_noting and name != "renew":
                for now, then in zip((self.touched, self.new), before, strict=True):
                    now[:] = False
                    now[: len(then)] = then[: len(now)]

        def kept(self: Marks) -> None:
            if not hasattr(self, "stamp"):
                real(self)

        monkeypatch.setattr(Marks, name, kept if name == "renew" else mutated)

    return forget


def told() -> None:
    for window in (Sliding("ts", 40, 10), Landmark("ts", 20)):
        Run(wide(window)).feed(story(), set(), set())


def test_the_story_is_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.operators.state.groups.COMPACT_ABOVE", 4)
    told()


@pytest.mark.parametrize("name", ["touch", "add", "keep", "renew"])
def test_a_structure_that_forgets_to_mark_is_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.operators.state.groups.COMPACT_ABOVE", 4)
    without(name)(monkeypatch)
    with pytest.raises((AssertionError, IndexError, pa.ArrowInvalid)):
        told()


def test_another_save_in_between_changes_nothing() -> None:
    """Marks are of one save; whoever saves elsewhere finds everything again."""
    run, other = Run(wide(Sliding("ts", 40, 10))), Kept()
    known: Known = {}
    for piece in story():
        run.feed([piece], set(), set())
        known = checked_save(run.tables, known, other)


def test_a_save_that_fails_is_done_again() -> None:
    class Full(Kept):
        def __setitem__(self, key: Any, body: bytes) -> None:
            raise OSError

    run = Run(wide(Sliding("ts", 40, 10)))
    for piece in story():
        run.feed([piece], {0}, set())
        with pytest.raises(OSError, match=r"\A\Z"):
            save(run.tables(), run.known, Full(dict(run.store.chunks)))
        run.save()


def test_groups_are_written_once() -> None:
    groups, store = Groups([pa.int64()]), Kept()
    known: Known = {}
    written = []
    for start in range(0, 12, 3):
        groups.encode([pa.array(np.arange(start, start + 3))])
        known = checked_save(lambda: {"groups": groups.saved()}, known, store)
        written.append(store.writes)
    assert [2, 4, 6, 8] == written
