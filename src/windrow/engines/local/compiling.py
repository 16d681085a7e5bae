"""Compile every kernel once, by small queries and a few coded blocks that need them; Numba keeps them on disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.engines.local.options import LocalOptions
from windrow.engines.local.run import run
from windrow.engines.run import Receiver
from windrow.frames.tuples import TupleLayout
from windrow.operators.compression.coded_column import CodedColumn, Nature
from windrow.operators.compression.folding import different, extremes, ranked, sums
from windrow.operators.divided.routing import shards_of
from windrow.physical.pane_cells import why_not_smooth
from windrow.plan.checks.joins import joined_names
from windrow.plan.nodes import (
    AggregateCall,
    Filter,
    Join,
    JoinStrategy,
    JoinTime,
    Late,
    Node,
    Strategy,
    Stream,
    WindowAggregate,
    walk,
)
from windrow.semantics.joins import Between, JoinKind
from windrow.semantics.progress.policies import Lead, Policy, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal
from windrow.semantics.windows.kinds import Landmark, RowsWindow, Session, SlideByTuple, Sliding, Window
from windrow.sources import open_source
from windrow.sources.conform import encoded_schema
from windrow.sources.datagrams.readings import PackedReading

_KINDS: dict[str, pa.DataType] = {
    "ts": pa.int64(),
    "k": pa.string(),
    "d": pa.dictionary(pa.int32(), pa.string()),
    "x": pa.int64(),
    "y": pa.float64(),
}
_SCHEMA = pa.schema(_KINDS)
_BOUNDED = ("count", "sum", "avg", "variance", "min", "max", "first", "last", "approx_distinct")
_HOLISTIC = ("median", "mode", "collect")


def small_data() -> pa.Table:
    """Rows with ties, NULLs, disorder, a row that is late for some of its windows and one for all."""
    size = 64
    times = [i * 3 - (i % 5) * 2 for i in range(size)]
    times[20], times[40] = 36, 5
    columns: dict[str, list[Any]] = {
        "ts": times,
        "k": ["a", None, "b", "c"] * (size // 4),
        "d": ["u", "v"] * (size // 2),
        "x": [1, None, 3, 4] * (size // 4),
        "y": [0.5, 1.5, None, 1e300] * (size // 4),
    }
    return pa.table(columns, schema=_SCHEMA)


def _calls(functions: tuple[str, ...]) -> tuple[AggregateCall, ...]:
    over = [(name, column) for name in functions for column in ("x", "y")]
    calls = [AggregateCall(f"{name}_{column}", name, Column(column)) for name, column in over]
    return AggregateCall("rows", "count"), *calls


def small_queries() -> Iterator[tuple[str, Node]]:
    """Queries that between them call every kernel, with what each is for."""
    slack, rows = Slack(Amount.of(4)), SlackRows(3)
    sliding = Sliding("ts", 12, 4)
    yield "panes", _query(sliding, slack, _BOUNDED, keys=("k", "d"))
    yield "one group", _query(sliding, slack, ("sum",), keys=())
    yield "rows too far ahead", _query(sliding, Slack(Amount.of(4), Lead(Amount.of(1000))), ("sum",), keys=())
    for name, lead in (("partitions", None), ("rows ahead of their partition", Lead(Amount.of(1000)))):
        yield name, _query(sliding, Slack(Amount.of(4), lead, ("k", "x")), ("sum",), keys=())
    yield "integer keys", _query(sliding, slack, ("max",), keys=("x",))
    yield "values", _query(sliding, slack, _HOLISTIC, keys=("k",))
    yield "corrections", _query(sliding, rows, ("max", "first"), keys=("k",), late=Late.REVISE)
    yield "sessions", _query(Session("ts", 5), slack, (*_BOUNDED, "median"), keys=("k",))
    by_arrival, by_time = RowsWindow(6, 2, ("k",)), RowsWindow(6, 2, ("k",), "ts")
    yield "rows", _query(by_arrival, slack, (*_BOUNDED, *_HOLISTIC), keys=("k", "d"))
    yield "rows in order", _query(by_time, slack, _BOUNDED, keys=("k",))
    yield "rows of all", _query(RowsWindow(6, 2), slack, ("max",), keys=())
    yield "landmarks", _query(Landmark("ts", 20), slack, ("max", "last"), keys=("k",))
    yield "per row", _query(SlideByTuple("ts", 12), slack, (*_BOUNDED, "median"), keys=("k",))
    yield (
        "every second row of a group",
        _query(SlideByTuple("ts", 12, 2, partition=("k",)), slack, ("sum",), keys=("k",)),
    )
    yield "adaptive", _query(sliding, slack, ("sum", "max", "last"), keys=("k",), strategy=Strategy.ADAPTIVE)
    yield "window ids", _query(sliding, slack, ("sum", "max", "last"), keys=("k",), strategy=Strategy.WID)


def small_joins() -> Iterator[tuple[str, Node]]:
    """Joins that between them call every kernel of theirs: a stream with itself."""
    keys = Call("=", (Column("a_x"), Column("b_x")))
    yield "joins by keys", _join(keys)
    yield "joins by text", _join(Call("=", (Column("a_k"), Column("b_k"))))
    yield "joins by a band", _join(_band("x"))
    yield "joins by two bands", _join(Call("and", (_band("x"), _band("y"))))
    yield "joins by keys and a band", _join(Call("and", (keys, _band("y"))))
    yield "joins of every pair", _join(None)
    yield "joins of every pair on several cores", _join(None, JoinStrategy.HANDSHAKE)
    yield "handshake joins", _join(_band("x"), JoinStrategy.HANDSHAKE)


def _band(name: str) -> Expression:
    value, center = Column(f"a_{name}"), Column(f"b_{name}")
    above = Call(">=", (value, Call("-", (center, Literal(1)))))
    return Call("and", (above, Call("<=", (value, Call("+", (center, Literal(1)))))))


def _join(on: Expression | None, strategy: JoinStrategy = JoinStrategy.AUTO) -> Join:
    stream = Stream("s", _SCHEMA, "ts", Slack(Amount.of(4)))
    names = joined_names((_SCHEMA, _SCHEMA), ("a", "b"))
    window, time = Between(-50, 50), JoinTime.EARLIER
    return Join(stream, stream, JoinKind.FULL, window, on, names, ("a", "b"), time, late=Late.SIDE, strategy=strategy)


def _query(
    window: Window,
    policy: Policy,
    functions: tuple[str, ...],
    *,
    keys: tuple[str, ...],
    late: Late = Late.SIDE,
    strategy: Strategy = Strategy.AUTO,
) -> Node:
    stream = Filter(Stream("s", _SCHEMA, "ts", policy), Call("=", (Column("d"), Literal("u"))))
    named = tuple((name, Column(name)) for name in keys)
    return WindowAggregate(stream, window, named, _calls(functions), late=late, strategy=strategy)


def compile_for(plan: Node) -> None:
    """Run one small query, also with windows reported in slices; and route its rows to shards, as some engines do."""
    nodes = [node for node in walk(plan) if isinstance(node, WindowAggregate)]
    for flush in ("eager", "slow") if any(why_not_smooth(node) is None for node in nodes) else ("eager",):
        source = open_source(small_data(), name="s")
        run([plan], {"s": source}, Receiver.of_one(lambda _: None), LocalOptions(flush=flush, batch_rows=16))
    columns = [column.combine_chunks() for column in small_data().columns]
    shards_of(columns, len(columns[0]), 2)


def compile_datagrams() -> None:
    """Take apart no datagrams at all, of every width that a column may have."""
    codes = "s1 s2 s4 s8 i1 i2 i4 i8 u8 i4 i2 u4 f4 f8 b1 t8us t4s d4 s5".replace(" ", ",")
    wide: list[pa.DataType] = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint64(), *[pa.int64()] * 3]
    kinds = [*[pa.string()] * 4, *wide, pa.float32(), pa.float64(), pa.bool_(), *[pa.timestamp("us")] * 2, pa.date32()]
    schema = pa.schema([(f"c{place}", kind) for place, kind in enumerate([*kinds, pa.string()])])
    for header in (True, False):
        layout = TupleLayout.of(schema, codes)
        PackedReading(layout, encoded_schema(schema), header=header, big=False, ends=True)


def compile_blocks() -> None:
    """Code, read, save and fold a column of each nature: queries do so only once they keep many rows."""
    numbers = np.arange(3000) % 700
    low, high = np.array([5]), np.array([2995])
    for values, nature in (
        (numbers, Nature.INTEGERS),
        (numbers.astype(np.int32), Nature.INTEGERS),
        (numbers / 100, Nature.FLOAT_BITS),
        (numbers, Nature.FLOAT_KEYS),
    ):
        column = CodedColumn.of_table(CodedColumn.of(values, nature, folded=True).table())
        column.read()
        column.take(np.array([7, 3]))
        extremes(column, low, high)
        different(column, low, high)
        ranked(column, low, high, np.array([[9]]))
        if nature is Nature.INTEGERS:
            sums(column, low, high)
