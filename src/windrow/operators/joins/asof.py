"""As-of join: each left row with the one right row that is nearest in time, once that can no longer change.

Left rows wait until the right side has come past the times they may meet. Right rows are kept as long as a left row to
come may meet them: looking back without a limit, that is the last one of each key. Who is nearest says `nearest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.aggregates.kinds.base import Array, Integers, value_type
from windrow.operators.base import Batch, Element
from windrow.operators.expressions.tree import evaluate
from windrow.operators.expressions.values import decoded, in_types_of, settled
from windrow.operators.joins.asof_rows import AsOfRows
from windrow.operators.joins.base import SIDES, AnyJoin
from windrow.operators.joins.nearest import NONE, beaten, nearest, superseded
from windrow.operators.joins.progress import met_by
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import Codes, Groups
from windrow.operators.state.keys import present
from windrow.operators.store.row_block import RowBlock
from windrow.plan.checks.joins import conditions, schema_of
from windrow.plan.conditions import Equality
from windrow.plan.nodes import Join
from windrow.plan.types.expressions import type_of
from windrow.plan.types.kinds import Shape, common
from windrow.semantics.joins import LEFT, RIGHT, AsOf, JoinKind
from windrow.semantics.progress.policies import END, START, Punctuation, check_advance


class KeyCodes:
    """Keys of both sides as codes of one dictionary; -1 where a part of the key is NULL."""

    def __init__(self, equalities: Sequence[Equality], schema: pa.Schema) -> None:
        self.equalities = equalities
        kinds = []
        for equality in equalities:
            kind = common(type_of(equality.left, schema), type_of(equality.right, schema))
            assert kind is not None
            kinds.append(kind)
        self.groups = Groups(kinds)

    def encode(self, data: pa.RecordBatch, side: int) -> Codes:
        if not self.equalities:
            return np.zeros(len(data), np.int32)
        arrays: list[Array] = [
            settled(decoded(evaluate(equality.of(side), data)), kind)
            for equality, kind in zip(self.equalities, self.groups.kinds, strict=True)
        ]
        known = np.logical_and.reduce([present(array) for array in arrays])
        return np.where(known, self.groups.encode(arrays), -1).astype(np.int32)

    def compact(self, held: list[AsOfRows]) -> None:
        """Forget keys that no row has, once they are most of all."""
        found = self.groups.compacted(lambda: np.unique(np.concatenate([rows.codes() for rows in held])))
        if found is not None:
            self.groups, mapping = found
            for rows in held:
                rows.remap(np.append(mapping, np.int32(-1)))  # what -1 finds


class AsOfJoinOperator(AnyJoin):
    """Each left row with its partner."""

    def __init__(self, node: Join, shapes: tuple[Shape, Shape], output: Shape) -> None:
        super().__init__(node, shapes)
        assert isinstance(node.window, AsOf)
        self.window = node.window
        self.output = output
        both = schema_of(node, shapes)
        self.schemas = [
            pa.schema([(name, value_type(both.field(name).type)) for name in node.names_of(side)])
            for side in (LEFT, RIGHT)
        ]
        self.keys = KeyCodes(conditions(node, shapes).equalities, both)
        self.held: list[AsOfRows] = [AsOfRows(schema, self.sealing_of_rows) for schema in self.schemas]
        self.bound = START
        self.may_tie = False
        """Whether right rows came since it was looked at whether some are of equal key and time."""

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch, late = self.in_time(batch, port, self.bounds[port])
        yield from late
        if len(batch):
            self.held[port].add(self._named(batch, port))
            self.may_tie = self.may_tie or port == RIGHT

    def _named(self, batch: Batch, port: int) -> RowBlock:
        data = in_types_of(self.schemas[port], batch.data.select(list(self.node.names_of(port).values())))
        return RowBlock({"place": batch.times, "code": self.keys.encode(data, port)}, data)

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        yield from self._release()
        self._purge()
        self.keys.compact(self.held)
        for rows in self.held:
            rows.seal()
        bound = min(self.bounds[LEFT], self._settled_from())
        if bound > self.bound:
            self.bound = bound
            yield Punctuation(bound)

    def _settled_from(self) -> int:
        """No left row below this waits any longer."""
        return self.held[LEFT].least

    def _release(self) -> Iterator[Element]:
        """Left rows whose partner is known, or known to be none, with it."""
        left = self.held[LEFT].keys()
        if not len(left) or self.bounds[RIGHT] == START:
            return
        right = self._right()
        partners = nearest(left, right, self.window)
        _, last = met_by(self.window, LEFT, left["place"])
        final = last < self.bounds[RIGHT] if self.bounds[RIGHT] != END else np.ones(len(left), np.bool_)
        if self.window.forward and len(right):
            final |= (partners != NONE) & (right["place"][partners] < self.bounds[RIGHT])
        wanted = final if self.node.kind is JoinKind.LEFT else final & (partners != NONE)
        rows = np.flatnonzero(wanted)
        found = self._joined(left.take(rows), right, partners[rows]) if len(rows) else None
        self.held[LEFT].drop(left["number"][final])
        if found is not None:
            yield found

    def _right(self) -> RowBlock:
        """Place, code and number of the right rows, one a key and time."""
        held = self.held[RIGHT]
        right = held.keys()
        if self.may_tie:
            self.may_tie = False
            gone = right["number"][beaten(right, lambda rows: held.whole(right["number"][rows]))]
            if len(gone):
                held.drop(gone)
                return held.keys()
        return right

    def _joined(self, left: RowBlock, right: RowBlock, partners: Integers) -> Batch:
        nothing = partners == NONE
        whole = self.held[RIGHT].whole(right["number"][partners[~nothing]])
        found = whole.take(arrow(np.cumsum(~nothing) - 1, null=nothing)) if nothing.any() else whole
        rows = self.held[LEFT].whole(left["number"])
        columns = [(rows, found)[column.side].column(column.name) for column in self.node.columns]
        self.counters.results += len(left)
        return Batch(pa.record_batch(columns, schema=self.output.schema), left["place"])

    def _purge(self) -> None:
        """Forget right rows that no left row to come, or still waiting, looks at."""
        bound = min(self.bounds[LEFT], self._settled_from())
        if not len(self.held[RIGHT]) or bound == START:
            return
        right = self._right()
        _, last = met_by(self.window, RIGHT, right["place"])
        gone = np.ones(len(right), np.bool_) if bound == END else last < bound
        gone |= right["code"] < 0
        if not self.window.forward:
            gone |= superseded(right, bound)
        if gone.any():
            self.held[RIGHT].drop(right["number"][gone])

    def state(self) -> dict[str, Saved]:
        """Rows of both sides, and how far they and the results have come."""
        tables: dict[str, Saved] = {"bounds": tabled(value=np.array([*self.bounds, self.bound, *self.late]))}
        for name, rows in zip(SIDES, self.held, strict=True):
            tables |= rows.state(name)
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        numbers: list[Any] = tables["bounds"]["value"].to_pylist()
        self.bounds, self.bound, self.late = numbers[:2], numbers[2], numbers[3:]
        for side, name in enumerate(SIDES):
            self.held[side].restore(name, tables, partial(self.keys.encode, side=side))
        self.may_tie = True
