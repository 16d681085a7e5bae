"""The rows of one side of an as-of join: what they are compared by, and their columns, maybe in coded blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, concatenated, numbers_of, tabled
from windrow.aggregates.kinds.base import Integers
from windrow.operators.compression.coded_column import CodedColumn
from windrow.operators.state.changes import Saved, lasting, under
from windrow.operators.state.groups import NO_CODES, Codes
from windrow.operators.store.row_block import RowBlock, no_rows
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.saved_rows import loaded_rows, numbers_in, saved_rows
from windrow.operators.store.sealed_rows import taken
from windrow.operators.store.sealing import Sealing
from windrow.semantics.progress.policies import END

KEPT = 2
"""Coded blocks are made anew once one in so many of their rows is left, others at once."""


class AsOfRows:
    """Rows by number, with their time as `place` and their key as `code`. Those that are done with are not seen again.

    They leave their coded block when it is made anew, so that none is made anew for each row that leaves.
    """

    def __init__(self, schema: pa.Schema, sealing: Sealing | None) -> None:
        nothing: dict[str, Any] = {"place": np.empty(0, np.int64), "code": NO_CODES}
        self.store = RowStore(RowBlock(nothing, no_rows(schema)), sealing=sealing)
        self._gone: Integers = np.empty(0, np.int64)
        """Numbers of rows in coded blocks that are done with, sorted."""

    def __len__(self) -> int:
        return len(self.store) - len(self._gone)

    @property
    def nbytes(self) -> int:
        return self.store.nbytes + self._gone.nbytes

    # Rows in

    def add(self, rows: RowBlock) -> None:
        self.store.append(rows, seal=False)

    def seal(self) -> None:
        """Put what stays into coded blocks, if it is time."""
        self.store.seal()

    # Reading

    def keys(self) -> RowBlock:
        """Place, code and number of the rows."""
        store = self.store
        numbers = [np.arange(block.first, block.first + len(block)) for block in store.blocks]
        number = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
        found = RowBlock({"place": store.column("place"), "code": store.column("code"), "number": number})
        if len(self._gone) == 0:
            return found
        return found.take(np.flatnonzero(~_among(number, self._gone)))

    def whole(self, numbers: Integers) -> pa.RecordBatch:
        """Rows by number, in this order."""
        placed, order = self.store.placed(numbers)
        found = [taken(block.data, places) for block, places in placed if block.data is not None]
        if len(found) <= 1:
            return found[0] if found else self.store.nothing.rows
        back = np.empty(len(order), np.int64)
        back[order] = np.arange(len(order))
        return concatenated(found).take(arrow(back))

    @property
    def least(self) -> int:
        """The smallest time; the end of time when there is no row."""
        if len(self._gone):
            return int(self.keys()["place"].min(initial=END))
        return min((block.span("place")[0] for block in self.store.blocks), default=END)

    # Rows out

    def drop(self, numbers: Integers) -> None:
        """These rows are done with."""
        if len(numbers) == 0:
            return
        gone = np.union1d(self._gone, numbers)
        staying, leaving, rest = [], [], []
        for block in self.store.blocks:
            low, high = np.searchsorted(gone, (block.first, block.first + len(block)))
            if block.is_sealed and KEPT * (high - low) < len(block):
                staying.append(block)
                rest.append(gone[low:high])
                continue
            alive = np.ones(len(block), np.bool_)
            alive[gone[low:high] - block.first] = False
            if alive.any():
                leaving.append(block.opened().take(np.flatnonzero(alive)))
        self.store.blocks = staying
        self._gone = np.concatenate([self._gone[:0], *rest])
        if leaving:
            self.store.append(RowBlock.joined(leaving), seal=False)

    # Keys

    def codes(self) -> Codes:
        """The codes of rows that have a key."""
        codes: Codes = self.store.column("code")
        return codes[codes >= 0]

    def remap(self, mapping: npt.NDArray[Any]) -> None:
        self.store.remap("code", mapping)

    # State

    def state(self, name: str) -> dict[str, Saved]:
        """Tables under a name: coded blocks once and as they are, and the other rows by time. Codes are made anew."""
        others = [block for block in self.store.blocks if not block.is_sealed]
        rest = others or [self.store.nothing]
        tables: dict[str, Saved] = {
            name: lasting(lambda: RowBlock.joined(rest).sorted("place").without("code").table())
        }
        for block in self.store.blocks:
            if block.is_sealed:
                tables |= {f"{name}.{block.first}.{part}": table for part, table in saved_rows(block)}
        if len(self._gone):
            tables[f"{name}.gone"] = tabled(number=self._gone)
        return tables

    def restore(self, name: str, tables: Mapping[str, pa.Table], encode: Callable[[pa.RecordBatch], Codes]) -> None:
        """Hold exactly the rows that were saved under a name; `encode` makes codes of their keys."""
        self.store.replace(self.store.nothing)
        parts = under(f"{name}.", tables)
        self._gone = numbers_of(parts.pop("gone"), "number") if "gone" in parts else self._gone[:0]
        sealing = self.store.sealing
        for first in numbers_in(parts):
            assert sealing is not None
            place, data = loaded_rows(under(f"{first}.", parts), sealing)
            code = CodedColumn.of(encode(data.batch()), block_rows=place.block_rows)
            self.store.blocks.append(RowBlock({"place": place, "code": code}, sealing.restored(data), first))
            self.store.count = first + place.size
        rest = self.store.nothing.like(tables[name])
        self.store.append(rest.having({"code": encode(rest.rows)}), seal=False)


def _among(numbers: Integers, gone: Integers) -> npt.NDArray[np.bool_]:
    """Which of some numbers are among others that are sorted; there must be one of these."""
    places = np.minimum(np.searchsorted(gone, numbers), len(gone) - 1)
    found: npt.NDArray[np.bool_] = gone[places] == numbers
    return found
