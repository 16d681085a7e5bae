"""The driver of a chain: cuts rows into blocks, feeds both ends, and expires blocks that have left their window."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.operators.handshake.blocks import Block, BlockRows, Unsigned
from windrow.operators.handshake.chain import Chain, Found, Outlet
from windrow.operators.handshake.scanning import Scan, Try
from windrow.semantics.joins import LEFT, RIGHT
from windrow.semantics.progress.policies import END

MakeLocal: TypeAlias = Callable[[Outlet, Try | None], Scan]
BLOCK = 1024
"""Rows that move along the chain together."""


class Driver:
    """Rows in, pairs of ids out; how far the chain has come with what went in shows in nothing else.

    What gives pairs is to be run to its end: workers wait while many of them do.
    """

    def __init__(self, threads: int, block: int = BLOCK, local: MakeLocal = Scan, tried: Try | None = None) -> None:
        """`local` makes what each worker compares by, `tried` is what is left to try of pairs."""
        self.local = local
        self.outlet = Outlet()
        self.scans = [local(self.outlet, tried) for _ in range(threads)]
        self.chain: Chain[Block] = Chain(self.scans, self.outlet)
        self.block = block
        self.parts: tuple[list[BlockRows], list[BlockRows]] = [], []
        """Rows that do not fill a block yet."""
        self.held: tuple[deque[tuple[int, int]], deque[tuple[int, int]]] = deque(), deque()
        """Blocks in the chain: their numbers, and the last time of the other side that one of their rows meets."""

    def put(self, side: int, rows: BlockRows) -> Iterator[Found]:
        """Take rows in; whole blocks enter the chain."""
        if len(rows) == 0:
            return
        parts = self.parts[side]
        parts.append(rows)
        if sum(map(len, parts)) < self.block:
            return
        whole = BlockRows.joined(parts)
        full = len(whole) // self.block * self.block
        parts[:] = [whole.take(slice(full, None))] if full < len(whole) else []
        for start in range(0, full, self.block):
            yield from self._enter(side, whole.take(slice(start, start + self.block)))

    def _enter(self, side: int, rows: BlockRows) -> Iterator[Found]:
        for _ in self.chain.enter(side, self._numbered(side, rows)):
            yield from self.outlet.take()

    def _numbered(self, side: int, rows: BlockRows) -> Block:
        block = Block(self.chain.numbers[side], rows)
        self.held[side].append((block.number, int(rows.lasts.max())))
        return block

    def settle(self) -> Iterator[Found]:
        """Every pair of rows that were put in has met, and was given."""
        for side in (LEFT, RIGHT):
            if self.parts[side]:
                rows = BlockRows.joined(self.parts[side])
                self.parts[side].clear()
                yield from self._enter(side, rows)
        for _ in self.chain.settle():
            yield from self.outlet.take()
        yield from self.outlet.take()

    def expire(self, side: int, bound: int) -> None:
        """Blocks go whose rows meet nothing of the other side from `bound` on, and no older block stays."""
        held = self.held[side]
        while held and held[0][1] < bound:
            self.chain.expire(side, held.popleft()[0])

    def content(self, side: int, limit: int) -> tuple[Integers, list[Unsigned]]:
        """Ids and compared columns of the rows of a side in a settled chain from a time on, oldest first."""
        scans = self.scans[:: -1 if side == LEFT else 1]
        parts = [scan.held[side].part(0, len(scan.held[side])) for scan in scans if len(scan.held[side])]
        ids = np.concatenate([np.empty(0, np.int64), *(part[0] for part in parts)])
        times = np.concatenate([np.empty(0, np.int64), *(part[1] for part in parts)])
        alive = times >= limit if limit != END else np.zeros(len(times), np.bool_)
        columns = [np.concatenate(pieces) for pieces in zip(*(part[2] for part in parts), strict=True)]
        return ids[alive], [column[alive] for column in columns]

    def restore(self, side: int, rows: BlockRows) -> None:
        """Rows of a side, oldest first, all of whose pairs have met."""
        blocks = []
        for start in range(0, len(rows), self.block):
            blocks.append(self._numbered(side, rows.take(slice(start, start + self.block))))
            self.chain.numbers[side] += 1
        self.chain.spread(side, blocks)

    @property
    def rows(self) -> int:
        """In the chain, or on their way to it."""
        held = sum(len(held) for scan in self.scans for held in scan.held)
        return held + sum(len(part) for parts in self.parts for part in parts)

    @property
    def nbytes(self) -> int:
        return sum(held.nbytes for scan in self.scans for held in scan.held)
