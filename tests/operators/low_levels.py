"""Queries over plain rows, their window operators and low levels, for tests of pane partials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tests.engines.local.answers.test_oracle import SCHEMA, STREAM
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.aggregate.partials import PaneAggregate, Partials
from windrow.operators.base import Batch
from windrow.physical.planner import Choice
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import AggregateCall, Strategy, WindowAggregate
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding, Window

TUMBLING = Sliding("ts", 10, 10)
SLIDING = Sliding("ts", 20, 10)
BOUNDED = ("count", "sum", "avg", "variance", "var_pop", "stddev", "stddev_pop", "min", "max", "first", "last")
ALL = [(function, column) for function in BOUNDED for column in ("x", "y")]


def query(
    *functions: tuple[str, str | None], window: Window = TUMBLING, keys: Sequence[str] = ("k",), **options: Any
) -> WindowAggregate:
    calls = tuple(
        AggregateCall(f"a{i}", function, None if column is None else Column(column))
        for i, (function, column) in enumerate(functions)
    )
    return WindowAggregate(STREAM, window, tuple((name, Column(name)) for name in keys), calls, **options)


def row(ts: int, *, k: str | None = "a", g: int | None = 0, x: int | None = 1, y: float | None = 1.0) -> dict[str, Any]:
    return {"ts": ts, "k": k, "g": g, "x": x, "y": y}


def operator_of(node: WindowAggregate) -> WindowAggregateOperator:
    return WindowAggregateOperator(node, shape_of(node.input), shape_of(node), Choice(Strategy.PANES, ()))


def low_level(node: WindowAggregate) -> PaneAggregate:
    return PaneAggregate(node, shape_of(node.input))


def batch_of(rows: Sequence[dict[str, Any]], *, dictionary: bool = False, without: int | None = None) -> Batch:
    """Rows as a batch; those with g = `without` are there, but not selected."""
    data = pa.RecordBatch.from_pylist(list(rows), SCHEMA)
    if dictionary:
        data = data.set_column(1, "k", data.column(1).dictionary_encode())
    selected = None if without is None else np.array([r["g"] != without for r in rows], np.uint8)
    return Batch(data, np.array([r["ts"] for r in rows], np.int64), selected)


def cells_of(node: WindowAggregate, rows: Sequence[dict[str, Any]]) -> Partials:
    level = low_level(node)
    level.add(batch_of(rows))
    taken = level.take()
    assert taken is not None
    return taken


WILD: dict[str, list[dict[str, Any]]] = {
    "plain": [row(1), row(2, x=3, y=0.5)],
    "NULL": [row(3, x=None, y=None), row(4, x=2)],
    "huge integers": [row(5, x=(1 << 62) - 1), row(6, x=-(1 << 62)), row(7, x=5)],
    "wide floats": [row(8, y=1e300), row(9, y=-5e-324)],
    "not finite": [row(2, y=float("nan")), row(3, y=float("inf")), row(4, k="b", y=float("-inf"))],
}
