"""Where in time windows may end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.semantics.progress.policies import END, LIMIT, START


@dataclass(frozen=True)
class Grid:
    """Where windows above may end: origin + k * step. Punctuations in between say nothing to them."""

    origin: int = 0
    step: int = 1
    pace: int = 1
    """How far one source may be read ahead of another; at least a step."""
    rows: int = 1
    """How many rows of one source are read at least before it is another's turn: where order decides nothing."""
    by_arrival: bool = False
    """Rows are counted as they come, so that it matters which source is read first."""
    together: bool = False
    """Rows that came under different bounds may come in one batch, which has the bound of each."""
    keys: frozenset[str] = frozenset()
    """The columns that windows above group by: promises for groups of other columns say nothing to them."""

    @property
    def paced(self) -> Grid:
        return Grid(self.origin, max(self.step, self.pace))

    def refined(self, other: Grid) -> Grid:
        """Where windows of either may end."""
        step = gcd(self.step, other.step, self.origin - other.origin)
        return replace(self, step=step, together=self.together and other.together)

    def round_down(self, bound: int) -> int:
        if bound in (START, END):
            return bound
        return self.origin + (bound - self.origin) // self.step * self.step

    def rounded_down(self, bounds: Integers) -> Integers:
        """The same for many; whatever lies beyond all times is as good as the limit."""
        return self.origin + (np.clip(bounds, -LIMIT, LIMIT) - self.origin) // self.step * self.step
