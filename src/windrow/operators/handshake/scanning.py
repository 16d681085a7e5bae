"""What one worker holds, as contiguous columns, and the scan that compares a block with all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.handshake.blocks import Block, BlockRows, Unsigned
from windrow.operators.handshake.codes import Codes, coded_bounds, codes_of, shift_for
from windrow.operators.handshake.outlet import Found, Outlet
from windrow.operators.joins.results import gathered
from windrow.operators.kernels.joins import scan as kernels
from windrow.semantics.joins import LEFT

Try: TypeAlias = Callable[[Found], Found]
"""Those pairs for which what is left of the predicate holds."""
PROBES = 512
"""So many probes are tried with a chunk of stored rows while both lie in the cache."""
ROOM = 1 << 14
CODED = 2
"""Columns that have codes."""
_scan_one: Any = kernels.scan_one
_scan_two: Any = kernels.scan_two


class Held:
    """Columns of rows that enter at one end and leave at the other, without gaps in memory."""

    def __init__(self) -> None:
        self.columns: list[npt.NDArray[Any]] = []
        """Ids, times, then the columns to compare."""
        self.codes: list[Codes] = []
        self.shifts: list[int] = []
        """For the codes, once there were probes to choose them by."""
        self.start = 0
        self.end = 0

    def __len__(self) -> int:
        return self.end - self.start

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in (*self.columns, *self.codes))

    def insert(self, rows: BlockRows) -> None:
        parts = [rows.ids, rows.times, *rows.columns]
        if not self.columns:
            self.columns = [np.empty(2 * len(rows), part.dtype) for part in parts]
        if self.end + len(rows) > len(self.columns[0]):
            self._make_room(len(rows))
        start, self.end = self.end, self.end + len(rows)
        for column, part in zip(self.columns, parts, strict=True):
            column[start : self.end] = part
        for codes, values, shift in zip(self.codes, rows.columns, self.shifts, strict=False):
            codes[start : self.end] = codes_of(values, shift)

    def _make_room(self, rows: int) -> None:
        """Rows move to the front of arrays twice as long as needed, so that each moves a few times only."""
        held, size = len(self), 2 * (len(self) + rows)
        self.columns = [_moved(column[self.start : self.end], size) for column in self.columns]
        self.codes = [_moved(codes[self.start : self.end], size) for codes in self.codes]
        self.start, self.end = 0, held

    def remove(self, rows: int) -> None:
        self.start += rows

    def part(self, start: int, end: int) -> tuple[Integers, Integers, list[Unsigned]]:
        """Ids, times and columns of the rows at places [start, end), counted from the oldest."""
        ids, times, *columns = (column[self.start + start : self.start + end] for column in self.columns)
        return ids, times, columns

    def coded(self, start: int, end: int, probing: BlockRows) -> list[Codes]:
        """The codes of these rows. The first probes decide what codes are like."""
        if not self.codes:
            self.shifts = [shift_for(widths) for widths in probing.widths[:CODED]]
            values = self.columns[2 : 2 + CODED]
            self.codes = [codes_of(column, shift) for column, shift in zip(values, self.shifts, strict=True)]
        return [codes[self.start + start : self.start + end] for codes in self.codes]


def _moved(rows: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    moved = np.empty(size, rows.dtype)
    moved[: len(rows)] = rows
    return moved


class Scan:
    """Tries every pair, and puts those that it finds into an outlet."""

    def __init__(self, outlet: Outlet, tried: Try | None = None) -> None:
        self.outlet = outlet
        self.tried = tried
        self.held = Held(), Held()
        self.comparisons = 0
        self.probes: Integers = np.empty(ROOM, np.int64)
        self.places: Integers = np.empty(ROOM, np.int64)

    def insert(self, side: int, block: Block) -> None:
        self.held[side].insert(block.rows)

    def remove(self, side: int, block: Block) -> None:
        self.held[side].remove(len(block))

    def compare(self, side: int, block: Block, start: int, end: int) -> None:
        if start == end:
            return
        self.comparisons += len(block) * (end - start)
        held = self.held[1 - side]
        ids, times, columns = held.part(start, end)
        codes = held.coded(start, end, block.rows)
        for first in range(0, len(block), PROBES):
            probing = block.rows.take(slice(first, first + PROBES))
            for probes, places in self._candidates(probing, times, codes, held.shifts):
                probes, places = near(probing, columns, probes, places)
                self.report(side, gathered(probing.ids, probes), gathered(ids, places))

    def report(self, side: int, mine: Integers, others: Integers) -> None:
        """Pairs of a side's rows with those of the other side that met what is looked up."""
        found = (mine, others) if side == LEFT else (others, mine)
        if len(mine) and self.tried is not None:
            found = self.tried(found)
        if len(found[LEFT]):
            self.outlet.put(found)

    def _candidates(
        self, probing: BlockRows, times: Integers, codes: list[Codes], shifts: list[int]
    ) -> Iterator[tuple[Integers, Integers]]:
        bounds: list[Codes] = []
        for code, low, width, shift in zip(codes, probing.lows, probing.widths, shifts, strict=False):
            bounds += [code, *coded_bounds(low, width, shift)]
        scan = _scan_one if len(codes) == 1 else _scan_two
        at = np.zeros(2, np.int64)
        while at[0] < len(times):
            found = scan(*bounds, times, probing.firsts, probing.lasts, at, self.probes, self.places)
            yield self.probes[:found], self.places[:found]


def near(probing: BlockRows, columns: list[Unsigned], probes: Integers, places: Integers) -> tuple[Integers, Integers]:
    """The candidates whose values are within the bounds."""
    for column, low, width in zip(columns, probing.lows, probing.widths, strict=True):
        near = column[places] - low[probes] <= width[probes]
        probes, places = probes[near], places[near]
    return probes, places
