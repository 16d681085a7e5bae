"""Rows that are kept: one store for all operators, whatever they keep rows for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.errors import DataError
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.state.changes import Saved, Stamped, lasting, under
from windrow.operators.store.budget import Kept, added
from windrow.operators.store.chosen_rows import Test, chosen, others
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.sealing import Sealing

MANY = 8
"""Blocks of about one size that are joined."""
LONGER = 16
"""Rows wait for so many times as many others where sealing them does not pay."""
TRUSTED = 16
SETTLED, MORE = 16, 4
"""Rows are put into their places, half of them, when there are so many times as many as are sealed at once; and as many
times as had to be opened for it the last time."""
LARGE = 1 << 16
"""Blocks of so many rows are not joined any more, unless all rows are read at once."""


class RowStore:
    """Rows in blocks, as they came, or sorted `by` a column; each block is never changed.

    Rows are numbered as they come and keep their number until rows between others leave: so they are found again by
    number after the first of them, or whole blocks, were let go. The list of blocks is never changed either, only
    replaced: another thread may go on reading the one that it has. With a `sealing`, rows that stay go into coded
    blocks.
    """

    def __init__(
        self, nothing: RowBlock, *, by: str | None = None, sorts: bool = False, sealing: Sealing | None = None
    ) -> None:
        """`nothing` has the columns that there are; with `sorts` rows come in any order, and are sorted when asked."""
        self.nothing = nothing
        self.by = by
        self.sorts = sorts
        self.sealing = sealing
        if sealing is not None:
            sealing.budget.watch(self)
        self.blocks: list[RowBlock] = []
        self.count = 0
        """The number of the next row."""
        self._forgotten = 0
        """Rows that the first block still has in memory in front of it."""
        self._patience = 1
        """How many times as many rows as elsewhere wait here to be sealed, because it saved little the last time."""
        self._trusted = 0
        """How many times more rows are sealed before it is looked at again whether that pays."""
        self._apart = 0
        """Blocks at the front that are sorted already, and not joined with those that came since."""
        self._opened = 0
        """Rows that were sorted, and behind which others had to be put, when rows were sorted the last time."""

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def first(self) -> int:
        """The number of the first row."""
        return self.blocks[0].first if self.blocks else self.count

    # Rows in

    def append(self, rows: RowBlock, *, seal: bool = True) -> None:
        """Rows at the end. Blocks of like size are joined, so that there are few however rows come."""
        if len(rows) == 0:
            return
        if rows.is_sealed and self.by is not None and not self.sorts:
            self._seal_waiting()
        blocks = [*self.blocks, rows.numbered(self.count)]
        self.count += len(rows)
        while len(blocks) - self._apart >= MANY and _are_alike(blocks[-MANY:]):
            blocks[-MANY:] = [RowBlock.joined(blocks[-MANY:])]
        self.blocks = blocks
        if seal and not rows.is_sealed:
            self.seal()

    def seal(self) -> None:
        """Put the rows at the end into coded blocks if it is time; where rows are sorted, those that are."""
        if self.sealing is None:
            return
        if self.sorts:
            self._settle(max(SETTLED * self.sealing.least * self._patience, MORE * self._opened))
        blocks, sealing, end = self.blocks, self.sealing, self._apart if self.sorts else len(self.blocks)
        start = self._waiting_from(blocks[:end])
        waiting = sum(map(len, blocks[start:end]))
        if not waiting or not sealing.wants(waiting // self._patience, sum(map(len, blocks[:start]))):
            return
        rows = RowBlock.joined(blocks[start:end])
        sealed = sealing.seal(rows) if self._trusted else sealing.sealed_if_it_pays(rows)
        if sealed is None:
            self._patience *= LONGER
            return
        self._patience, self._trusted = 1, (self._trusted or TRUSTED) - 1
        self.blocks = [*blocks[:start], sealed.numbered(blocks[start].first), *blocks[end:]]
        self._apart = start + 1 if self.sorts else 0

    def _seal_waiting(self) -> None:
        """Put all rows at the end into coded blocks: others in blocks come, and what waits is saved as the last."""
        start = self._waiting_from(self.blocks)
        if self.sealing is not None and start < len(self.blocks):
            waiting = self.blocks[start:]
            sealed = self.sealing.seal(RowBlock.joined(waiting))
            self.blocks = [*self.blocks[:start], sealed.numbered(waiting[0].first)]

    def _settle(self, many: int) -> None:
        """Put the lower half of the rows that came since into their places, where they are many."""
        waiting = sum(map(len, self.blocks[self._apart :]))
        if waiting < many or self.by is None:
            return
        rows = self._take_fresh().sorted(self.by)
        self.insert(rows.take(slice(waiting // 2)))
        self._apart = len(self.blocks)
        self.append(rows.take(slice(waiting // 2, None)), seal=False)

    def _take_fresh(self) -> RowBlock:
        """Remove and return the rows behind those that are sorted."""
        fresh, self.blocks, self._apart = self.blocks[self._apart :], self.blocks[: self._apart], 0
        self.count -= sum(map(len, fresh))
        return RowBlock.joined(fresh or [self.nothing])

    def _waiting_from(self, blocks: list[RowBlock]) -> int:
        """Where the blocks at the end begin that wait to be sealed."""
        start = len(blocks)
        while start > 0 and not blocks[start - 1].is_sealed:
            start -= 1
        return start

    def insert(self, rows: RowBlock) -> None:
        """Rows into their places, after those of equal value; costs the rows from the least of them on."""
        assert self.by is not None
        if len(rows) == 0:
            return
        start, size = self.search(rows.span(self.by)[0] + 1), len(self)
        self._opened = size - start
        if start < size:
            rows = RowBlock.joined([self.read(start, size), rows])
            self.blocks, self.count = self.parts(0, start), self.count - (size - start)
        self.append(rows.sorted(self.by), seal=False)

    def sort(self) -> None:
        """Put rows that were appended into their places; sealed ones that are there already stay as they are."""
        while self._apart < len(self.blocks) and self._is_next(self._apart):
            self._apart += 1
        self.insert(self._take_fresh())
        self._apart = len(self.blocks)

    def _is_next(self, place: int) -> bool:
        """Whether a block is sealed, and its rows are behind those before it."""
        assert self.by is not None
        block = self.blocks[place]
        if not block.is_sealed or block.by[:1] != (self.by,):
            return False
        return place == 0 or self.blocks[place - 1].span(self.by)[1] <= block.span(self.by)[0]

    def replace(self, rows: RowBlock, first: int = 0) -> None:
        """Hold exactly these rows, numbered on from here."""
        self.blocks, self.count, self._forgotten, self._apart = [], first, 0, 0
        self.append(rows)

    # Reading

    def content(self) -> RowBlock:
        """All rows in one block, numbered on; costs a copy of all when there are several, or coded ones."""
        if any(block.is_sealed for block in self.blocks):
            return RowBlock.joined(self.blocks).opened()
        if len(self.blocks) > 1:
            self.blocks, self._forgotten, self._apart = [RowBlock.joined(self.blocks)], 0, 0
        return self.blocks[0] if self.blocks else self.nothing

    def column(self, name: str) -> npt.NDArray[Any]:
        return np.concatenate([self.nothing[name], *(block[name] for block in self.blocks)])

    def used(self, name: str) -> npt.NDArray[Any]:
        """The different values of a column in order; one block is read at a time."""
        return np.unique(np.concatenate([self.nothing[name], *(np.unique(block[name]) for block in self.blocks)]))

    def read(self, start: int, stop: int) -> RowBlock:
        """The rows from one place to another, counted from the first."""
        return RowBlock.joined(self.opened_parts(start, stop) or [self.nothing])

    def opened_parts(self, start: int, stop: int) -> list[RowBlock]:
        """The same rows, block by block."""
        return [block.opened(low, high) for block, low, high in self._within(start, stop)]

    def parts(self, start: int, stop: int) -> list[RowBlock]:
        """The same rows, block by block, where they are in coded blocks in these."""
        found = self._within(start, stop)
        return [b if high - low == len(b) else b.take(slice(low, high)) for b, low, high in found]

    def _within(self, start: int, stop: int) -> list[tuple[RowBlock, int, int]]:
        """The blocks of some rows, and from where to where they are there."""
        found, at = [], 0
        for block in self.blocks:
            low, high = max(start - at, 0), min(stop - at, len(block))
            if low < high:
                found.append((block, low, high))
            at += len(block)
        return found

    def search(self, value: int) -> int:
        """How many rows are below a value, where they are sorted."""
        assert self.by is not None
        before = 0
        for block in self.blocks:
            if block.span(self.by)[1] >= value:
                place = block.search(self.by, value)
                if place < len(block):
                    return before + place
            before += len(block)
        return before

    def at(self, place: int) -> int:
        """The value that a row is sorted by; there must be one."""
        assert self.by is not None
        return int(self.read(place, place + 1)[self.by][0])

    def placed(self, numbers: Integers) -> tuple[list[tuple[RowBlock, Integers]], Integers]:
        """The blocks of rows by number with the places there, and the order in which these are given."""
        blocks = self.blocks
        if len(numbers) == 0:
            return [], numbers
        firsts = np.array([block.first for block in blocks])
        low, high = np.searchsorted(firsts, (numbers.min(), numbers.max()), side="right") - 1
        if low == high:  # so it is for most rows that are found together
            return [(blocks[low], numbers - firsts[low])], np.arange(len(numbers))
        owners = np.searchsorted(firsts, numbers, side="right") - 1
        order = np.argsort(owners, kind="stable")
        parts = np.split(order, np.flatnonzero(np.diff(owners[order])) + 1)
        return [(blocks[owners[part[0]]], numbers[part] - firsts[owners[part[0]]]) for part in parts], order

    def gather(self, name: str, numbers: Integers) -> npt.NDArray[Any]:
        """A column of rows by number."""
        placed, order = self.placed(numbers)
        out = np.empty(len(numbers), self.nothing[name].dtype)
        out[order] = np.concatenate([self.nothing[name], *(block.part(name, places) for block, places in placed)])
        return out

    def where(self, test: Test) -> RowBlock:
        """A copy of some rows."""
        return RowBlock.joined(self.parts_where(test) or [self.nothing]).opened()

    def parts_where(self, test: Test) -> list[RowBlock]:
        """Some rows, block by block; blocks of which all are meant stay as they lie."""
        found = (chosen(block, test(block)) for block in self.blocks)
        return [part for part in found if len(part)]

    # Rows out

    def take_parts(self, test: Test) -> list[RowBlock]:
        """Remove and return some rows, block by block."""
        leaving, staying = [], []
        for block in self.blocks:
            found = test(block)
            leaving.append(chosen(block, found))
            staying += others(block, found)
        self._keep(staying)
        return [part for part in leaving if len(part)]

    def drop(self, test: Test) -> None:
        """Remove some rows."""
        self._keep([part for block in self.blocks for part in others(block, test(block))])

    def _keep(self, parts: list[RowBlock]) -> None:
        """Only these of its rows; they are numbered anew, unless some may be in coded blocks."""
        if sum(map(len, parts)) == len(self):
            return
        if self.sealing is not None:  # coded blocks stay as they are, under their numbers
            self.blocks, self._apart = [part for part in parts if len(part)], 0
            return
        self.replace(self.nothing)
        for part in parts:
            self.append(part)

    def forget(self, count: int) -> None:
        """Let the first rows go. Whole blocks leave at once, a part of one when it is half of it."""
        blocks = list(self.blocks)
        while blocks and count >= len(blocks[0]):
            count -= len(blocks.pop(0))
            self._forgotten, self._apart = 0, max(0, self._apart - 1)
        if blocks and count:
            rest, self._forgotten = blocks[0].take(slice(count, None)), self._forgotten + count
            if rest.is_sealed:
                self._forgotten = 0  # a coded column lets go of its blocks itself
            elif self._forgotten >= len(rest):  # now it is worth a copy
                rest, self._forgotten = rest.take(np.arange(len(rest))).numbered(rest.first), 0
            blocks[0] = rest
        self.blocks = blocks

    def forget_below(self, value: int) -> None:
        """Rows below a value of what they are sorted by."""
        self.forget(self.search(value))

    # Groups, values, state

    def change(self, convert: Callable[[RowBlock], RowBlock]) -> None:
        """Do something to all rows that keeps their order."""
        self.blocks, self.nothing = [convert(block) for block in self.blocks], convert(self.nothing)

    def remap(self, name: str, mapping: npt.NDArray[Any]) -> None:
        """Codes or keys have changed: `mapping[old] = new`."""
        blocks, budget = self.blocks, None if self.sealing is None else self.sealing.budget
        done: list[RowBlock] = []
        for place, block in enumerate(blocks):
            found = block.remapped(name, mapping)
            if budget is not None and budget.limit is not None and found.is_sealed:
                self.blocks = [*done, *blocks[place + 1 :]]  # what it was no longer counts
                found = budget.fitted(found)
            done.append(found)
        self.blocks = done

    def table(self) -> pa.Table:
        return self.content().table()

    def saved_whole(self) -> Saved:
        """All rows, as they are now."""
        blocks = self.blocks or [self.nothing]
        return lasting(lambda: RowBlock.joined(blocks).opened().table())

    def fill(self, table: pa.Table, first: int = 0) -> None:
        """Hold exactly the rows of a table, numbered on from here."""
        self.replace(self.nothing.like(table), first)

    def saved_under(self, name: str) -> dict[str, Saved]:
        """All rows as tables: those in coded blocks as they are, a table for each of their columns, the rest in one.

        Coded blocks never change, so each is saved once. Rows that are not in one count as the last.
        """
        rest, by = [self.nothing, *(block for block in self.blocks if not block.is_sealed)], self.by
        tables: dict[str, Saved] = {name: lasting(lambda: _in_order(RowBlock.joined(rest), by).table())}
        for block in self.blocks:
            if block.is_sealed:
                for column, stamp, make in block.coded():
                    tables[f"{name}.{block.first}.{'+'.join(block.by)}.{column}"] = Stamped(stamp, make, lasts=True)
        return tables

    def restore_under(
        self, name: str, tables: Mapping[str, pa.Table], make: Callable[[pa.Table], RowBlock] | None = None
    ) -> None:
        """Hold exactly the rows that were saved under a name; `make` makes those that are in no coded block."""
        self.replace(self.nothing)
        firsts: dict[int, dict[str, CodedColumn]] = {}
        orders: dict[int, tuple[str, ...]] = {}
        for key, table in under(f"{name}.", tables).items():
            number, by, column = key.split(".")
            orders[int(number)] = tuple(by.split("+")) if by else ()
            firsts.setdefault(int(number), {})[column] = CodedColumn.of_table(table)
        for first, columns in sorted(firsts.items()):
            self._refuse_unfit(columns, first)
            block = RowBlock({n: columns[n] for n in self.nothing.columns}, None, first, orders[first])
            self.blocks.append(block if self.sealing is None else self.sealing.budget.fitted(block))
            self.count = first + len(self.blocks[-1])
        self.append((make or self.nothing.like)(tables[name]))

    def _refuse_unfit(self, columns: Mapping[str, CodedColumn], first: int) -> None:
        """Refuse saved columns that are not those of one block, each with as many rows, behind the last one."""
        sizes = {name: len(column) for name, column in columns.items()}
        if first < self.count or sizes.keys() != self.nothing.columns.keys() or len({*sizes.values()}) != 1:
            raise DataError(
                f"must be rows that fit together, behind row {self.count}",
                parameter="kept rows",
                value=f"from row {first} " + ", ".join(f"{size} of {name}" for name, size in sizes.items()),
                hint="the file was damaged or is from elsewhere; use an older checkpoint",
            )

    @property
    def nbytes(self) -> int:
        return sum(block.nbytes for block in self.blocks)

    @property
    def kept(self) -> Kept:
        blocks, titles = self.blocks, {} if self.sealing is None else self.sealing.titles
        raw, spilled = (sum(sizes) for sizes in zip((0, 0), *(block.sizes for block in blocks), strict=True))
        columns = ((titles.get(name, name), sizes) for block in blocks for name, sizes in block.sizes_of_columns())
        return Kept(sum(map(len, blocks)), raw, self.nbytes, spilled, columns=added(columns))


def _in_order(rows: RowBlock, by: str | None) -> RowBlock:
    return rows if by is None else rows.sorted(by)


def _are_alike(blocks: list[RowBlock]) -> bool:
    """Whether blocks are of about one size, small, and nothing between them is gone."""
    first, last = blocks[0], blocks[-1]
    if any(block.is_sealed for block in blocks):
        return False
    rows = last.first + len(last) - first.first
    return len(first) <= min(LARGE, MANY * len(last)) and rows == sum(map(len, blocks))
