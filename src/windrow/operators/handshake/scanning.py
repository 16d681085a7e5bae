"""What one worker holds, as contiguous columns, and the scan that compares a block with all of it.

Most rows are left out by codes before their values are compared. A code is 16 bits of a value, such that a step of it
is small beside the bounds that probes set. Values far apart may have the same code, so what it admits must be compared;
what it does not admit is out of bounds for sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.operators.handshake.blocks import Block, BlockRows, Unsigned
from windrow.operators.handshake.chain import Found, Outlet
from windrow.operators.joins.results import gathered
from windrow.operators.kernels.joins import scan as kernels
from windrow.semantics.joins import LEFT

Codes: TypeAlias = npt.NDArray[np.uint16]
Try: TypeAlias = Callable[[Found], Found]
"""Those pairs for which what is left of the predicate holds."""
PROBES = 512
"""So many probes are tried with a chunk of stored rows while both lie in the cache."""
ROOM = 1 << 14
CODED = 2
"""Columns that have codes."""
STEPS = 5
"""Typical bounds are about 2 to the power of this wide, in steps."""
_ALL = (1 << 16) - 1


def shift_for(widths: Unsigned) -> int:
    """How many low bits of a value its code leaves out, for probes with bounds that wide.

    Above the code no bits of the value are left out but whole turns: bounds may go beyond the last value to the first.
    """
    typical = int(np.median(widths))
    return min(max(0, typical.bit_length() - STEPS), 8 * widths.dtype.itemsize - 16)


def codes_of(values: Unsigned, shift: int) -> Codes:
    """
    >>> codes_of(np.array([7, 8, 1 << 19], np.uint32), 3).tolist()
    [0, 1, 0]
    """
    return (values >> values.dtype.type(shift)).astype(np.uint16)


def coded_bounds(lows: Unsigned, widths: Unsigned, shift: int) -> tuple[Codes, Codes]:
    """The bounds in codes; they admit the code of every value that the bounds admit.

    >>> low, width = coded_bounds(np.array([6], np.uint32), np.array([10], np.uint32), 3)
    >>> low.tolist(), width.tolist()
    ([0], [2])
    """
    kind = lows.dtype.type
    firsts, lasts = lows >> kind(shift), (lows + widths) >> kind(shift)
    turn = kind((1 << (8 * lows.dtype.itemsize - shift)) - 1)
    steps = np.where(widths >> kind(shift) >= _ALL, kind(_ALL), np.minimum((lasts - firsts) & turn, kind(_ALL)))
    return firsts.astype(np.uint16), steps.astype(np.uint16)


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
        scan: Any = kernels.scan_one if len(codes) == 1 else kernels.scan_two
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
