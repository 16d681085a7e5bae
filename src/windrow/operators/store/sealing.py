"""When rows that are kept go into coded blocks, and how."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from windrow.operators.compression.coded_column import Nature
from windrow.operators.store.budget import Budget
from windrow.operators.store.row_block import Plans, RowBlock
from windrow.operators.store.sealed_rows import SealedRows
from windrow.plan.compression import Compression, CompressionMode

BLOCK_ROWS = 1024
"""Values of a block, each coded by itself: what one look into a column has to decode."""
LEAST_ROWS, MOST_ROWS = 1 << 12, 1 << 17
"""Rows that are sealed at once, where nobody asked for blocks: the more there are already, the more may wait."""
PAYS, SAMPLE = 1.5, 1 << 14
"""Rows are sealed where some of them take so many times less then, and"""
SAVED = 4
"""so many bytes less for each."""
MANY = 4
"""So many samples are tried as a whole: what was tried is what is kept."""
PACKED_PAYS = 4 / 3
"""Whole rows are packed in the time that it takes to copy them, so that less is enough."""
FEWER = 4
"""So many times as many rows wait where few blocks are wanted."""
TITLES = {"place": "times", "code": "groups", "count": "counts"}
SHARE = 16
"""Of the rows that are sealed, one in so many may wait."""


@dataclass(frozen=True)
class Sealing:
    """What becomes of rows that stay: how many wait, in which order they are sealed, and what their numbers are."""

    least: int
    """Fewer rows than these wait for others."""
    block_rows: int = BLOCK_ROWS
    natures: Mapping[str, Nature] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    arrange: Callable[[RowBlock], RowBlock] | None = None
    """Puts rows into an order in which they take less room, where nobody asks for the order in which they came."""

    titles: Mapping[str, str] = field(default_factory=lambda: TITLES)
    """What people call the columns."""

    plans: Plans = field(default_factory=dict)
    """What was decided for the blocks that were sealed last."""

    folded: Callable[[RowBlock], Collection[str]] | None = None
    """Which columns of rows are to be folded, and laid out for that."""

    is_asked: bool = False
    """Whether somebody asked for blocks, so that rows are sealed even where it saves little."""

    @property
    def in_blocks(self) -> bool:
        """Whether blocks were asked for, or may go to the disk."""
        return self.is_asked or self.budget.limit is not None

    def wants(self, waiting: int, sealed: int) -> bool:
        """Whether it is time to seal the rows that wait."""
        return waiting >= max(self.least, min(MOST_ROWS, sealed // SHARE))

    def sealed_if_it_pays(self, rows: RowBlock) -> RowBlock | None:
        """Sealed rows; None where, by some of them, they take not so much less that it is worth it."""
        if not self.in_blocks and not self._is_wanted(rows):
            return None
        if not self.in_blocks:
            middle = max(0, len(rows) - SAMPLE) // 2
            some = rows if len(rows) <= MANY * SAMPLE else rows.take(slice(middle, middle + SAMPLE))
            tried = self._sealed(some)
            enough = PACKED_PAYS * tried.nbytes, tried.nbytes
            if rows.data is None:
                enough = PAYS * tried.nbytes, tried.nbytes + SAVED * len(some)
            if some.nbytes < max(enough):
                return None
            if some is rows:
                return self.budget.fitted(tried)
        return self.seal(rows)

    def _is_wanted(self, rows: RowBlock) -> bool:
        """Packed rows that every window reads again are in blocks only where these are computed on."""
        return self.folded is None or bool(self.folded(rows))

    def seal(self, rows: RowBlock) -> RowBlock:
        return self.budget.fitted(self._sealed(rows))

    def _sealed(self, rows: RowBlock) -> RowBlock:
        """Whole rows are looked up at random. Unless blocks are asked for, or may go to the disk, they are packed: a
        look at one costs little more than it did before, while one into blocks reads all of a block.
        """
        arranged = rows if self.arrange is None else self.arrange(rows)
        if rows.data is not None and not self.in_blocks:
            return arranged.sealed_in_place()
        folded = () if self.folded is None else self.folded(arranged)
        return arranged.sealed(self.natures, self.block_rows, self.plans, folded, self.budget.cache)

    def seal_whole(self, rows: pa.RecordBatch) -> SealedRows:
        """Whole rows without columns of numbers, as `seal` has them."""
        block_rows = self.block_rows if self.in_blocks else None
        return self.budget.fitted(SealedRows.of(rows, block_rows, self.budget.cache))

    def of_fewer(self) -> Sealing:
        """The same for rows of which some are looked up in all blocks at once, so that there should be few blocks."""
        return self if self.is_asked else replace(self, least=FEWER * self.least)

    def restored(self, rows: SealedRows) -> SealedRows:
        """Rows in blocks that were saved, as `seal_whole` would have made them of what they were."""
        return self.budget.fitted(rows) if self.in_blocks else SealedRows.of(rows.batch(), None)

    def having(
        self,
        natures: Mapping[str, Nature],
        arrange: Callable[[RowBlock], RowBlock] | None = None,
        folded: Callable[[RowBlock], Collection[str]] | None = None,
    ) -> Sealing:
        """The same for rows of a certain kind."""
        return replace(self, natures=natures, arrange=arrange, folded=folded, plans={})

    def called(self, titles: Mapping[str, str]) -> Sealing:
        """The same for rows of which some columns have names that people gave them."""
        return replace(self, titles={**TITLES, **titles})


def sealing_of(compression: Compression) -> Sealing | None:
    """How a query that was asked for with this keeps its rows; None: as they are."""
    if compression.mode is CompressionMode.OFF:
        return None
    is_asked = compression.mode is CompressionMode.BLOCKS
    return Sealing(BLOCK_ROWS if is_asked else LEAST_ROWS, BLOCK_ROWS, is_asked=is_asked)
