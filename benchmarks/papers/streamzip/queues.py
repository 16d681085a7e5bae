"""The three levels of one key's window with their pointers, as in figures 7 and 10: base-delta, cell by cell.

A difference takes one cell, a base several. The first level holds one difference, the second one line, the third a
ring of lines; what fills the second is moved to the third whole. Cells of a line are numbered as in the figure:
differences from the highest number down, bases from 0 up. The very first value is only a seed. A new base is written
when the next value comes; until then it is the compressor's seed. What the figure leaves open is as in `base_delta`: a
mark and its base are in one line, and a line that has no room for both is moved on as it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

MARK = 255
"""The difference that no value has: a new base."""


class Pointers(NamedTuple):
    """A line of the table of figure 10; `w2` of a full line is its length, as the figure has it."""

    t_c: int
    s_c: int
    w1: int
    w2s: int
    w2: int
    w3: int
    s_d: int
    r3: int


@dataclass
class Line:
    """Differences and bases of one line."""

    cells: list[int] = field(default_factory=list)
    bases: list[int] = field(default_factory=list)


class Queue:
    """The window of a key: `size` values, of which `advance` leave with each answer.

    >>> queue = Queue(3, 2)
    >>> [queue.push(value) for value in (7, 8, 900, 901, 902)]
    [None, None, [7, 8, 900], None, [900, 901, 902]]
    """

    def __init__(self, size: int, advance: int, *, cells: int = 4, base_cells: int = 2, lines: int = 4) -> None:
        self.size, self.advance = size, advance
        self.cells, self.base_cells, self.lines = cells, base_cells, lines
        self.count = self.seed_c = self.seed_d = 0
        self.first: int | None = None  # the value that is only a seed, while it is in the window
        self.near: list[int] = []
        self.line = Line()
        self.far: deque[Line] = deque()
        self.owed: int | None = None
        self.left = self.skipped = 0  # lines that have left the third level, and cells of what is oldest then
        self.is_new = True

    def push(self, value: int) -> list[int] | None:
        """Take a value in; the window, oldest first, where this value fills it."""
        window = None
        if self.count == self.size - 1:
            window = [*(found for found, _ in self._decoded()), value]
        if self.is_new:
            self.seed_c = self.seed_d = self.first = value
            self.is_new = False
        else:
            self._compress(value)
        self.count += 1
        if window is not None:
            self._expire()
        return window

    @property
    def pointers(self) -> Pointers:
        """The registers of the hash table after the last value."""
        last, used = self.cells - 1, len(self.line.cells)
        w2 = last - used if self.cells > used else self.cells
        w3 = (self.left + len(self.far)) % self.lines * self.cells
        r3 = self.left % self.lines * self.cells + last - self.skipped
        bases = self.base_cells * len(self.line.bases)
        return Pointers(self.count, self.seed_c, len(self.near), bases, w2, w3, self.seed_d, r3)

    # Compression

    def _compress(self, value: int) -> None:
        """Into the first level, or with what is there into the second."""
        if self._free() == 0 and self.owed is None:
            self._flush()
        owed, self.owed = self.owed, None
        if owed is not None and self.near != [MARK]:
            self.line.bases.append(owed)
        delta = value - self.seed_c
        if not 0 <= delta < MARK:
            delta, self.seed_c, self.owed = MARK, value, value
        if not self.near:
            self.near.append(delta)
            return
        before = self.near.pop()
        self._put(before)
        if before == MARK and owed is not None:
            self.line.bases.append(owed)
        self._put(delta)

    def _put(self, delta: int) -> None:
        """A difference into the line; behind a mark room is left for its base."""
        if self._free() < (1 + self.base_cells if delta == MARK else 1):
            self._flush()
        self.line.cells.append(delta)

    def _free(self) -> int:
        """Cells of the line that neither hold anything nor are kept for a base."""
        return self.cells - len(self.line.cells) - self.base_cells * self.line.cells.count(MARK)

    def _flush(self) -> None:
        """The second level to the third, whole."""
        self.far.append(self.line)
        self.line = Line()

    # Decompression

    def _decoded(self) -> Iterator[tuple[int, int]]:
        """Each value of the window and its base: far, second and near level, from where the window starts."""
        base, skipped = self.seed_d, self.skipped
        if self.first is not None:
            yield self.first, base
        owed = [] if self.owed is None else [self.owed]
        levels = [*self.far, self.line, Line(self.near)]
        for line in levels:
            bases = iter(line.bases[line.cells[:skipped].count(MARK) :])
            for delta in line.cells[skipped:]:
                if delta == MARK:
                    base = next(bases, owed[0] if owed else base)
                yield base + (0 if delta == MARK else delta), base
            skipped = max(0, skipped - len(line.cells))

    def _expire(self) -> None:
        """Let the oldest values go: where the decoder stands behind them is where the window starts."""
        leaving = self._decoded()
        for _ in range(self.advance):
            _, self.seed_d = next(leaving)
        self.skipped += self.advance - (self.first is not None)
        self.first = None
        while self.far and self.skipped >= len(self.far[0].cells):
            self.skipped -= len(self.far.popleft().cells)
            self.left += 1
        self.count -= self.advance
