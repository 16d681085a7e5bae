"""Rows kept as they came: those sorted by pane, and new ones."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers
from windrow.operators.state.changes import Saved, lasting
from windrow.operators.state.groups import Codes
from windrow.operators.store.chosen_rows import Test
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.windows.row_shape import RowShape


class KeptRows:
    """Rows sorted by pane, and new ones as they came."""

    def __init__(self, shape: RowShape) -> None:
        self.shape = shape
        self.new = RowStore(shape.nothing)
        self.sorted = RowStore(shape.nothing, by="place")
        self.sorted_since = 0
        """Rows sorted since the last `Standings.relieve`."""

    def __len__(self) -> int:
        return len(self.new) + len(self.sorted)

    def take_new(self, chosen: Integers, others: Integers) -> RowBlock:
        """Remove and return the chosen new rows; all others stay."""
        whole = self.new.content()
        self.new.replace(whole.take(others))
        return whole.take(chosen) if len(others) else whole

    def sort(self) -> None:
        self.insert(self.new.content())
        self.new.replace(self.shape.nothing)

    def insert(self, rows: RowBlock) -> None:
        self.sorted_since += len(rows)
        self.sorted.insert(rows)

    def where(self, test: Test) -> RowBlock:
        """Some rows, which stay here too, sorted by pane and group."""
        return RowBlock.joined([self.sorted.where(test), self.new.where(test)]).ordered("place", "code")

    def forget_groups(self, first: Integers) -> None:
        """Panes before `first[code]` are in no open window of the group."""
        for store in (self.new, self.sorted):
            store.drop(lambda rows: rows["place"] < first[rows["code"]])

    def remap(self, name: str, mapping: Codes | Integers) -> None:
        """Codes, or keys of a part, have changed: `mapping[old] = new`."""
        for store in (self.new, self.sorted):
            store.remap(name, mapping)

    def used(self, name: str) -> Integers:
        """The different values of a column, those of each store in order."""
        return np.concatenate([self.sorted.used(name), self.new.used(name)])

    def fill(self, table: pa.Table) -> None:
        """Hold exactly the rows of a table, sorted by pane."""
        self.new.replace(self.shape.nothing)
        self.sorted.replace(self.shape.of_table(table))

    def saved(self) -> Saved:
        """All rows, as they are now, sorted by pane and group."""
        blocks = [self.shape.nothing, *self.sorted.blocks, *self.new.blocks]
        return lasting(lambda: RowBlock.joined(blocks).ordered("place", "code").table())

    @property
    def nbytes(self) -> int:
        return self.new.nbytes + self.sorted.nbytes
