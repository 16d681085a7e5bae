"""What one worker holds, as contiguous columns, and the scan that compares a block with all of it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.base import Integers
from windrow.operators.handshake.blocks import Block, Rows, Unsigned
from windrow.operators.kernels import join_scan as kernels
from windrow.semantics.joins import LEFT

Places: TypeAlias = npt.NDArray[np.int64]
Found: TypeAlias = tuple[Integers, Integers]
"""Ids of left and of right rows, pair by pair."""
PROBES = 512
"""So many probes are tried with a chunk of stored rows while both lie in the cache."""
ROOM = 1 << 14
_scan_one: Any = kernels.scan_one
_scan_two: Any = kernels.scan_two


class Held:
    """Columns of rows that enter at one end and leave at the other, without gaps in memory."""

    def __init__(self) -> None:
        self.columns: list[npt.NDArray[Any]] = []
        """Ids, times, then the columns to compare."""
        self.start = 0
        self.end = 0

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def insert(self, rows: Rows) -> None:
        parts = [rows.ids, rows.times, *rows.columns]
        if not self.columns:
            self.columns = [np.empty(2 * len(rows), part.dtype) for part in parts]
        if self.end + len(rows) > len(self.columns[0]):
            self._make_room(len(rows))
        for column, part in zip(self.columns, parts, strict=True):
            column[self.end : self.end + len(rows)] = part
        self.end += len(rows)

    def _make_room(self, rows: int) -> None:
        """Rows move to the front of arrays twice as long as needed, so that each moves a few times only."""
        held = self.end - self.start
        old, self.columns = self.columns, []
        for column in old:
            moved = np.empty(2 * (held + rows), column.dtype)
            moved[:held] = column[self.start : self.end]
            self.columns.append(moved)
        self.start, self.end = 0, held

    def remove(self, rows: int) -> None:
        self.start += rows

    def part(self, start: int, end: int) -> tuple[Integers, Integers, list[Unsigned]]:
        """Ids, times and columns of the rows at places [start, end), counted from the oldest."""
        ids, times, *columns = (column[self.start + start : self.start + end] for column in self.columns)
        return ids, times, columns


class Scan:
    """Tries every pair. What it found waits in `found` to be collected."""

    def __init__(self) -> None:
        self.held = Held(), Held()
        self.found: deque[Found] = deque()
        self.comparisons = 0
        self.probes: Places = np.empty(ROOM, np.int64)
        self.places: Places = np.empty(ROOM, np.int64)

    def insert(self, side: int, block: Block) -> None:
        self.held[side].insert(block.rows)

    def remove(self, side: int, block: Block) -> None:
        self.held[side].remove(len(block))

    def compare(self, side: int, block: Block, start: int, end: int) -> None:
        if start == end:
            return
        self.comparisons += len(block) * (end - start)
        ids, times, columns = self.held[1 - side].part(start, end)
        for first in range(0, len(block), PROBES):
            probing = block.rows.take(slice(first, first + PROBES))
            for probes, places in self._matches(probing, times, columns):
                pair = probing.ids[probes], ids[places]
                self.found.append(pair if side == LEFT else pair[::-1])

    def _matches(self, probing: Rows, times: Integers, columns: list[Unsigned]) -> Iterator[tuple[Places, Places]]:
        at = np.zeros(2, np.int64)
        scan = _scan_one if len(columns) == 1 else _scan_two
        bounds = [
            part for triple in zip(columns[:2], probing.lows[:2], probing.widths[:2], strict=True) for part in triple
        ]
        while at[0] < len(times):
            found = scan(*bounds, times, probing.firsts, probing.lasts, at, self.probes, self.places)
            if found:
                yield _checked(probing, columns, self.probes[:found], self.places[:found])


def _checked(probing: Rows, columns: list[Unsigned], probes: Places, places: Places) -> tuple[Places, Places]:
    """Those that match in the columns beyond the first two as well; copies, as the room is used again."""
    near = np.ones(len(probes), np.bool_)
    for column, low, width in zip(columns[2:], probing.lows[2:], probing.widths[2:], strict=True):
        near &= column[places] - low[probes] <= width[probes]
    return probes[near], places[near]
