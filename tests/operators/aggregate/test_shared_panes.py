"""Panes that several windows share: the cells that are handed on, when, and what becomes of widths and groups."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tests.engines.local.answers.test_oracle import SCHEMA, STREAM
from windrow.operators.aggregate.grouping import Grouping
from windrow.operators.aggregate.partials import SharedCells, SharedPanesOperator
from windrow.operators.base import Batch, Element, GroupPunctuations
from windrow.operators.windows.panes import PanedWid
from windrow.physical.rules.share_panes import shared_node, windows_of
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, WindowAggregate
from windrow.semantics.progress.policies import END, Punctuation
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding

X, Y, K = Column("x"), Column("y"), (("k", Column("k")),)
SUMS = WindowAggregate(STREAM, Sliding("ts", 20, 10), K, (AggregateCall("a", "sum", X), AggregateCall("b", "max", Y)))
AVERAGES = WindowAggregate(STREAM, Sliding("ts", 30, 15), K, (AggregateCall("a", "avg", Y),))


def batch(*rows: tuple[int, str, int | None, float]) -> Batch:
    content: list[dict[str, Any]] = [{"ts": t, "k": k, "g": 0, "x": x, "y": y} for t, k, x, y in rows]
    data = pa.RecordBatch.from_pylist(content, SCHEMA)
    return Batch(data, data.column("ts").to_numpy())


def made() -> SharedPanesOperator:
    return SharedPanesOperator(shared_node([SUMS, AVERAGES]), windows_of([SUMS, AVERAGES]), shape_of(STREAM))


def cells(elements: list[Element]) -> list[SharedCells]:
    return [element for element in elements if isinstance(element, SharedCells)]


def test_cells_wait_until_a_window_of_any_closes() -> None:
    panes = made()
    assert [Punctuation(1)] == list(panes.punctuate(Punctuation(1)))
    assert [] == list(panes.process(batch((1, "a", 1, 0.5), (2, "a", 1, 0.5), (7, "b", 1, 0.5))))
    assert [Punctuation(9)] == list(panes.punctuate(Punctuation(9)))
    handed_on, promise = panes.punctuate(Punctuation(10))
    assert Punctuation(10) == promise
    assert isinstance(handed_on, SharedCells)
    assert (3, [0, 5]) == (handed_on.rows, handed_on.starts.tolist())
    assert [Punctuation(END)] == list(panes.punctuate(Punctuation(END)))


def test_promises_for_single_groups_come_after_the_rows_before_them() -> None:
    panes = made()
    list(panes.process(batch((1, "a", 1, 0.5))))
    promise = GroupPunctuations(pa.RecordBatch.from_pydict({"k": ["a"]}), batch((20, "a", 1, 0.5)).times)
    handed_on, passed = panes.punctuate_groups(promise)
    assert isinstance(handed_on, SharedCells)
    assert promise is passed


def test_a_window_takes_its_own_columns_panes_and_groups() -> None:
    panes = made()
    list(panes.process(batch((1, "a", 1, 0.5), (17, "b", None, 2.5), (18, "b", 1 << 62, 1e300))))
    (shared,) = cells(list(panes.punctuate(Punctuation(END))))
    for node, places in ((SUMS, [0, 1]), (AVERAGES, [0, 1])):
        assert isinstance(node.window, Sliding)
        grouping = Grouping(node, shape_of(STREAM))
        grouping.groups.encode([pa.array(["b"])])
        own = shared.encoded(grouping, PanedWid(node.window, grouping.plan))
        assert places == own.places.tolist()
        assert [1, 0] == own.codes.tolist()
        assert grouping.plan.layout.widths == {kind: matrix.shape[1] for kind, matrix in own.state.matrices.items()}


def test_rows_that_no_one_selected_make_no_cells() -> None:
    panes = made()
    one = batch((1, "a", 1, 0.5))
    list(panes.process(Batch(one.data, one.times, one.times.astype("uint8") * 0)))
    assert [] == cells(list(panes.punctuate(Punctuation(END))))
