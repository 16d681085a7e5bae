"""From pairs of rows to batches of results: which columns are kept for that, and how they are put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, concatenated
from windrow.aggregates.kinds.base import Array, Integers
from windrow.operators.base import Batch
from windrow.operators.expressions.predicate import Predicate
from windrow.operators.expressions.values import settled
from windrow.operators.input.times import to_units
from windrow.operators.joins.encoding import Encoder
from windrow.operators.joins.runs import SortedRun
from windrow.operators.kernels.panes.assign import look_up
from windrow.operators.store.sealed_rows import taken
from windrow.plan.checks.joins import schema_of
from windrow.plan.conditions import Conditions, conjunction
from windrow.plan.nodes import Join, JoinTime
from windrow.plan.types.kinds import Shape, normal_time
from windrow.semantics.joins import LEFT, RIGHT, LastRows
from windrow.semantics.scalars.expressions import Call, Expression, columns_of

ROWS = 1 << 18
"""Results that are given together, or somewhat more."""


@dataclass(frozen=True)
class Picked:
    """Rows of one side: the columns that are kept of them (None: no columns), and their times where asked for."""

    size: int
    data: pa.RecordBatch | None
    times: Integers | None

    def __len__(self) -> int:
        return self.size

    def take(self, rows: Integers, *, timed: bool = True) -> Picked:
        times = None if self.times is None or not timed else gathered(self.times, rows)
        return Picked(len(rows), None if self.data is None else self.data.take(arrow(rows)), times)

    def only(self, columns: Sequence[str] | None) -> Picked:
        """The same rows with some of their columns, as far as there are such."""
        if columns is None or self.data is None:
            return self
        known = frozenset(self.data.schema.names)
        names = [name for name in columns if name in known]
        return Picked(self.size, self.data.select(names) if names else None, self.times)

    @staticmethod
    def together(parts: Sequence[Picked]) -> Picked:
        if len(parts) == 1:
            return parts[0]
        data = [part.data for part in parts if part.data is not None]
        times = [part.times for part in parts if part.times is not None]
        return Picked(
            sum(map(len, parts)), concatenated(data) if data else None, np.concatenate(times) if times else None
        )


def gathered(values: Integers, rows: Integers) -> Integers:
    """`values[rows]`, without holding up other threads."""
    out = np.empty(len(rows), np.int64)
    look_up(values, rows, out)
    return out


class JoinColumns:
    """Which columns of each side are kept: those that come out, and those that candidates are tried by.

    The time itself is not kept twice: where its type allows, it is made again from the times.
    """

    def __init__(self, node: Join, shapes: tuple[Shape, Shape], conditions: Conditions, encoder: Encoder) -> None:
        self.node = node
        self.schema = schema_of(node, shapes)
        test = _test(conditions, encoder)
        self.predicate = None if test is None else Predicate(test)
        self.tried = [] if test is None else list(dict.fromkeys(columns_of(test)))
        self.times = tuple(
            next(c.name for c in node.names if c.side == side and c.source == shapes[side].time)
            for side in (LEFT, RIGHT)
        )
        self.by_arrival = isinstance(node.window, LastRows)
        wanted = {c.name for c in node.columns} | set(self.tried)
        self.kept = tuple(self._kept(side, wanted) for side in (LEFT, RIGHT))
        self.timed = tuple(self._is_timed(side, wanted) for side in (LEFT, RIGHT))
        """Whether the times of a side are needed to make results of pairs."""

    def _kept(self, side: int, wanted: set[str]) -> dict[str, str]:
        """What the input calls the columns that are kept, by their names here."""
        names = self.node.names_of(side)
        time = self.times[side]
        if self.by_arrival:
            wanted = wanted | {time}
        plain = not self.by_arrival and self.schema.field(time).type == normal_time(self.schema.field(time).type)
        return {name: source for name, source in names.items() if name in wanted and not (plain and name == time)}

    def _is_timed(self, side: int, wanted: set[str]) -> bool:
        own = JoinTime.LEFT if side == LEFT else JoinTime.RIGHT
        made = self.times[side] in wanted and self.times[side] not in self.kept[side]
        return made or self.node.time in (own, JoinTime.EARLIER, JoinTime.LATER)

    def renamed(self, data: pa.RecordBatch, side: int) -> pa.RecordBatch:
        names = self.node.names_of(side)
        return pa.record_batch([data.column(source) for source in names.values()], names=list(names))

    def pick(self, rows: pa.RecordBatch, times: Integers, side: int) -> Picked:
        """The columns that are kept of renamed rows; dictionaries as values, for they differ between batches."""
        names = list(self.kept[side])
        if not names:
            return Picked(len(times), None, times)
        kinds = [self.schema.field(name).type for name in names]
        columns = [settled(rows.column(name), kind) for name, kind in zip(names, kinds, strict=True)]
        return Picked(len(times), pa.record_batch(columns, names=names), times)

    def stored(self, run: SortedRun, rows: Integers, side: int, *, timed: bool = True) -> Picked:
        payload = None if run.payload is None else taken(run.payload, run.rows[rows])
        if not timed:
            return Picked(len(rows), payload, None)
        if not self.by_arrival:
            return Picked(len(rows), payload, gathered(run.times, rows))
        assert payload is not None
        return Picked(len(rows), payload, to_units(payload.column(self.times[side])))

    def column(self, name: str, rows: Picked) -> Array:
        if rows.data is not None and (place := rows.data.schema.get_field_index(name)) >= 0:
            found: Array = rows.data.column(place)
            return found
        assert rows.times is not None
        return _timely(rows.times, self.schema.field(name).type)

    def holds(self, left: Picked, right: Picked) -> npt.NDArray[np.bool_] | None:
        """For which of these pairs what is left of the predicate is true; None: for all."""
        if self.predicate is None:
            return None
        sides = self.node.names_of(LEFT)
        columns = [self.column(name, left if name in sides else right) for name in self.tried]
        if not columns:  # a constant
            columns = [arrow(np.zeros(len(left), np.int64))]
        batch = pa.record_batch(columns, names=self.tried or ["time"])
        return self.predicate.mask(batch).view(np.bool_)


def _test(conditions: Conditions, encoder: Encoder) -> Expression | None:
    """What candidates are still tried by."""
    unsure = () if encoder.is_exact else conditions.equalities
    parts: list[Expression] = [Call("=", (equality.left, equality.right)) for equality in unsure]
    return conjunction([*parts, *([] if conditions.rest is None else [conditions.rest])])


@dataclass
class JoinResults:
    """Puts results together and gives them in batches of some size."""

    columns: JoinColumns
    output: pa.Schema
    pairs: list[tuple[Picked | None, Picked | None]] = field(default_factory=list)
    waiting: int = 0

    def add(self, left: Picked | None, right: Picked | None) -> Iterator[Batch]:
        """Pairs, or rows of one side."""
        self.pairs.append((left, right))
        self.waiting += len(left if left is not None else right or ())
        if self.waiting >= ROWS:
            yield from self.flush()

    def alone(self, rows: Picked, side: int) -> Iterator[Batch]:
        return self.add(rows, None) if side == LEFT else self.add(None, rows)

    def flush(self) -> Iterator[Batch]:
        pairs, self.pairs, self.waiting = self.pairs, [], 0
        for shape in ((True, True), (True, False), (False, True)):
            alike = [pair for pair in pairs if (pair[LEFT] is not None, pair[RIGHT] is not None) == shape]
            if alike:
                sides = [
                    Picked.together([pair[side] for pair in alike]) if there else None  # type: ignore[misc]
                    for side, there in enumerate(shape)
                ]
                yield self._batch(sides[LEFT], sides[RIGHT])

    def _batch(self, left: Picked | None, right: Picked | None) -> Batch:
        node, times = self.columns.node, self._times(left, right)
        arrays: list[Array] = []
        for place, column in enumerate(node.columns):
            rows, kind = (left, right)[column.side], self.output.field(place).type
            arrays.append(pa.nulls(len(times), kind) if rows is None else self.columns.column(column.name, rows))
        if len(self.output) > len(node.columns):
            arrays.append(_timely(times, self.output.types[-1]))
        return Batch(pa.record_batch(arrays, schema=self.output), times)

    def _times(self, left: Picked | None, right: Picked | None) -> Integers:
        """Of results: that of one side, or the earlier or later one of both; a row without a partner has its own."""
        time = self.columns.node.time
        sides = {JoinTime.LEFT: (left,), JoinTime.RIGHT: (right,)}.get(time, (left, right))
        if left is None or right is None:
            sides = left, right
        times = [rows.times for rows in sides if rows is not None and rows.times is not None]
        return reduce(np.minimum if time is JoinTime.EARLIER else np.maximum, times)


def _timely(times: Integers, kind: pa.DataType) -> Array:
    """Times as a column, not copied."""
    return arrow(times) if kind == pa.int64() else arrow(times).view(kind)
