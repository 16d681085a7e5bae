"""Streams and nodes that the plan tests share."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from windrow.plan.nodes import AggregateCall, Node, Stream, WindowAggregate
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.windows.kinds import Sliding, Window

MINUTE = 60_000_000
COUNT = AggregateCall("number", "count")


def columns(**kinds: pa.DataType) -> pa.Schema:
    return pa.schema(list(kinds.items()))


def trades(name: str = "trades", **settings: Any) -> Stream:
    schema = columns(
        symbol=pa.dictionary(pa.int32(), pa.string()),
        price=pa.int32(),
        tags=pa.list_(pa.string()),
        time=pa.timestamp("ms", tz="Europe/Zurich"),
        promise=pa.timestamp("us", tz="UTC"),
    )
    return Stream(**{"name": name, "schema": schema, "time": "time", **settings})


def counters(**settings: Any) -> Stream:
    schema = columns(key=pa.string(), seq=pa.int32(), x=pa.float64())
    return Stream(**{"name": "counters", "schema": schema, "time": "seq", **settings})


def windowed(
    node: Node,
    window: Window | None = None,
    keys: tuple[str, ...] = (),
    aggregates: tuple[AggregateCall, ...] = (COUNT,),
    **settings: Any,
) -> WindowAggregate:
    named: tuple[tuple[str, Expression], ...] = tuple((key, Column(key)) for key in keys)
    return WindowAggregate(node, window or Sliding("time", 10 * MINUTE, MINUTE), named, aggregates, **settings)


def call(function: str, *arguments: Any) -> Call:
    made = (a if isinstance(a, (Column, Literal, Call)) else Literal(a) for a in arguments)
    return Call(function, tuple(made))
