"""Rows kept as they came, in packed columns: pane, group code, and of each argument only what cannot be derived."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Integers, Values
from windrow.operators.state.columns import Lifted
from windrow.operators.state.groups import Codes
from windrow.operators.state.keys import NO_VALIDITY, keys_of_numbers
from windrow.operators.state.packed import Packed, joined
from windrow.operators.windows.base import Plan, Rows
from windrow.semantics.expressions import Expression

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
    """Rows of open panes as they came, and rows of closed panes sorted by pane."""

    def __init__(self, shape: RowShape) -> None:
        self.shape = shape
        self.open: list[Chunk] = []
        self.closed: Chunk = self._nothing()
        self.closed_since = 0
        """Rows whose panes closed since someone counted."""

    def _nothing(self) -> Chunk:
        return tuple(Packed.constant(0, 0) for _ in self.shape.places)

    def add(self, panes: Integers, rows: Rows) -> None:
        """Rows of open panes. Chunks of like size are joined, so that there are few however rows come."""
        self.open.append(self.shape.pack(panes, rows))
        while len(self.open) >= MANY and self.open[-MANY][PANE].size <= MANY * self.open[-1][PANE].size:
            self.open[-MANY:] = [_joined(self.open[-MANY:])]

    @property
    def open_count(self) -> int:
        return sum(chunk[PANE].size for chunk in self.open)

    def __len__(self) -> int:
        return self.open_count + self.closed[PANE].size

    def open_cells(self) -> tuple[Integers, Codes]:
        """Pane and group of each row of an open pane, in the order of `take_open`."""
        panes = [np.empty(0, np.int64), *(chunk[PANE].read() for chunk in self.open)]
        codes = [np.empty(0, np.int64), *(chunk[CODE].read() for chunk in self.open)]
        return np.concatenate(panes), np.concatenate(codes).astype(np.int32)

    def take_open(self, chosen: Integers, others: Integers) -> Chunk:
        """Remove and return the chosen rows of open panes; all others stay."""
        whole = _joined(self.open)
        self.open = [_taken(whole, others)] if len(others) else []
        return _taken(whole, chosen) if len(others) else whole

    def close(self, below: int) -> None:
        """The panes below are closed."""
        if not self.open:
            return
        panes = joined([chunk[PANE] for chunk in self.open]).read()
        closing = np.flatnonzero(panes < below)
        if len(closing):
            self._insert(self.take_open(closing, np.flatnonzero(panes >= below)))

    def amend(self, panes: Integers, rows: Rows) -> None:
        """Late rows of closed panes."""
        self._insert(self.shape.pack(panes, rows))

    def _insert(self, chunk: Chunk) -> None:
        panes = chunk[PANE].read()
        if len(panes) > 1 and (panes[1:] < panes[:-1]).any():
            chunk = _taken(chunk, np.argsort(panes, kind="stable"))
        before = self.closed[PANE]
        in_order = before.size == 0 or before.at(-1) <= int(panes.min())
        self.closed_since += len(panes)
        self.closed = _joined([self.closed, chunk])
        if not in_order:
            self.closed = _taken(self.closed, np.argsort(self.closed[PANE].read(), kind="stable"))

    def of_groups(self, chosen: npt.NDArray[np.bool_]) -> Chunk:
        """The rows of chosen groups, which stay here too."""
        chunk = self.whole()
        return _taken(chunk, np.flatnonzero(chosen[chunk[CODE].read()]))

    def forget_groups(self, first: Integers) -> None:
        """Panes before `first[code]` are in no open window of the group."""

        def staying(chunk: Chunk) -> Chunk:
            return _taken(chunk, np.flatnonzero(chunk[PANE].read() >= first[chunk[CODE].read()]))

        self.open = [chunk for chunk in map(staying, self.open) if chunk[PANE].size]
        self.closed = staying(self.closed)

    def forget(self, before: int) -> None:
        """Closed panes before this one are in no open window."""
        gone = self.closed[PANE].search(before)
        if gone:
            self.closed = tuple(column.without_first(gone) for column in self.closed)

    def replace(self, chunk: Chunk, below: int) -> None:
        """Hold exactly these rows, sorted by pane; panes below are closed."""
        cut = int(np.searchsorted(chunk[PANE].read(), below))
        self.closed = tuple(Packed.of(c.take(slice(cut)).read()) for c in chunk)
        rest = tuple(Packed.of(c.take(slice(cut, None)).read()) for c in chunk)
        self.open = [rest] if rest[PANE].size else []

    def whole(self) -> Chunk:
        """All rows, sorted by pane and group."""
        chunk = _joined([self.closed, *self.open])
        return _taken(chunk, np.lexsort((chunk[CODE].read(), chunk[PANE].read())))

    def _change(self, place: int, mapping: npt.NDArray[Any]) -> None:
        def changed(chunk: Chunk) -> Chunk:
            column = Packed.of(mapping[chunk[place].read()].astype(np.int64))
            return *chunk[:place], column, *chunk[place + 1 :]

        self.open, self.closed = [changed(chunk) for chunk in self.open], changed(self.closed)

    def remap(self, mapping: Codes) -> None:
        self._change(CODE, mapping)

    def renumber(self, part: Values, mapping: Integers) -> None:
        """Keys of a part have changed: `mapping[old] = new`."""
        self._change(self.shape.places[part], mapping)

    def column(self, name: Any) -> Integers:
        """A column of all rows."""
        return joined([chunk[self.shape.places[name]] for chunk in (self.closed, *self.open)]).read()

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for chunk in (self.closed, *self.open) for column in chunk)


def _taken(chunk: Chunk, rows: npt.NDArray[Any]) -> Chunk:
    return tuple(column.take(rows) for column in chunk)


def _joined(chunks: Iterable[Chunk]) -> Chunk:
    return tuple(joined(columns) for columns in zip(*chunks, strict=True))
