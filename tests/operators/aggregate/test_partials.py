"""Cells of a low level: what is in them, how they travel, and when they may stand for rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.operators.low_levels import ALL, SLIDING, TUMBLING, WILD, batch_of, cells_of, low_level, query, row
from windrow.aggregates import register
from windrow.aggregates.kinds.base import Numbers
from windrow.aggregates.kinds.custom import Columns, UserAggregate
from windrow.operators.aggregate.partials import Partials
from windrow.physical.pane_cells import why_not_partial
from windrow.plan.nodes import Late, Strategy, WindowAggregate
from windrow.semantics.progress.policies import START
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.windows.kinds import Emit, Landmark, Session, Sliding, Window


def test_taken_cells_are_settled() -> None:
    """Both low halves are all ones: together they carry one into the high half."""
    cells = cells_of(query(("sum", "x")), [row(1, x=(1 << 62) - 1), row(2, x=(1 << 61) - 1)])
    assert [[2, (1 << 30) + (1 << 29) - 1, (1 << 32) - 2]] == cells.state.adds.tolist()


def test_cells_are_the_same_after_the_journey_through_a_stream() -> None:
    cells = cells_of(query(*ALL, keys=("k", "g")), [r for rows in WILD.values() for r in rows])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, cells.to_batch().schema) as writer:
        writer.write_batch(cells.to_batch())
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        back = Partials.from_batch(reader.read_next_batch())
    assert cells.layout == back.layout
    assert [key.to_pylist() for key in cells.keys] == [key.to_pylist() for key in back.keys]
    assert cells.panes.tolist() == back.panes.tolist()
    assert list(cells.state.matrices) == list(back.state.matrices)
    for kind, matrix in cells.state.matrices.items():
        assert matrix.tolist() == back.state.matrices[kind].tolist()


def test_the_columns_of_a_batch_of_cells() -> None:
    batch = cells_of(query(("max", "x"), ("last", "x")), [row(11, k="b", x=7)]).to_batch()
    assert ["key0", "place", "add0", "max0", "pair0", "pair1"] == batch.schema.names
    assert {"key0": "b", "place": 1, "add0": 1, "max0": 7, "pair0": 11, "pair1": 7} == batch.to_pylist()[0]


def test_taking_begins_anew_but_remembers_the_latest_time() -> None:
    level = low_level(query(("sum", "x")))
    assert (START, 0, None) == (level.latest, level.cells, level.take())
    level.add(batch_of([row(25, x=None), row(-3, k="b"), row(28)]))
    assert (28, 2) == (level.latest, level.cells)
    first = level.take()
    assert first is not None
    assert (2, 3, [-1, 2]) == (len(first), first.rows, sorted(first.panes.tolist()))
    assert (28, 0, None) == (level.latest, level.cells, level.take())
    level.add(batch_of([row(4, k="c")]))
    second = level.take()
    assert second is not None
    assert (["c"], 0) == (second.keys[0].to_pylist(), second.layout[0]["width"])


def test_more_cells_take_more_room() -> None:
    level = low_level(query(("sum", "x"), keys=("g",)))
    empty = level.nbytes
    level.add(batch_of([row(1, g=i) for i in range(1_000)]))
    assert empty + 1_000 * 4 * 8 <= level.nbytes  # pane, count and sum, with room to spare


@pytest.mark.parametrize("without", [0, 1], ids=["none selected", "all selected"])
def test_rows_that_are_not_selected_leave_no_trace(without: int) -> None:
    level = low_level(query(("count", None)))
    level.add(batch_of([row(1), row(2)], without=without))
    assert (START if without == 0 else 2) == level.latest
    assert (0 if without == 0 else 1) == level.cells


def test_no_rows_at_all() -> None:
    level = low_level(query(("count", None)))
    level.add(batch_of([]))
    assert level.take() is None


class Product(UserAggregate):
    """The product of the values."""

    name = "product_of_a_test"
    result = pa.float64()

    def lift(self, values: Numbers) -> Columns:
        return (values.astype(np.float64),)

    def combine(self, left: Columns, right: Columns) -> Columns:
        return (left[0] * right[0],)

    def finish(self, state: Columns, parameters: tuple[Any, ...]) -> Numbers:
        return state[0]


register(Product())

NOT_PARTIAL: list[tuple[str, WindowAggregate]] = [
    ("session windows have no panes", query(("count", None), window=Session("ts", 5))),
    ("LATE SIDE keeps the rows themselves", query(("count", None), late=Late.SIDE)),
    ("LATE REVISE keeps the rows themselves", query(("count", None), late=Late.REVISE, within=Amount.of(10))),
    (
        "EMIT COMPLETE asks for the time of the first row, not only for its pane",
        query(("count", None), emit=Emit.COMPLETE),
    ),
    ("STRATEGY wid has no panes", query(("count", None), strategy=Strategy.WID)),
    ("STRATEGY buffer has no panes", query(("count", None), strategy=Strategy.BUFFER)),
    ("STRATEGY wid has no panes", query(("count", None), window=Sliding("ts", 10_000_019, 10_000_000))),
    ("median(x) keeps values", query(("count", None), ("median", "x"))),
    ("max(k) keeps values", query(("max", "k"))),
    ("product_of_a_test(x) keeps a state of its own", query(("product_of_a_test", "x"))),
]


@pytest.mark.parametrize(("reason", "node"), NOT_PARTIAL, ids=[f"{i} {r}" for i, (r, _) in enumerate(NOT_PARTIAL)])
def test_why_rows_must_be_sent_themselves(reason: str, node: WindowAggregate) -> None:
    assert reason == why_not_partial(node)


@pytest.mark.parametrize("window", [TUMBLING, SLIDING, Sliding("ts", 3, 10), Landmark("ts", 10)], ids=str)
def test_bounded_aggregates_can_be_sent_as_cells(window: Window) -> None:
    assert why_not_partial(query(*ALL, window=window)) is None
