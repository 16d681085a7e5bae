"""As-of join: each left row with the one right row that is nearest in time, once that can no longer change.

Left rows wait until the right side has come past the times they may meet. Right rows are kept as long as a left row to
come may meet them: looking back without a limit, that is the last one of each key. Who is nearest is pure array code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.aggregates.kinds.arrays import arrow, tabled
from windrow.aggregates.kinds.base import Array, Integers, value_type
from windrow.operators.base import Batch, Element
from windrow.operators.expressions.tree import evaluate
from windrow.operators.expressions.values import decoded, in_types_of, settled
from windrow.operators.joins.base import SIDES, AnyJoin
from windrow.operators.joins.progress import met_by
from windrow.operators.state.groups import NO_CODES, Codes, Groups
from windrow.operators.state.keys import ordered_keys, present
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.row_store import RowStore
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

    def compact(self, held: list[RowStore]) -> None:
        """Forget keys that no row has, once they are most of all."""
        found = self.groups.compacted(lambda: np.unique(np.concatenate([_known(rows) for rows in held])))
        if found is not None:
            self.groups, mapping = found
            for rows in held:
                rows.remap("code", np.append(mapping, np.int32(-1)))  # what -1 finds


def _known(rows: RowStore) -> Codes:
    codes: Codes = rows.column("code")
    return codes[codes >= 0]


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
        no_keys: dict[str, Any] = {"place": np.empty(0, np.int64), "code": NO_CODES}
        self.held: list[RowStore] = [RowStore(RowBlock(no_keys, no_rows(schema))) for schema in self.schemas]
        self.bound = START

    def process(self, batch: Batch, port: int = 0) -> Iterable[Element]:
        batch, late = self.in_time(batch, port, self.bounds[port])
        yield from late
        if len(batch):
            self.held[port].append(self._named(batch, port))

    def _named(self, batch: Batch, port: int) -> RowBlock:
        data = in_types_of(self.schemas[port], batch.data.select(list(self.node.names_of(port).values())))
        return RowBlock({"place": batch.times, "code": self.keys.encode(data, port)}, data)

    def punctuate(self, punctuation: Punctuation, port: int = 0) -> Iterable[Element]:
        self.bounds[port] = check_advance(self.bounds[port], punctuation.value)
        yield from self._release()
        self._purge()
        self.keys.compact(self.held)
        bound = min(self.bounds[LEFT], self._settled_from())
        if bound > self.bound:
            self.bound = bound
            yield Punctuation(bound)

    def _settled_from(self) -> int:
        """No left row below this waits any longer."""
        return min((rows.span("place")[0] for rows in self.held[LEFT].blocks), default=END)

    def _release(self) -> Iterator[Element]:
        """Left rows whose partner is known, or known to be none, with it."""
        left = self.held[LEFT].content()
        if not len(left) or self.bounds[RIGHT] == START:
            return
        right = self._right()
        partners = nearest(left, right, self.window)
        _, last = met_by(self.window, LEFT, left["place"])
        final = last < self.bounds[RIGHT] if self.bounds[RIGHT] != END else np.ones(len(left), np.bool_)
        if self.window.forward and len(right):
            final |= (partners != NONE) & (right["place"][partners] < self.bounds[RIGHT])
        self.held[LEFT].replace(left.take(np.flatnonzero(~final)))
        wanted = final if self.node.kind is JoinKind.LEFT else final & (partners != NONE)
        if wanted.any():
            rows = np.flatnonzero(wanted)
            yield self._joined(left.take(rows), right, partners[rows])

    def _right(self) -> RowBlock:
        """The right rows, one a key and time."""
        right = self.held[RIGHT].content()
        found = without_ties(right)
        if len(found) < len(right):
            self.held[RIGHT].replace(found)
        return found

    def _joined(self, left: RowBlock, right: RowBlock, partners: Integers) -> Batch:
        nothing = partners == NONE
        found = right.rows.take(arrow(np.where(nothing, 0, partners), null=nothing))
        columns = [(left.rows, found)[column.side].column(column.name) for column in self.node.columns]
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
            self.held[RIGHT].replace(right.take(np.flatnonzero(~gone)))

    def state(self) -> dict[str, pa.Table]:
        """Rows of both sides by time, and how far they and the results have come."""
        tables = {"bounds": tabled(value=np.array([*self.bounds, self.bound, *self.late]))}
        for name, rows in zip(SIDES, self.held, strict=True):
            tables[name] = rows.content().sorted("place").without("code").table()
        return tables

    def restore(self, tables: dict[str, pa.Table]) -> None:
        numbers: list[Any] = tables["bounds"]["value"].to_pylist()
        self.bounds, self.bound, self.late = numbers[:2], numbers[2], numbers[3:]
        for side, name in enumerate(SIDES):
            rows = self.held[side].nothing.like(tables[name])
            self.held[side].replace(rows.having({"code": self.keys.encode(rows.rows, side)}))


NONE = -1


def nearest(left: RowBlock, right: RowBlock, window: AsOf) -> Integers:
    """The place of each left row's partner among the right rows, or NONE. A negative key meets nothing.

    Both sides are sorted together by key and time; a partner is the last right row before a left one, or, forward,
    the first after it. `right` must hold one row a key and time: see `without_ties`.
    """
    codes = np.concatenate([left["code"], right["code"]])
    times = np.concatenate([left["place"], right["place"]])
    is_right = np.arange(len(codes)) >= len(left)
    # Of equal times the right row comes first where it counts as seen, last where it does not.
    behind = is_right if window.strict != window.forward else ~is_right
    order = np.lexsort((behind, times, codes))
    if window.forward:
        order = order[::-1]
    placed = np.where(is_right[order], np.arange(len(order)), NONE)
    last = np.maximum.accumulate(placed) if len(placed) else placed
    partner = np.where(last >= 0, order[np.maximum(last, 0)], 0)
    fits = (last >= 0) & (codes[partner] == codes[order]) & (codes[order] >= 0)
    if window.within is not None:
        fits &= np.abs(times[partner] - times[order]) <= window.within
    found = np.full(len(order), NONE, np.int64)
    found[order] = np.where(fits, partner - len(left), NONE)
    return found[: len(left)]


def without_ties(rows: RowBlock) -> RowBlock:
    """Of rows of equal key and time only the greatest, by its columns from left to right; NULL is the smallest."""
    order = np.lexsort((rows["place"], rows["code"]))
    codes, times = rows["code"][order], rows["place"][order]
    same = (codes[1:] == codes[:-1]) & (times[1:] == times[:-1])
    if not same.any():
        return rows
    numbers = np.concatenate([[0], np.cumsum(~same)])
    ranks = [rank for column in rows.rows.columns for rank in _ranks(column)]
    best = order[np.lexsort((*(rank[order] for rank in reversed(ranks)), numbers))]
    last = np.flatnonzero(np.append(~same, True))
    return rows.take(np.sort(best[last]))


def _ranks(column: Array) -> list[Integers]:
    """What orders the values of a column, first thing first: none for lists and the like."""
    column = decoded(column)
    if pa.types.is_nested(column.type):
        return []
    known = present(column)
    if pa.types.is_floating(column.type) and not pa.types.is_float16(column.type):
        keys = ordered_keys(column.fill_null(0.0))
    elif pa.types.is_null(column.type):
        keys = np.zeros(len(column), np.int64)
    else:
        ranked = pc.rank(column, sort_keys="ascending", tiebreaker="dense")
        keys = ranked.to_numpy(zero_copy_only=False).astype(np.int64)
    return [known.astype(np.int64), np.where(known, keys, 0)]


def superseded(rows: RowBlock, bound: int) -> npt.NDArray[np.bool_]:
    """Which rows have a later one of their key below a bound: no left row from the bound on looks as far back."""
    order = np.lexsort((rows["place"], rows["code"]))
    codes, times = rows["code"][order], rows["place"][order]
    gone = np.zeros(len(order), np.bool_)
    gone[order[:-1]] = (codes[1:] == codes[:-1]) & (times[1:] < bound)
    return gone
