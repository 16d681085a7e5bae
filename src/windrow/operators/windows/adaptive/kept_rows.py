"""Rows kept as they came, in packed columns: pane, group code, and of each argument only what cannot be derived."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers, Values
from windrow.operators.state.columns import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.state.keys import NO_VALIDITY, keys_of_numbers
from windrow.operators.store.packed import Packed, joined
from windrow.operators.windows.base import Plan, Rows
from windrow.semantics.scalars.expressions import Expression

Chunk: TypeAlias = tuple[Packed, ...]
PANE, CODE = 0, 1
MANY = 8
"""Chunks of about one size that are joined."""


class RowShape:
    """Which columns a kept row has: pane, code, the time where an aggregate asks for it, then those of arguments.

    An argument is kept once, as its number where something adds it up, else as its order key, else not at all.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.arguments = plan.layout.arguments
        self.timed = any(argument.edges for argument in self.arguments.values())
        added = {e for e, argument in self.arguments.items() if argument.sums is not None}
        self.numbers = added | {p.argument for p in plan.custom if p.argument is not None}
        self.direct = {p for p, values in plan.values.items() if values.direct}
        keyed = {e for e, argument in self.arguments.items() if argument.extremes or argument.edges}
        self.keys = keyed | {p.argument for p in self.direct}
        self.numbered = [p for p in plan.values if p not in self.direct]
        kept = [e for e in self.arguments if e in self.numbers or e in self.keys]
        names: list[Any] = ["pane", "code", *(["time"] if self.timed else []), *kept]
        names += [("valid", e) for e in self.arguments]
        self.places = {name: i for i, name in enumerate([*names, *self.numbered])}

    def pack(self, panes: Integers, rows: Rows) -> Chunk:
        """Rows as packed columns; one pane stands for all rows."""
        pane = Packed.of(panes) if len(panes) == len(rows) else Packed.constant(int(panes[0]), len(rows))
        columns = [pane, Packed.of(rows.group_codes())]
        columns += [Packed.of(rows.times)] if self.timed else []
        columns += [Packed.of(self._kept(e, rows)) for e in self.arguments if e in self.places]
        columns += [_packed_validity(rows.valid[e], len(rows)) for e in self.arguments]
        return *columns, *(Packed.of(rows.keys[p]) for p in self.numbered)

    def _kept(self, expression: Expression, rows: Rows) -> Integers:
        lifted = rows.lifted[expression]
        if expression not in self.numbers:
            direct = (rows.keys[p] for p in self.direct if p.argument == expression)
            return lifted.keys if len(lifted.keys) else next(direct)
        if self.arguments[expression].sums is not None:
            return lifted.numbers
        return next(n.view(np.int64) for p, n in rows.numbers.items() if p.argument == expression)

    def unpack(self, chunk: Chunk, starts: Integers) -> Rows:
        """The rows again; `starts` stand for their times where no aggregate asks for the times themselves."""
        lifted = self.lift(chunk, slice(None))
        times = chunk[self.places["time"]].read() if self.timed else starts
        rows = Rows(times, chunk[CODE].read().astype(np.int32), lifted)
        rows.valid = {e: values.valid for e, values in lifted.items()}
        rows.keys = {p: lifted[p.argument].keys for p in self.direct}
        rows.keys.update({p: chunk[self.places[p]].read() for p in self.numbered})
        for part in self.plan.custom:
            if part.argument is not None:
                numbers = lifted[part.argument].numbers
                rows.numbers[part] = numbers.view(np.float64) if self.arguments[part.argument].is_float else numbers
        return rows

    def lift(self, chunk: Chunk, rows: Integers | slice) -> dict[Expression, Lifted]:
        """The arguments of some rows."""
        times = chunk[self.places["time"]].take(rows).read() if self.timed else np.empty(0, np.int64)
        found = {}
        for expression, argument in self.arguments.items():
            valid = _read_validity(chunk[self.places["valid", expression]].take(rows))
            kept = chunk[self.places[expression]].take(rows).read() if expression in self.places else None
            found[expression] = Lifted(*self._values(expression, kept), valid, argument.is_float, times)
        return found

    def _values(self, expression: Expression, kept: Integers | None) -> tuple[Integers, Integers]:
        """Numbers and keys of an argument, as far as something asks for them."""
        nothing = np.empty(0, np.int64)
        if kept is None:
            return nothing, nothing
        if expression not in self.numbers:
            return nothing, kept
        return kept, keys_of_numbers(kept, self.arguments[expression].kind) if expression in self.keys else nothing


def _packed_validity(valid: npt.NDArray[np.uint8], size: int) -> Packed:
    return Packed.of(valid) if len(valid) else Packed.constant(1, size)


def _read_validity(column: Packed) -> npt.NDArray[np.uint8]:
    return NO_VALIDITY if len(column.offsets) == 0 and column.base == 1 else column.read().astype(np.uint8)


