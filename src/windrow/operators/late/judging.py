"""Late rows: which of them still count, and the table of what each of them missed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.windows.extents import end_of, first_windows, in_some_window, last_closed, last_windows
from windrow.physical.rules.choose_joins import shapes_below
from windrow.plan.checks.joins import schema_of
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, Late, Node, WindowAggregate, walk
from windrow.plan.types.kinds import Shape, normal_time
from windrow.semantics.joins import LEFT
from windrow.semantics.windows.kinds import Landmark, Sliding

Flags: TypeAlias = npt.NDArray[np.bool_]
COLUMNS = ("late_by", "late_windows", "late_from", "late_until", "late_source")


@dataclass(frozen=True)
class Missed:
    """For late rows: how far below the closed boundary, and the run of windows each missed; None where not known."""

    late_by: Integers
    windows: Integers | None
    starts: Integers | None
    ends: Integers | None

    def take(self, rows: Integers) -> Missed:
        known = (None if column is None else column[rows] for column in (self.windows, self.starts, self.ends))
        return Missed(self.late_by[rows], *known)


@dataclass(frozen=True)
class Verdicts:
    """For rows below the bounds they met: which missed a window, which of these for good, which still count in one.

    `details` is what those at some places missed.
    """

    missed: Flags
    absent: Flags
    counts: Flags
    details: Callable[[Integers], Missed]


def below(times: Integers, bounds: Integers | int) -> Flags:
    """Which rows are late: this comparison is the only one. A window that closes at `c` is closed at a bound `>= c`,
    so a row below the bound may have missed one; what it missed depends on the windows.
    """
    return times < bounds


def judge(window: Sliding | Landmark, times: Integers, closed: Integers, *, consistent: bool, within: int) -> Verdicts:
    """Rows below `closed`, the end of the last closed window of each one's group.

    The rule is `semantics.lateness`, on whole arrays. Windows are corrected as long as they end `within` of it.
    """
    missed = in_some_window(window, times)
    if isinstance(window, Landmark):
        counts = np.ones(len(times), np.bool_)
    else:
        counts = (times >= closed + window.slide - window.range) & missed
    counts = counts & ~missed if consistent else counts
    return Verdicts(missed, missed, counts, lambda rows: missed_windows(window, times[rows], closed[rows], within))


def missed_windows(window: Sliding | Landmark, times: Integers, closed: Integers, within: int = 0) -> Missed:
    """What rows that missed something missed: the windows up to the boundary, but for those corrected `within` it."""
    first = first_windows(window, times)
    last = last_closed(window, closed - within)
    if isinstance(window, Sliding):
        last = np.minimum(last, last_windows(window, times))
    starts = None if isinstance(window, Landmark) else end_of(window, first) - window.range
    return Missed(closed - times, last - first + 1, starts, end_of(window, last))


def late_schema(schema: pa.Schema, time: str | None) -> pa.Schema:
    """The columns of the late rows: those of the row, then what it missed. Without a time no row is ever late."""
    kind = pa.int64() if time is None else normal_time(schema.field(time).type)
    distance = pa.duration("us") if pa.types.is_timestamp(kind) else pa.int64()
    kinds = (distance, pa.int64(), kind, kind, pa.string())
    return pa.schema([*schema, *(pa.field(n, k) for n, k in zip(COLUMNS, kinds, strict=True))])


def late_columns(plan: Node) -> pa.Schema:
    """The columns of the late rows of the topmost window or join that gives any; none when none does."""
    for node in walk(plan):
        if isinstance(node, Join) and node.late is not Late.DROP:
            return late_schema_of_join(node, shapes_below(node))
        if isinstance(node, WindowAggregate) and node.late is not Late.DROP:
            shape = shape_of(node.input)
            return late_schema(shape.answer, shape.time)
    return pa.schema([])


def late_schema_of_join(node: Join, shapes: tuple[Shape, Shape]) -> pa.Schema:
    """The columns of both sides under their names in the join, then those of every late row. It missed no windows."""
    both = Shape(schema_of(node, shapes), None).answer
    time = next(c.name for c in node.names if c.side == LEFT and c.source == shapes[LEFT].time)
    return late_schema(both, time)


def late_batch(data: pa.RecordBatch, missed: Missed, source: str, schema: pa.Schema) -> pa.RecordBatch:
    fields = [schema.field(name) for name in COLUMNS]
    numbers = missed.late_by, missed.windows, missed.starts, missed.ends
    arrays: list[Any] = [
        pa.nulls(len(data), field.type) if column is None else pa.array(column).cast(field.type)
        for column, field in zip(numbers, fields, strict=False)
    ]
    arrays.append(pa.array([source] * len(data), pa.string()))
    columns = [c.cast(f.type) if c.type != f.type else c for c, f in zip(data.columns, schema, strict=False)]
    return pa.record_batch([*columns, *arrays], schema=schema)
