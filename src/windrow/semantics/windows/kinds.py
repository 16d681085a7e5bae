"""Window kinds: what users ask for, as frozen values in units of the windowing attribute.

Each kind has three functions in its own module of this folder: `windows`, `extent` (window -> rows) and
`wids` (row -> windows). Intervals are half open `[start, end)`; slide-by-tuple windows are `(t - range, t]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class Context(Enum):
    """What must be known besides the row itself to say which windows it belongs to."""

    FREE = "context free"
    BACKWARD = "backward context"
    FORWARD = "forward context"


MOST_EMPTY = 1_000_000
"""How many empty windows in a row EMIT EMPTY reports of a group unless it is told otherwise."""


class Emit(Enum):
    """Which windows are reported."""

    NONEMPTY = "nonempty"
    EMPTY = "empty"
    COMPLETE = "complete"


class Align(Enum):
    """Which bounds of sliding windows lie at `origin + k * slide`; the same where the slide divides the range."""

    START = "start"
    END = "end"


@dataclass(frozen=True)
class Sliding:
    """`[end - range, end)` for every `end = origin + k * slide`; tumbling when range equals slide."""

    attribute: str
    range: int
    slide: int
    origin: int = 0
    context = Context.FREE

    @staticmethod
    def aligned(attribute: str, range: int, slide: int, origin: int = 0, align: Align = Align.END) -> Sliding:
        """The windows whose starts, or whose ends, lie at `origin + k * slide`.

        >>> Sliding.aligned("ts", range=10, slide=4, align=Align.START)
        Sliding(attribute='ts', range=10, slide=4, origin=2)
        """
        shift = range % slide if align is Align.START and slide else 0
        return Sliding(attribute, range, slide, origin + shift)

    @property
    def phases(self) -> tuple[int, int]:
        """How far after the multiples of the slide windows start, and how far after them they end."""
        return (self.origin - self.range) % self.slide, self.origin % self.slide

    @property
    def is_tumbling(self) -> bool:
        return self.range == self.slide

    @property
    def loses_rows(self) -> bool:
        """Rows between windows belong to none."""
        return self.slide > self.range


@dataclass(frozen=True)
class Landmark:
    """Everything below `end` for every `end = origin + k * slide`, up to the first window that holds every row."""

    attribute: str
    slide: int
    origin: int = 0
    context = Context.FREE


@dataclass(frozen=True)
class Session:
    """Rows at most `gap` apart share a window; it ends `gap` after its last row."""

    attribute: str
    gap: int
    context = Context.FORWARD


@dataclass(frozen=True)
class RowsWindow:
    """The last `range` rows, every `slide` rows; per `partition` when columns are named.

    Rows are counted by arrival, or by the attribute `order` (ties by arrival), which must be the progressing one.
    """

    range: int
    slide: int
    partition: tuple[str, ...] = ()
    order: str | None = None

    @property
    def context(self) -> Context:
        if self.order is not None:
            return Context.FORWARD
        return Context.BACKWARD if self.partition else Context.FREE


class SlideBy(Enum):
    """Which order counts the rows of a slide-by-tuple window."""

    ARRIVAL = "row_num"
    RANK = "rank"


@dataclass(frozen=True)
class SlideByTuple:
    """`(t - range, t]` for every `every`-th row, counted by arrival or by rank of the attribute.

    Per `partition` when columns are named: its rows are counted alone, and they alone are in its windows. Otherwise a
    row closes a window for all groups.
    """

    attribute: str
    range: int
    every: int = 1
    by: SlideBy = SlideBy.ARRIVAL
    partition: tuple[str, ...] = ()
    context = Context.FORWARD


Window: TypeAlias = Sliding | Landmark | Session | RowsWindow | SlideByTuple