class KeptRows:
    """Rows sorted by pane, and new ones as they came."""

    def __init__(self, shape: RowShape) -> None:
        self.shape = shape
        self.new: list[Chunk] = []
        self.sorted: Chunk = self._nothing()
        self.sorted_since = 0
        """Rows sorted since someone counted."""

    def _nothing(self) -> Chunk:
        return tuple(Packed.constant(0, 0) for _ in self.shape.places)

    def add(self, panes: Integers, rows: Rows) -> None:
        """New rows. Chunks of like size are joined, so that there are few however rows come."""
        self.new.append(self.shape.pack(panes, rows))
        while len(self.new) >= MANY and self.new[-MANY][PANE].size <= MANY * self.new[-1][PANE].size:
            self.new[-MANY:] = [_joined(self.new[-MANY:])]

    @property
    def new_count(self) -> int:
        return sum(chunk[PANE].size for chunk in self.new)

    def __len__(self) -> int:
        return self.new_count + self.sorted[PANE].size

    def _new_chunk(self) -> Chunk:
        """The new rows; there must be one."""
        if len(self.new) > 1:
            self.new = [_joined(self.new)]
        return self.new[0]

    def new_cells(self) -> tuple[Integers, Codes]:
        """Pane and group of each new row, in the order of `take_new`; there must be one."""
        chunk = self._new_chunk()
        return chunk[PANE].read(), chunk[CODE].read().astype(np.int32)

    def take_new(self, chosen: Integers, others: Integers) -> Chunk:
        """Remove and return the chosen new rows; all others stay."""
        whole = self._new_chunk()
        self.new = [_taken(whole, others)] if len(others) else []
        return _taken(whole, chosen) if len(others) else whole

    def sort(self) -> None:
        """Put new rows into their places."""
        if self.new:
            self._insert(self._new_chunk())
            self.new = []

    def amend(self, panes: Integers, rows: Rows) -> None:
        """Late rows of closed panes."""
        self._insert(self.shape.pack(panes, rows))

    def _insert(self, chunk: Chunk) -> None:
        panes = chunk[PANE].read()
        self.sorted_since += len(panes)
        from_here = self.sorted[PANE].search(int(panes.min()) + 1)  # rows before are of panes that are not above
        tail = _joined([_taken(self.sorted, slice(from_here, None)), chunk])
        self.sorted = _joined([_taken(self.sorted, slice(from_here)), _in_order(tail)])

    def of_groups(self, chosen: npt.NDArray[np.bool_]) -> Chunk:
        """The rows of chosen groups, which stay here too."""
        chunk = self.whole()
        return _taken(chunk, np.flatnonzero(chosen[chunk[CODE].read()]))

    def forget_groups(self, first: Integers) -> None:
        """Panes before `first[code]` are in no open window of the group."""

        def staying(chunk: Chunk) -> Chunk:
            return _taken(chunk, np.flatnonzero(chunk[PANE].read() >= first[chunk[CODE].read()]))

        self.new = [chunk for chunk in map(staying, self.new) if chunk[PANE].size]
        self.sorted = staying(self.sorted)

    def forget(self, before: int) -> None:
        """Panes before this one are in no open window; rows must be sorted."""
        gone = self.sorted[PANE].search(before)
        if gone:
            self.sorted = tuple(column.without_first(gone) for column in self.sorted)

    def replace(self, chunk: Chunk) -> None:
        """Hold exactly these rows, sorted by pane."""
        self.new, self.sorted = [], chunk

    def whole(self) -> Chunk:
        """All rows, sorted by pane and group."""
        chunk = _joined([self.sorted, *self.new])
        return _taken(chunk, np.lexsort((chunk[CODE].read(), chunk[PANE].read())))

    def _change(self, place: int, mapping: npt.NDArray[Any]) -> None:
        def changed(chunk: Chunk) -> Chunk:
            column = Packed.of(mapping[chunk[place].read()].astype(np.int64))
            return *chunk[:place], column, *chunk[place + 1 :]

        self.new, self.sorted = [changed(chunk) for chunk in self.new], changed(self.sorted)

    def remap(self, mapping: Codes) -> None:
        self._change(CODE, mapping)

    def renumber(self, part: Values, mapping: Integers) -> None:
        """Keys of a part have changed: `mapping[old] = new`."""
        self._change(self.shape.places[part], mapping)

    def column(self, name: Any) -> Integers:
        """A column of all rows."""
        return joined([chunk[self.shape.places[name]] for chunk in (self.sorted, *self.new)]).read()

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for chunk in (self.sorted, *self.new) for column in chunk)


def _in_order(chunk: Chunk) -> Chunk:
    """Sorted by pane."""
    panes = chunk[PANE].offsets
    if len(panes) and (panes[1:] < panes[:-1]).any():
        return _taken(chunk, np.argsort(panes, kind="stable"))
    return chunk


def _taken(chunk: Chunk, rows: npt.NDArray[Any] | slice) -> Chunk:
    return tuple(column.take(rows) for column in chunk)


def _joined(chunks: Iterable[Chunk]) -> Chunk:
    return tuple(joined(columns) for columns in zip(*chunks, strict=True))
