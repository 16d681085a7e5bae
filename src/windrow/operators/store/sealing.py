"""When rows that are kept go into coded blocks, and how."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from windrow.operators.compression.coded_column import Nature
from windrow.operators.store.budget import Budget
from windrow.operators.store.row_block import Plans, RowBlock
from windrow.plan.compression import Compression, CompressionMode

BLOCK_ROWS = 1024
"""Values of a block, each coded by itself: what one look into a column has to decode."""
LEAST_ROWS, MOST_ROWS = 1 << 12, 1 << 17
"""Rows that are sealed at once, where nobody asked for blocks: the more there are already, the more may wait."""
PAYS, SAMPLE = 1.5, 1 << 14
"""Rows are sealed where some of them take so many times less then, and"""
SAVED = 4
"""so many bytes less for each."""
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

    plans: Plans = field(default_factory=dict)
    """What was decided for the blocks that were sealed last."""

    folded: Callable[[RowBlock], Collection[str]] | None = None
    """Which columns of rows are to be folded, and laid out for that."""

    is_asked: bool = False
    """Whether somebody asked for blocks, so that rows are sealed even where it saves little."""

    def wants(self, waiting: int, sealed: int) -> bool:
        """Whether it is time to seal the rows that wait."""
        return waiting >= max(self.least, min(MOST_ROWS, sealed // SHARE))

    def sealed_if_it_pays(self, rows: RowBlock) -> RowBlock | None:
        """Sealed rows; None where, by some of them, they take not so much less that it is worth it."""
        if not (self.is_asked or self.budget.limit is not None):
            middle = max(0, len(rows) - SAMPLE) // 2
            some = rows if len(rows) <= SAMPLE else rows.take(slice(middle, middle + SAMPLE))
            tried = self._coded(some)
            if some.nbytes < max(PAYS * tried.nbytes, tried.nbytes + SAVED * len(some)):
                return None
            if some is rows:
                return self.budget.fitted(tried)
        return self.seal(rows)

    def seal(self, rows: RowBlock) -> RowBlock:
        return self.budget.fitted(self._coded(rows))

    def _coded(self, rows: RowBlock) -> RowBlock:
        arranged = rows if self.arrange is None else self.arrange(rows)
        folded = () if self.folded is None else self.folded(arranged)
        return arranged.sealed(self.natures, self.block_rows, self.plans, folded)

    def having(
        self,
        natures: Mapping[str, Nature],
        arrange: Callable[[RowBlock], RowBlock] | None = None,
        folded: Callable[[RowBlock], Collection[str]] | None = None,
    ) -> Sealing:
        """The same for rows of a certain kind."""
        return replace(self, natures=natures, arrange=arrange, folded=folded, plans={})


def sealing_of(compression: Compression) -> Sealing | None:
    """How a query that was asked for with this keeps its rows; None: as they are."""
    if compression.mode is CompressionMode.OFF:
        return None
    is_asked = compression.mode is CompressionMode.BLOCKS
    return Sealing(BLOCK_ROWS if is_asked else LEAST_ROWS, BLOCK_ROWS, is_asked=is_asked)
