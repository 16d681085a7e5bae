"""Every strategy equals the oracle: any window, aggregates, groups, disorder, batch split and punctuations."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from tests import strategies as streams
from windrow.engines.local import LocalOptions, Metrics, Receiver, run
from windrow.errors import SumOverflowError
from windrow.physical.planner import FOR_LANDMARKS
from windrow.plan.checks.windows import within_of
from windrow.plan.nodes import AggregateCall, Late, Lateness, Node, Strategy, Stream, WindowAggregate
from windrow.semantics.oracle import answers as oracle
from windrow.semantics.progress.policies import External, Punctuation
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Emit, Landmark, Session, Window
from windrow.sources.base import Delivery, ElementReader, Position, Reader, behind

KINDS: dict[str, pa.DataType] = {
    "ts": pa.int64(),
    "k": pa.string(),
    "g": pa.int64(),
    "x": pa.int64(),
    "y": pa.float64(),
}
SCHEMA = pa.schema(KINDS)
STREAM = Stream("s", SCHEMA, "ts", External())
SOAK = bool(os.environ.get("WINDROW_SOAK"))
pytestmark = [pytest.mark.soak] if SOAK else []
ROUNDED = ("avg", "variance", "var_pop", "stddev", "stddev_pop")
"""Rounded more than once on the way: compared with a tolerance of a few last places."""


@dataclass
class Split:
    """A source that gives elements with rows in batches cut at the given places."""

    elements_: Sequence[Any]
    cuts: Collection[int]
    dictionary: bool = False
    schema: pa.Schema = SCHEMA
    is_live: bool = False
    is_endless: bool = False
    delivery: Delivery = Delivery.EXACTLY_ONCE

    def select(self, columns: Sequence[str]) -> Split:
        return replace(self, schema=pa.schema([SCHEMA.field(name) for name in columns]))

    def open(self, position: Position | None = None, **how: Any) -> Reader:
        return ElementReader(behind(self.elements(), position, cast(Any, self)), position)

    def elements(self) -> Iterator[pa.RecordBatch | Punctuation]:
        rows: list[dict[str, Any]] = []
        for i, element in enumerate(self.elements_):
            if rows and (isinstance(element, Punctuation) or i in self.cuts):
                yield self._batch(rows)
                rows = []
            if isinstance(element, Punctuation):
                yield element
            else:
                rows.append(element)
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
        if self.dictionary:
            batch = batch.set_column(1, "k", batch.column(1).dictionary_encode())
        return batch.select(self.schema.names)


def answer(plan: Node, source: Any, **options: Any) -> tuple[list[dict[str, Any]], list[Any], Metrics]:
    results: list[pa.RecordBatch] = []
    late: list[pa.RecordBatch] = []
    _, metrics = run([plan], {"s": source}, Receiver.of_one(results.append, late.append), LocalOptions(**options))
    return [r for b in results for r in b.to_pylist()], [r for b in late for r in b.to_pylist()], metrics


def approximately(results: list[dict[str, Any]], calls: Sequence[AggregateCall]) -> list[dict[str, Any]]:
    """Results with the rounded aggregates cut to 12 digits."""
    names = {call.name for call in calls if call.function in ROUNDED}

    def short(value: Any) -> Any:
        return float(f"{value:.11e}") if isinstance(value, float) and math.isfinite(value) else value

    return [{n: short(v) if n in names else v for n, v in row.items()} for row in results]


KEYS = st.sampled_from(((), ("k",), ("g",), ("k", "g"), ("y",), ("ts",)))
EMITS = st.sampled_from((Emit.NONEMPTY, Emit.NONEMPTY, Emit.EMPTY, Emit.COMPLETE))


def strategies_for(window: Window) -> tuple[Strategy, ...]:
    if isinstance(window, Session):
        return (Strategy.AUTO,)
    if isinstance(window, Landmark):
        return FOR_LANDMARKS[1:]
    return tuple(strategy for strategy in Strategy if strategy is not Strategy.AUTO)


@pytest.mark.parametrize("part", range(2 if SOAK else 1))
@settings(max_examples=25_000 if SOAK else 350)
@given(data=st.data())
def test_every_strategy_gives_the_answer_of_the_oracle(part: int, data: st.DataObject) -> None:
    window = data.draw(streams.windows())
    elements = data.draw(streams.elements(late=True))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    emit = data.draw(EMITS)
    lateness = data.draw(st.sampled_from(Lateness))
    cuts = data.draw(st.sets(st.integers(0, 40)))
    node = WindowAggregate(STREAM, window, keys, tuple(calls), emit=emit, late=Late.SIDE, lateness=lateness)
    try:
        expected = oracle.answer(
            elements, window, keys=keys, aggregates=calls, emit=emit, late="side", lateness=lateness.value
        )
    except SumOverflowError:
        for strategy in strategies_for(window):
            with pytest.raises(SumOverflowError):
                answer(replace(node, strategy=strategy), Split(elements, cuts))
        return
    for strategy in strategies_for(window):
        note(strategy.value)
        results, late, metrics = answer(
            replace(node, strategy=strategy), Split(elements, cuts, data.draw(st.booleans()))
        )
        assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(
            approximately(results, calls)
        )
        account = expected.account
        assert (account.used, account.late, account.rows_in) == (metrics.rows_used, metrics.rows_late, metrics.rows_in)
        assert streams.comparable(
            {n: row[n] for n in SCHEMA.names} for row, _, _ in expected.missed
        ) == streams.comparable({n: row[n] for n in SCHEMA.names} for row in late)
        if isinstance(window, Landmark):  # what exists beyond the last row is not known when a row is late
            continue
        spans = [(len(m), m[0][0], m[-1][1]) for _, _, m in expected.missed]
        assert sorted(spans, key=repr) == sorted(
            ((r["late_windows"], r["late_from"], r["late_until"]) for r in late), key=repr
        )


def last_revisions(results: list[dict[str, Any]], keys: list[str]) -> list[dict[str, Any]]:
    """What stands in the end; each revision of a window has a higher number than the one before."""
    final: dict[Any, dict[str, Any]] = {}
    for row in results:
        place = repr([row[n] for n in keys]), row["window_end"]
        assert row["revision"] > final.get(place, {"revision": -1})["revision"]
        final[place] = row
    return [{n: v for n, v in row.items() if n != "revision"} for row in final.values()]


@settings(max_examples=10_000 if SOAK else 175)
@given(data=st.data())
def test_revisions_end_at_the_answer_with_the_late_rows_in_it(data: st.DataObject) -> None:
    window = data.draw(streams.sliding())
    elements = data.draw(streams.elements(late=True, extremes=False))
    calls = [
        AggregateCall(c.name, c.function, c.argument, c.parameters)
        for c in streams.calls(data.draw(streams.aggregate_lists()))
    ]
    keys = tuple((name, Column(name)) for name in data.draw(KEYS))
    lateness = data.draw(st.sampled_from(Lateness))
    within = data.draw(st.integers(1, 12)) * window.slide
    node = WindowAggregate(
        STREAM, window, keys, tuple(calls), late=Late.REVISE, lateness=lateness, within=Amount.of(within)
    )
    expected = oracle.answer(
        elements,
        window,
        keys=keys,
        aggregates=calls,
        late="revise",
        lateness=lateness.value,
        within=within_of(node, Domain.INTEGER),
    )
    results, late, metrics = answer(node, Split(elements, data.draw(st.sets(st.integers(0, 40)))))
    plain = last_revisions(results, [name for name, _ in keys])
    assert streams.comparable(approximately(expected.results, calls)) == streams.comparable(approximately(plain, calls))
    assert len(expected.missed) == len(late)
    assert expected.account.late == metrics.rows_late
