"""Windows of rows equal the oracle: any partition, groups, aggregates, disorder, batch split; restored anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import strategies as streams
from tests.engines.local.test_oracle import SCHEMA, STREAM, approximately
from windrow.errors import SumOverflowError
from windrow.operators.base import Batch, Element, LateRows
from windrow.operators.progress import Input
from windrow.operators.rows_aggregate import RowsOperator
from windrow.plan.check import shape_of
from windrow.plan.nodes import AggregateCall, Late, Lateness, WindowAggregate
from windrow.semantics import oracle
from windrow.semantics.expressions import Column
from windrow.semantics.progress import END, External, Punctuation
from windrow.semantics.windows import Emit, Rows

PARTITIONS = st.sampled_from(((), (), ("k",), ("k",), ("g",), ("k", "g"), ("y",)))
LENGTHS = st.one_of(st.integers(1, 4), st.integers(1, 12))
WINDOWS = st.builds(Rows, LENGTHS, LENGTHS, PARTITIONS, st.sampled_from((None, "ts")))
EMITS = st.sampled_from((Emit.NONEMPTY, Emit.NONEMPTY, Emit.EMPTY, Emit.COMPLETE))


def keys_of(window: Rows, more: Sequence[str]) -> tuple[tuple[str, Column], ...]:
    """The partition's columns and others, in any order: groups may be the partitions, or finer."""
    return tuple((name, Column(name)) for name in dict.fromkeys((*more, *window.partition)))


@dataclass
class Driven:
    """An operator with its input, fed element by element, put away and brought back where asked."""

    node: WindowAggregate
    results: list[dict[str, Any]] = field(default_factory=list)
    late: list[dict[str, Any]] = field(default_factory=list)
    promises: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.operator = self._fresh()

    def _fresh(self) -> RowsOperator:
        return RowsOperator(self.node, shape_of(self.node.input), shape_of(self.node))

    def replace(self) -> None:
        tables = self.operator.state()
        self.operator = self._fresh()
        self.operator.restore(tables)

    def feed(self, element: Batch | Punctuation) -> None:
        take = self.operator.process if isinstance(element, Batch) else self.operator.punctuate
        self.note(take(element))  # type: ignore[arg-type]

    def note(self, given: Iterable[Element]) -> None:
        for element in given:
            if isinstance(element, LateRows):
                self.late += element.data.to_pylist()
            elif isinstance(element, Batch):
                assert element.times.tolist() == element.data.column("window_end").to_pylist()
                assert all(end >= promise for end in element.times.tolist() for promise in self.promises)
                self.results += element.data.to_pylist()
            else:
                self.promises.append(element.value)


def drive(node: WindowAggregate, elements: Sequence[Any], cuts: set[int], *, restored: bool = False) -> Driven:
    driven = Driven(node)
    source = Input("s", "ts", External())
    rows: list[dict[str, Any]] = []

    def flush() -> None:
        if rows:
            for element in source.process(Batch.unread(pa.RecordBatch.from_pylist(rows, SCHEMA))):
                driven.feed(element)  # type: ignore[arg-type]
            rows.clear()

    for i, element in enumerate([*elements, Punctuation(END)]):
        if isinstance(element, Punctuation) or i in cuts:
            flush()
        if restored:
            driven.replace()
        if isinstance(element, Punctuation):
            driven.feed(element)
        else:
            rows.append(element)
    return driven


def check(node: WindowAggregate, elements: Sequence[Any], cuts: set[int], *, restored: bool = False) -> None:
    def answer() -> oracle.Answer:
        settings: dict[str, Any] = {"keys": node.keys, "aggregates": node.aggregates, "emit": node.emit}
        return oracle.answer(elements, node.window, late="side", lateness=node.lateness.value, **settings)

    try:
        expected = answer()
    except SumOverflowError:
        with pytest.raises(SumOverflowError):
            drive(node, elements, cuts, restored=restored)
        return
    driven = drive(node, elements, cuts, restored=restored)
    wanted, found = approximately(expected.results, node.aggregates), approximately(driven.results, node.aggregates)
    assert streams.comparable(wanted) == streams.comparable(found)
    counters = driven.operator.counters
    assert (expected.account.rows_in, expected.account.late) == (counters.rows_in, counters.late)
    late = [{**{name: row[name] for name in SCHEMA.names}, "late_by": by} for row, by, _ in expected.missed]
    unknown = dict.fromkeys(("late_windows", "late_from", "late_until"))
    assert streams.comparable({**row, **unknown, "late_source": "s"} for row in late) == streams.comparable(driven.late)
    assert len(driven.results) == counters.results
    assert END == driven.promises[-1]
    assert driven.promises == sorted(set(driven.promises))


@settings(max_examples=600)
@given(st.data())
def test_the_answer_of_the_oracle(data: st.DataObject) -> None:
    window = data.draw(WINDOWS)
    keys = keys_of(window, data.draw(st.sampled_from(((), (), ("k",), ("g",), ("g", "k")))))
    listed = streams.calls(data.draw(streams.aggregate_lists()))
    calls = tuple(AggregateCall(c.name, c.function, c.argument, c.parameters) for c in listed)
    emit, lateness = data.draw(EMITS), data.draw(st.sampled_from(Lateness))
    node = WindowAggregate(STREAM, window, keys, calls, emit=emit, late=Late.SIDE, lateness=lateness)
    elements = data.draw(streams.elements(late=True))
    check(node, elements, data.draw(st.sets(st.integers(0, 40))), restored=data.draw(st.booleans()))
