"""The rows of one side that a chain may still find partners for: their columns, and whether they have met one.

The chain knows rows by their ids, which are their numbers in the store. A block is let go when all of its rows have
left. Workers read columns while the driver adds rows, which the store allows; only the driver marks rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow, concatenated
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch
from windrow.operators.handshake.blocks import Unsigned
from windrow.operators.handshake.chain import Found
from windrow.operators.handshake.scanning import Try
from windrow.operators.joins.encoding import Encoded, Encoder, Flags
from windrow.operators.joins.results import JoinColumns, Picked, gathered
from windrow.operators.state.changes import Saved, under
from windrow.operators.store.row_block import RowBlock
from windrow.operators.store.row_store import RowStore
from windrow.operators.store.saved_rows import loaded_rows, numbers_in, saved_rows
from windrow.operators.store.sealed_array import picked
from windrow.operators.store.sealed_rows import SealedRows, taken
from windrow.operators.store.sealing import Sealing
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.progress.policies import END

_TIME = ".time"
"""Not the name of a column that anyone asks for."""


class HandshakeRows(RowStore):
    """Rows by id."""

    def __init__(self, sealing: Sealing | None = None) -> None:
        super().__init__(RowBlock({"place": np.empty(0, np.int64)}), sealing=sealing)
        self._done: Flags = np.empty(0, np.bool_)
        """Rows that have met a partner, or left, from the id `_low` on."""
        self._low = 0

    def add(self, rows: Picked, done: Flags | None = None) -> Integers:
        """Keep rows; gives their ids."""
        ids = np.arange(self.count, self.count + len(rows))
        if self.count + len(rows) - self._low > len(self._done):
            known = self._done[self.first - self._low : self.count - self._low]
            self._done, self._low = np.append(known, np.empty(len(known) + 2 * len(rows), np.bool_)), self.first
        self._done[ids - self._low] = False if done is None else done
        assert rows.times is not None
        self.append(RowBlock({"place": rows.times}, rows.data))
        return ids

    def pick(self, ids: Integers, columns: Sequence[str] | None = None) -> Picked:
        """Rows by id, in this order; at least one. All columns, or those that there are of some."""
        placed, order = self.placed(ids)
        found = [_picked(block, places, columns) for block, places in placed]
        if len(found) == 1:
            return found[0]
        back = np.empty(len(ids), np.int64)
        back[order] = np.arange(len(ids))
        return Picked.together(found).take(back)

    def mark(self, ids: Integers) -> Integers:
        """Note that rows have met a partner; gives those for which it is the first, each once."""
        ids = np.unique(ids)
        news = ids[~self.done(ids)]
        self._done[news - self._low] = True
        return news

    def done(self, ids: Integers) -> Flags:
        """Which of some rows have met a partner."""
        return self._done[ids - self._low]

    def leave(self, limit: int) -> Iterator[Picked]:
        """Rows below the limit go; those that never met a partner are given."""
        for block in self.blocks:
            if block.span("place")[0] >= limit and limit != END:
                continue
            below = block["place"] < limit if limit != END else np.ones(len(block), np.bool_)
            start = block.first - self._low
            alone = np.flatnonzero(below & ~self._done[start : start + len(block)])
            if len(alone):
                self._done[start + alone] = True
                yield _picked(block, alone)
        self.blocks = [block for block in self.blocks if not _has_left(block, limit)]

    def leaving(self, limit: int) -> int:
        """How many rows there are in blocks that could be let go."""
        return sum(len(block) for block in self.blocks if _has_left(block, limit))

    def _waiting_from(self, blocks: list[RowBlock]) -> int:
        """Rows keep their ids, so they are sealed only with those next to them."""
        start = max(super()._waiting_from(blocks), len(blocks) - 1)
        while start > 0 and not blocks[start - 1].is_sealed and _follows(*blocks[start - 1 : start + 1]):
            start -= 1
        return start

    @property
    def nbytes(self) -> int:
        return super().nbytes + len(self)

    def saved(self, ids: Integers, columns: list[Unsigned]) -> pa.Table:
        """Some rows by id, oldest first; `columns` are what the chain compares of them."""
        rows = self.pick(ids)
        return RowBlock(self._compared(ids, columns, rows.times), rows.data).table()

    def saved_apart(self, name: str, ids: Integers, columns: list[Unsigned]) -> dict[str, Saved]:
        """The same in several tables, so that whole rows in sealed blocks are saved once; the others are `rest`."""
        sealed = [block for block in self.blocks if isinstance(block.data, SealedRows)]
        inside = np.zeros(len(ids), np.bool_)
        tables: dict[str, Saved] = {}
        for block in sealed:
            low, high = np.searchsorted(ids, (block.first, block.first + len(block)))
            inside[low:high] = True
            if low < high:
                tables |= {f"{name}.{block.first}.{part}": table for part, table in saved_rows(block)}
        if not tables:
            return {name: self.saved(ids, columns)}
        own = self._compared(ids, columns, None)
        if not inside.all():
            rest = self.pick(ids[~inside])
            assert rest.times is not None
            tables[f"{name}.rest"] = RowBlock({"time": rest.times}, rest.data).table()
        return {name: RowBlock(own).table(), **tables}

    def _compared(self, ids: Integers, columns: list[Unsigned], times: Integers | None) -> dict[str, Any]:
        own: dict[str, Any] = {"number": ids} if times is None else {"time": times}
        return {**own, "done": self.done(ids), **{f"compared{i}": column for i, column in enumerate(columns)}}


def load_rows(
    name: str, tables: Mapping[str, pa.Table], encoder: Encoder, sealing: Sealing | None
) -> tuple[Encoded, Picked, Flags]:
    """What is compared of rows that were saved, what is kept of them, and which have met a partner."""
    rows = RowBlock.of_table(tables[name])
    if "number" in rows:
        assert sealing is not None
        rows = _together(rows, under(f"{name}.", tables), sealing)
    compared = [rows[name] for name in rows.columns if name.startswith("compared")]
    words = compared.pop(0) if encoder.equalities else None
    # Without anything to compare but times, these are compared.
    bands = tuple(band.view(scale.dtype) for band, scale in zip(compared, encoder.scales, strict=False))
    data = None if rows.data is None else rows.rows
    return Encoded(rows["time"], words, bands), Picked(len(rows), data, rows["time"]), rows["done"]


def _together(rows: RowBlock, parts: Mapping[str, pa.Table], sealing: Sealing) -> RowBlock:
    """Rows that were saved apart, as they would have been together."""
    numbers, times = rows["number"], np.empty(len(rows), np.int64)
    inside, found, places = np.zeros(len(rows), np.bool_), list[pa.RecordBatch](), list[Integers]()
    for first in numbers_in(parts):
        place, data = loaded_rows(under(f"{first}.", parts), sealing)
        low, high = (int(at) for at in np.searchsorted(numbers, (first, first + place.size)))
        inside[low:high] = True
        times[low:high] = place.take(numbers[low:high] - first)
        found.append(data.take(numbers[low:high] - first))
        places.append(np.arange(low, high))
    if "rest" in parts:
        rest = RowBlock.of_table(parts["rest"])
        times[~inside] = rest["time"]
        found.append(rest.rows)
        places.append(np.flatnonzero(~inside))
    order = np.argsort(np.concatenate(places))
    return RowBlock({**rows.columns, "time": times}, concatenated(found).take(arrow(order)))


def save_waiting(batches: list[Batch], schema: pa.Schema) -> pa.Table:
    table = pa.Table.from_batches([batch.data for batch in batches], schema)
    times = np.concatenate([np.empty(0, np.int64), *(batch.times for batch in batches)])
    return table.append_column(_TIME, pa.array(times))


def load_waiting(table: pa.Table) -> list[Batch]:
    if table.num_rows == 0:
        return []
    (data,) = table.combine_chunks().to_batches()
    return [Batch(data.drop_columns([_TIME]), np.array(data.column(_TIME)))]


def trial(columns: JoinColumns, kept: tuple[HandshakeRows, HandshakeRows]) -> Try | None:
    """The pairs for which what is left of the predicate holds, tried by workers; None where nothing is left to try.

    It knows no chain, or the chain would never end.
    """

    def tried(found: Found) -> Found:
        left, right = (kept[side].pick(found[side], columns.tried) for side in (LEFT, RIGHT))
        holds = columns.holds(left, right)
        if holds is None or holds.all():
            return found
        chosen = np.flatnonzero(holds)
        return found[LEFT][chosen], found[RIGHT][chosen]

    return None if columns.predicate is None else tried


def _picked(block: RowBlock, places: Integers, columns: Sequence[str] | None = None) -> Picked:
    """Some rows of a block. All columns, or those that there are of some."""
    data, cache = block.data, block.data.cache if isinstance(block.data, SealedRows) else None
    if data is not None and columns is not None:
        names = [name for name in columns if name in data.schema.names]
        data = data.select(names) if names else None
    times = block.columns["place"]
    found = gathered(times, places) if isinstance(times, np.ndarray) else picked(times, places, cache)
    return Picked(len(places), None if data is None else taken(data, places), found)


def _follows(block: RowBlock, other: RowBlock) -> bool:
    return block.first + len(block) == other.first


def _has_left(block: RowBlock, limit: int) -> bool:
    return block.span("place")[1] < limit or limit == END
