"""Panes by Spark's own aggregation, for static DataFrames, where that gives the very same partials.

Only the partials of panes reach Python. For streams it is not used: Spark's aggregation drops late rows on its own and
counts them by group, so that rows in = used + late + early + filtered would not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.aggregates.one_value import Greatest
from windrow.aggregates.sums import Counted, Summed
from windrow.engines.spark.query.types import named
from windrow.errors import DataError
from windrow.operators.aggregate.partials import Partials
from windrow.operators.kernels.input import span
from windrow.operators.state.columns.base import StateColumn
from windrow.operators.state.columns.making import GreatestColumn, ValidColumn
from windrow.operators.state.columns.sums import IntegerSum
from windrow.operators.state.keys import as_int64
from windrow.operators.state.kinds import LEAST, MAXS
from windrow.operators.state.layout import Layout
from windrow.physical.division.join_routing import Exchange
from windrow.physical.pane_cells import pane_of
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Stream, WindowAggregate
from windrow.plan.rounding import kept_calls
from windrow.plan.types.expressions import type_of
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import lead_of
from windrow.semantics.scalars.expressions import Column as Name
from windrow.semantics.windows.kinds import Landmark, Sliding
from windrow.sharded.pre_aggregate import PreAggregation, Task
from windrow.sharded.wire import BODIES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def why_not_native(exchange: Exchange) -> str | None:
    """Why Spark's own aggregation would not give the same panes; None when it does."""
    node = exchange.merging
    if node is None:
        return "rows are sent"
    if exchange.path:
        return "expressions are evaluated by Windrow"
    if lead_of(exchange.stream.policy) is not None:
        return "rows too far ahead are set aside by Windrow"
    if partitioned_by(exchange.stream.policy):
        return "how far each partition is, is reported by Windrow"
    schema = exchange.stream.schema
    if not _is_exact(schema.field(exchange.stream.time).type):
        return "times without a zone are not counted alike"
    for _, key in node.keys:
        kind = type_of(key, schema)
        plain = pa.types.is_string(kind) or pa.types.is_boolean(kind) or pa.types.is_date32(kind) or _is_exact(kind)
        if not isinstance(key, Name) or not plain:
            return f"the key {key} is compared by Windrow"
    return next((f"{call} is computed by Windrow" for call in kept_calls(node) if not _is_native(call, schema)), None)


def _is_exact(kind: pa.DataType) -> bool:
    """Signed integers, and points in time in microseconds: whole numbers on both sides."""
    return bool(pa.types.is_signed_integer(kind) or (pa.types.is_timestamp(kind) and kind.tz and kind.unit == "us"))


_NATIVE = (Counted, Summed, Greatest)
"""State columns that Spark's aggregation can fill."""


def _is_native(call: Any, schema: pa.Schema) -> bool:
    if call.argument is None:
        return True
    parts = Layout([call], schema).parts[0]
    native = all(part.columns and all(type(c) in _NATIVE for c in part.columns) for part in parts)
    return isinstance(call.argument, Name) and _is_exact(type_of(call.argument, schema)) and native


def native_panes(frame: DataFrame, lowering: PreAggregation) -> DataFrame:
    """The bodies of a static DataFrame, from panes that Spark aggregates."""
    from pyspark.sql import functions as sf

    node = lowering.exchange.merging
    assert node is not None
    stream = lowering.exchange.stream
    layout = _wide_layout(node)
    time = _whole(frame, stream.time)
    keys = [named(str(expression)).alias(f"key{i}") for i, (_, expression) in enumerate(node.keys)]
    assert isinstance(node.window, (Sliding, Landmark))
    place = _pane(time, node.window.origin, pane_of(node.window)).alias("place")
    state = [column.alias(name) for name, column in _state(frame, layout)]
    panes = frame.groupBy(*keys, place).agg(*state, sf.max(time).alias("high"))
    return panes.mapInArrow(_sending(lowering, layout.to_json()), BODIES)


def _wide_layout(node: WindowAggregate) -> Layout:
    """Counts of values always there and sums in halves: no cell can overflow, and Spark's plan is fixed."""
    layout = Layout(kept_calls(node), shape_of(node.input).schema)
    widths = [
        {"width": 2, "largest": 0, "rows": 0} if isinstance(column, IntegerSum) else {"width": 1}
        for column in layout.adding
    ]
    layout.from_json(widths)
    return layout


def _whole(frame: DataFrame, name: str) -> Column:
    """A column as a 64-bit integer, microseconds for points in time."""
    from pyspark.sql import functions as sf

    is_moment = frame.schema[name].dataType.typeName() == "timestamp"
    return sf.unix_micros(named(name)) if is_moment else named(name).cast("bigint")


def _pane(time: Column, origin: int, length: int) -> Column:
    """The pane of a time, rounding down for negative ones too, in whole numbers."""
    from pyspark.sql import functions as sf

    since = time - sf.lit(origin)
    return sf.call_function("div", since - sf.pmod(since, sf.lit(length)), sf.lit(length))


def _state(frame: DataFrame, layout: Layout) -> Iterator[tuple[str, Column]]:
    """The state columns by name, in the order of the tables."""
    from pyspark.sql import functions as sf

    adds, maxs = [sf.count(sf.lit(1))], []
    for expression, argument in layout.arguments.items():
        value = _whole(frame, str(expression))
        for column in argument.adding:
            adds += _adding(column, value)
        maxs += [_greatest(column, value) for column in argument.columns.values() if column.kind is MAXS]
    yield from ((f"add{i}", column) for i, column in enumerate(adds))
    yield from ((f"max{i}", column) for i, column in enumerate(maxs))


def _adding(column: Any, value: Column) -> list[Column]:
    from pyspark.sql import functions as sf

    if isinstance(column, ValidColumn):
        return [sf.count(value)]
    halves = sf.shiftright(value, 32), value.bitwiseAND(sf.lit((1 << 32) - 1))
    return [sf.coalesce(sf.sum(half), sf.lit(0)) for half in halves]


def _greatest(column: StateColumn, value: Column) -> Column:
    from pyspark.sql import functions as sf

    assert isinstance(column, GreatestColumn)
    best = sf.max(value) if column.greatest else sf.bitwise_not(sf.min(value))
    return sf.coalesce(best, sf.lit(int(LEAST)))


def _refuse_nulls(times: pa.Array[Any], stream: Stream) -> None:
    if times.null_count:
        raise DataError(
            "must not be null: a row without a time belongs to no window",
            parameter=stream.time,
            value=f"{times.null_count} nulls in {stream.name}",
            hint=f"filter the source, or fill it: coalesce({stream.time}, ...)",
        )


def _sending(
    lowering: PreAggregation, layout: list[Any]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = Task(lowering, 0)
        for batch in batches:
            if batch.num_rows:
                _refuse_nulls(batch.column("place"), lowering.exchange.stream)
                high = int(span(as_int64(batch.column("high")))[1])
                yield task.send_cells(Partials.from_batch(batch.drop_columns(["high"]), layout), high)
        yield from task.finish(False)

    return work
