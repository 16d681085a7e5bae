"""What a worker compares by where there is a key or a band to look up: each block has the order of its first column.

For a key that column holds the hash and a probe looks for one value, for a band it looks for a stretch. Candidates are
then tried as the scan tries them.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from windrow.aggregates.kinds.arrays import spread
from windrow.aggregates.kinds.base import Integers
from windrow.operators.handshake.blocks import Block, BlockRows, Unsigned
from windrow.operators.handshake.chain import PAIRS, Outlet
from windrow.operators.handshake.scanning import Scan, Try, near


@dataclass(frozen=True)
class Order:
    """The rows of a block by their first column."""

    rows: Integers
    values: Unsigned

    @staticmethod
    def of(block: BlockRows) -> Order:
        order = np.argsort(block.columns[0], kind="stable")
        return Order(order, block.columns[0][order])

    def candidates(self, probing: BlockRows) -> tuple[Integers, Integers]:
        """Probes, and rows whose first column lies within their bounds."""
        low = probing.lows[0]
        high = low + probing.widths[0]  # beyond the largest number it goes on from zero
        start = np.searchsorted(self.values, low, side="left")
        end = np.searchsorted(self.values, high, side="right")
        counts = np.where(high < low, len(self.values) - start + end, end - start)
        probes = np.repeat(np.arange(len(probing)), counts)
        return probes, self.rows[spread(start, counts) % max(len(self.values), 1)]


class Lookup(Scan):
    """Finds what the scan finds, by looking it up block by block."""

    def __init__(self, outlet: Outlet, tried: Try | None = None) -> None:
        super().__init__(outlet, tried)
        self.orders: tuple[deque[Order], deque[Order]] = deque(), deque()

    def insert(self, side: int, block: Block) -> None:
        super().insert(side, block)
        self.orders[side].append(Order.of(block.rows))

    def remove(self, side: int, block: Block) -> None:
        super().remove(side, block)
        self.orders[side].popleft()

    def compare(self, side: int, block: Block, start: int, end: int) -> None:
        """The stretch [start, end) is of whole blocks."""
        held, probing, first = self.held[1 - side], block.rows, 0
        for order in self.orders[1 - side]:
            last = first + len(order.rows)
            if start <= first and last <= end:
                ids, times, columns = held.part(first, last)
                probes, places = order.candidates(probing)
                self.comparisons += len(probes)
                meet = (probing.firsts[probes] <= times[places]) & (times[places] <= probing.lasts[probes])
                probes, places = near(probing, columns, probes[meet], places[meet])
                for piece in range(0, len(probes), PAIRS):
                    chosen = slice(piece, piece + PAIRS)
                    self.report(side, probing.ids[probes[chosen]], ids[places[chosen]])
            first = last
