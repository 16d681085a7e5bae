"""State of user aggregates: tuples of arrays, reduced with the user's own `combine`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import numbers_of, tabled
from windrow.aggregates.kinds.base import Custom, Integers
from windrow.aggregates.kinds.custom import Columns, UserAggregate
from windrow.operators.state.groups import Codes, codes_of


@dataclass(frozen=True)
class CustomState:
    """States of one user aggregate, one row each."""

    aggregate: UserAggregate
    columns: Columns

    def take(self, rows: Any) -> CustomState:
        return CustomState(self.aggregate, tuple(column[rows] for column in self.columns))

    def __len__(self) -> int:
        return len(self.columns[0])

    @staticmethod
    def nothing(part: Custom) -> CustomState:
        assert isinstance(part.aggregate, UserAggregate)
        return CustomState(part.aggregate, part.aggregate.lift(np.empty(0)))

    @staticmethod
    def joined(states: list[CustomState]) -> CustomState:
        columns = zip(*(s.columns for s in states), strict=True)
        return CustomState(states[0].aggregate, tuple(np.concatenate(c) for c in columns))

    def reduced(self, labels: Integers) -> tuple[Integers, CustomState]:
        """One state for each different label, in order of labels; logarithmically many calls of `combine`."""
        order = np.argsort(labels, kind="stable")
        labels, state = labels[order], self.take(order)
        while len(labels) and (labels[1:] == labels[:-1]).any():
            starts = np.concatenate([[True], labels[1:] != labels[:-1]])
            place = np.arange(len(labels)) - np.maximum.accumulate(np.where(starts, np.arange(len(labels)), 0))
            left = np.flatnonzero(place % 2 == 0)
            paired = np.zeros(len(labels), np.bool_)
            paired[:-1] = (labels[1:] == labels[:-1]) & (place[:-1] % 2 == 0)
            both = state.aggregate.combine(state.take(paired).columns, state.take(np.flatnonzero(paired) + 1).columns)
            columns = tuple(c[left].copy() for c in state.columns)
            for column, combined in zip(columns, both, strict=True):
                column[paired[left]] = combined
            labels, state = labels[left], CustomState(state.aggregate, columns)
        return labels, state

    def over(self, lows: Integers, highs: Integers) -> tuple[Codes, CustomState]:
        """One state for each stretch `lows[i]..highs[i]` that holds any, and the numbers of these.

        The states of stretches as long as a power of two are made from those half as long, so `combine` is called
        logarithmically often, whatever the stretches have in common.
        """
        chosen = np.flatnonzero(highs > lows)
        at, left = lows[chosen], (highs - lows)[chosen]
        found, has, block, size = self.take(at), np.zeros(len(at), np.bool_), self, 1
        while left.any():
            odd = np.flatnonzero(left & size)
            found._fold(odd[~has[odd]], block, at, join=False)
            found._fold(odd[has[odd]], block, at, join=True)
            has[odd], left[odd], at[odd] = True, left[odd] - size, at[odd] + size
            if left.any():
                both = block.take(slice(len(block) - size)), block.take(slice(size, None))
                block = CustomState(self.aggregate, self.aggregate.combine(both[0].columns, both[1].columns))
                size *= 2
        return chosen.astype(np.int32), found

    def _fold(self, rows: Integers, more: CustomState, at: Integers, *, join: bool) -> None:
        """Let some of the states be what `more` has at `at`, or be joined with it."""
        if len(rows) == 0:
            return
        columns = more.take(at[rows]).columns
        if join:
            columns = self.aggregate.combine(self.take(rows).columns, columns)
        for own, column in zip(self.columns, columns, strict=True):
            own[rows] = column

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)


@dataclass(frozen=True)
class CustomCells:
    """States per (place, group): a place is a pane, a window or a time, or 0 for all that a window holds."""

    places: Integers
    codes: Codes
    state: CustomState

    def __len__(self) -> int:
        return len(self.places)

    @staticmethod
    def nothing(part: Custom) -> CustomCells:
        return CustomCells(np.empty(0, np.int64), np.empty(0, np.int32), CustomState.nothing(part))

    @staticmethod
    def of(places: Integers, codes: Codes, state: CustomState) -> CustomCells:
        """Cells of rows: one state for each different (place, code), sorted."""
        order = np.lexsort((codes, places))
        places, codes, state = places[order], codes[order], state.take(order)
        fresh = np.ones(len(places), np.bool_)
        fresh[1:] = (places[1:] != places[:-1]) | (codes[1:] != codes[:-1])
        _, reduced = state.reduced(np.cumsum(fresh))
        return CustomCells(places[fresh], codes[fresh], reduced)

    def plus(self, other: CustomCells) -> CustomCells:
        if len(self) == 0 or len(other) == 0:  # what holds nothing may be of other types
            return self if len(self) else other
        places, codes = np.concatenate([self.places, other.places]), np.concatenate([self.codes, other.codes])
        return CustomCells.of(places, codes, CustomState.joined([self.state, other.state]))

    def between(self, first: int, end: int) -> tuple[Codes, CustomState]:
        """The state of each group over places [first, end), sorted by group."""
        low, high = np.searchsorted(self.places, [first, end])
        codes, state = self.state.take(slice(low, high)).reduced(self.codes[low:high].astype(np.int64))
        return codes.astype(np.int32), state

    def keep(self, chosen: Any) -> CustomCells:
        return CustomCells(self.places[chosen], self.codes[chosen], self.state.take(chosen))

    def at_zero(self) -> CustomCells:
        """The same states, which are of one place, at place 0."""
        return CustomCells(np.zeros(len(self), np.int64), self.codes, self.state)

    def remap(self, mapping: Codes) -> CustomCells:
        """Group codes have changed: `mapping[old] = new`."""
        return CustomCells(self.places, mapping[self.codes], self.state)

    def table(self) -> pa.Table:
        states = {f"state{j}": column for j, column in enumerate(self.state.columns)} if len(self) else {}
        return tabled(place=self.places, code=self.codes, **states)

    @staticmethod
    def of_table(table: pa.Table, part: Custom) -> CustomCells:
        if table.num_rows == 0:
            return CustomCells.nothing(part)
        assert isinstance(part.aggregate, UserAggregate)
        columns = tuple(numbers_of(table, name) for name in table.column_names[2:])
        return CustomCells(numbers_of(table, "place"), codes_of(table), CustomState(part.aggregate, columns))


class PanedStates:
    """A window over panes by two stacks: what cannot be subtracted is never recomputed from all panes.

    Front: for each pane, itself and everything after it in the front; back: everything pushed since, as one.
    """

    def __init__(self, part: Custom, range_panes: int, *, forever: bool) -> None:
        self.part = part
        self.range_panes = range_panes
        self.forever = forever
        self.nothing = CustomCells.nothing(part)
        self.open = self.back = self.nothing
        self.panes: dict[int, CustomCells] = {}
        self.front: list[tuple[int, CustomCells]] = []
        self.pushed: list[int] = []

    def extract(self, chosen: npt.NDArray[np.bool_]) -> PanedStates:
        """The states of chosen groups alone, before a window slid over them; what a landmark window holds stays in."""
        part = PanedStates(self.part, self.range_panes, forever=self.forever)
        part.open = self.open.keep(chosen[self.open.codes])
        part.panes = {pane: cells.keep(chosen[cells.codes]) for pane, cells in self.panes.items()}
        if self.forever:
            part.back = self.back.keep(chosen[self.back.codes])
        return part

    def add(self, cells: CustomCells) -> None:
        self.open = self.open.plus(cells)

    def forget_open(self, first: Integers) -> None:
        """Only states of panes not closed from `first[code]` on."""
        self.open = self.open.keep(self.open.places >= first[self.open.codes])

    def close(self, below: int) -> None:
        closing = self.open.places < below
        self.file(self.open.keep(closing))
        self.open = self.open.keep(~closing)

    def file(self, cells: CustomCells) -> list[int]:
        """Put closed cells to their panes; which these are."""
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(cells.places)) + 1, [len(cells)]]).tolist()
        filed = [cells.keep(slice(first, last)) for first, last in pairwise(cuts) if last > first]
        for fresh in filed:
            pane = int(fresh.places[0])
            self.panes[pane] = fresh.plus(self.panes.get(pane, self.nothing))
        return [int(fresh.places[0]) for fresh in filed]

    def amend(self, cells: CustomCells) -> None:
        """Late cells: the stacks are built anew from the panes."""
        filed = self.file(cells)
        if self.forever:
            self._hold(filed)
            return
        inside = sorted({*self.pushed, *(pane for pane, _ in self.front), *filed})
        self.front, self.back, self.pushed = [], self.nothing, []
        for pane in inside:
            self._push(pane)

    def _hold(self, panes: list[int]) -> None:
        """Into a window that keeps everything."""
        for pane in panes:
            self.back = self.panes.pop(pane).at_zero().plus(self.back)

    def _push(self, pane: int) -> None:
        self.back = self.panes[pane].at_zero().plus(self.back)
        self.pushed.append(pane)

    def _flip(self) -> None:
        suffix = self.nothing
        for pane in reversed(self.pushed):
            suffix = self.panes[pane].at_zero().plus(suffix)
            self.front.append((pane, suffix))
        self.back, self.pushed = self.nothing, []

    def slide_to(self, end: int) -> CustomCells:
        """The states of the window whose panes end before `end`."""
        if self.forever:
            self._hold(sorted(p for p in self.panes if p < end))
            return self.back
        first = end - self.range_panes
        known = {*self.pushed, *(pane for pane, _ in self.front)}
        for pane in sorted(p for p in self.panes if first <= p < end and p not in known):
            self._push(pane)
        self.pushed.sort()  # after a restore, late cells are pushed before the panes they lie among
        self._pop(first)
        return self.back.plus(self.front[-1][1] if self.front else self.nothing)

    def _pop(self, first: int) -> None:
        """Take the panes below `first` from the stacks."""
        while self.front and self.front[-1][0] < first:
            self.front.pop()
        if not self.front and self.pushed and self.pushed[0] < first:
            self.pushed = [pane for pane in self.pushed if pane >= first]
            self._flip()

    def forget(self, below: int) -> None:
        """Panes that no window needs any more; the stacks lose them while they are still known."""
        if not self.forever:
            self._pop(below)
            self.panes = {pane: cells for pane, cells in self.panes.items() if pane >= below}

    def remap(self, mapping: Codes) -> None:
        self.open, self.back = self.open.remap(mapping), self.back.remap(mapping)
        self.panes = {pane: cells.remap(mapping) for pane, cells in self.panes.items()}
        self.front = [(pane, cells.remap(mapping)) for pane, cells in self.front]

    def codes_in_use(self) -> Codes:
        return np.unique(np.concatenate([cells.codes for cells in (self.open, self.back, *self.panes.values())]))

    def saved(self) -> dict[str, pa.Table]:
        panes = [self.panes[pane] for pane in sorted(self.panes)]
        return {
            "open": self.open.table(),
            "panes": reduce(CustomCells.plus, panes, self.nothing).table(),
            "back": (self.back if self.forever else self.nothing).table(),
        }

    def restore(self, tables: dict[str, pa.Table]) -> None:
        """Panes inside the window are pushed again by the next slide."""
        kept = (CustomCells.of_table(tables[name], self.part) for name in ("open", "panes", "back"))
        self.open, closed, self.back = kept
        self.file(closed)

    @property
    def nbytes(self) -> int:
        return sum(cells.state.nbytes for cells in (self.open, *self.panes.values()))
