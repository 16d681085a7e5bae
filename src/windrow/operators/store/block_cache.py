"""Values of coded blocks that are looked into again and again: read once, found by block and place."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.kernels.rows.kept import look_into

FEWEST = 16
"""Blocks that are held however little else is kept."""
MANY = 2
"""Looks into more than one in so many of the blocks that fit are not looks at what is asked for often."""
EVERY = 64
"""How many times there may be no room before it is asked again how much there may be."""

Slots = npt.NDArray[np.int32]


class BlockCache:
    """The last blocks that were looked into, as numbers of eight bytes; what was not looked at for longest goes first.

    Several threads may look into it, one after the other. What it gives is what the column would, always.
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        """`limit` says how many bytes it may take; it is asked now and then when there is no room."""
        self._limit = limit
        self._lock = Lock()
        self._values: Integers = np.empty((0, 0), np.int64)
        """A line for each slot."""
        self._slots: WeakKeyDictionary[Any, Slots] = WeakKeyDictionary()
        """Where the blocks of a column are, by their number; -1 where they are not."""
        self._holders: list[Slots] = []
        """Of each slot the entry of `_slots` that says it is there."""
        self._blocks: Integers = np.empty(0, np.int64)
        self._used: Integers = np.empty(0, np.int64)
        """When each slot was looked at last, counted in looks."""
        self._looks = 0
        self._asked = self._most = 0
        self.hits = 0
        """Blocks that were found here."""
        self.misses = 0
        """Blocks that had to be read."""

    @property
    def nbytes(self) -> int:
        return self._values.nbytes

    def take(
        self, column: Any, rows: Integers, block_rows: int, read: Callable[[Integers], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """Rows of a column that is never changed and has a `dtype`; `read` reads what is not here."""
        kind, found = column.dtype, self._found(column, rows, block_rows, read)
        if found is None:
            return read(rows)
        values: npt.NDArray[Any] = found.view(kind) if kind.itemsize == 8 else found.astype(kind)
        return values

    def _found(
        self, column: Any, rows: Integers, block_rows: int, read: Callable[[Integers], npt.NDArray[Any]]
    ) -> Integers | None:
        with self._lock:
            places = self._slots.get(column)
            if places is None:
                self._slots[column] = places = np.full(-(-len(column) // block_rows), -1, np.int32)
            self._looks += 1
            out = np.empty(len(rows), np.int64)
            hits = look_into(places, block_rows, self._values, self._used, self._looks, rows, out)
            if hits >= 0:
                self.hits += hits
                return out
            blocks = rows // block_rows
            touched = np.zeros(len(places), np.bool_)
            touched[blocks] = True
            wanted = np.flatnonzero(touched)
            missing = wanted[places[wanted] < 0]
            self.hits += len(wanted) - len(missing)
            self.misses += len(missing)
            if not self._has_room(len(wanted), block_rows):
                return None
            self._load(column, places, wanted, missing, block_rows, read)
            look_into(places, block_rows, self._values, self._used, self._looks, rows, out)
            return out

    def _has_room(self, wanted: int, block_rows: int) -> bool:
        """Whether so many blocks are few enough of those that fit."""
        if self._values.shape[1] not in (0, block_rows):
            return False  # columns of other blocks than these are not held
        slots = len(self._values)
        if MANY * wanted <= slots and len(self._holders) + wanted <= slots:
            return True
        if self._asked % EVERY == 0:
            self._most = max(FEWEST, self._limit() // (8 * block_rows))
        self._asked += 1
        if self._most > slots:
            more = min(self._most, max(FEWEST, 2 * slots, MANY * wanted)) - slots
            fresh = np.empty((more, block_rows), np.int64)
            self._values = np.concatenate([self._values, fresh]) if slots else fresh
            self._blocks, self._used = (np.append(old, np.zeros(more, np.int64)) for old in (self._blocks, self._used))
        return MANY * wanted <= len(self._values)

    def _load(
        self,
        column: Any,
        places: Slots,
        wanted: Integers,
        missing: Integers,
        block_rows: int,
        read: Callable[[Integers], npt.NDArray[Any]],
    ) -> None:
        here = places[wanted]
        self._used[here[here >= 0]] = self._looks
        rows = (missing[:, None] * block_rows + np.arange(block_rows)).reshape(-1)
        values = read(rows[rows < len(column)])
        slots = self._free(len(missing))
        lines = np.zeros((len(missing), block_rows), np.int64)
        lines.reshape(-1)[: len(values)] = values.view(np.int64) if values.dtype.itemsize == 8 else values
        self._values[slots] = lines
        self._blocks[slots], self._used[slots] = missing, self._looks
        places[missing] = slots
        for slot in slots.tolist():
            self._holders[slot] = places

    def _free(self, count: int) -> Integers:
        """Slots for so many blocks; those that were there are forgotten."""
        unused = min(count, len(self._values) - len(self._holders))
        fresh = np.arange(len(self._holders), len(self._holders) + unused)
        gone = np.empty(0, np.int64)
        if unused < count:
            used = self._used[: len(self._holders)]
            gone = np.argpartition(used, count - unused - 1)[: count - unused]
            for slot in gone.tolist():
                self._holders[slot][self._blocks[slot]] = -1
        self._holders += [np.empty(0, np.int32)] * unused
        return np.concatenate([gone, fresh])
