"""Which times of the other side a row can meet, and so what a join promises of its results.

Joint punctuation are promises about both times of a result together. Once the right side has promised more than `v`,
all right rows at `v` are there: a result to come with that right time needs a left row to come. So for the group of
results with right time `v` the bound of the left side itself holds, without the window's length that the promise for
all results must allow for. The same with sides swapped. Windows above that group by the other time close such a group
by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import of_type
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import GroupPunctuations
from windrow.plan.nodes import Join, JoinTime
from windrow.plan.types.kinds import Shape
from windrow.semantics.joins import LEFT, RIGHT, Between, LastRows, SameWindow, TimeWindow
from windrow.semantics.progress.policies import END, START


def met_by(window: TimeWindow, side: int, times: Integers) -> tuple[Integers, Integers]:
    """The first and the last time of the other side that rows of `side` meet."""
    of: Callable[[Any], tuple[Any, Any]] = window.right_of if side == LEFT else window.left_of
    first, last = (np.full(len(times), end) if isinstance(end, int) else end for end in of(times))
    return first, last


def first_met(window: TimeWindow, side: int, bound: int) -> int:
    """The first time of the other side that a row of `side` at `bound` meets; the ends of time meet each other."""
    if bound in (START, END):
        return bound
    first, _ = window.right_of(bound) if side == LEFT else window.left_of(bound)
    return min(max(first, START), END)


def stay_of(window: Between | SameWindow, side: int) -> int:
    """How long after its own time a row of a side can meet one to come; at least one unit."""
    if isinstance(window, SameWindow):
        return window.length
    return max(window.high if side == LEFT else -window.low, 1)


def promise(node: Join, bounds: tuple[int, int], least: tuple[int, int]) -> int:
    """The least time of a result to come.

    `bounds` are the promises of the two sides, `least` the smallest time of each side that a result to come can have.
    """
    if node.time is JoinTime.LEFT:
        return least[LEFT]
    if node.time is JoinTime.RIGHT:
        return least[RIGHT]
    if node.time is JoinTime.EARLIER:
        return min(least)
    # One of the two rows of a pair to come is yet to come itself. A row without a partner has its own time only.
    pairs = max(min(bounds), *least)
    return min([pairs, *(least[side] for side in node.kind.outer_sides)])


class Joint:
    """The different times of the other side of which results may still come."""

    def __init__(self, name: str, kind: pa.DataType, own: int) -> None:
        self.name = name
        self.kind = kind
        self.own = own
        self.other = 1 - own
        self.values: Integers = np.empty(0, np.int64)

    @staticmethod
    def of(node: Join, shapes: tuple[Shape, Shape], passes: frozenset[str]) -> Joint | None:
        """None where no window above groups by the time that progress is not on."""
        if node.time not in (JoinTime.LEFT, JoinTime.RIGHT) or isinstance(node.window, LastRows):
            return None
        own = LEFT if node.time is JoinTime.LEFT else RIGHT
        shape = shapes[1 - own]
        names = (c.name for c in node.columns if c.side != own and c.source == shape.time and c.name in passes)
        name = next(names, None)
        return None if name is None else Joint(name, shape.schema.field(str(shape.time)).type, own)

    def note(self, times: Integers) -> None:
        """Rows of the other side came."""
        self.values = np.union1d(self.values, times)

    def promises(self, before: tuple[int, int], now: tuple[int, int], promised: int) -> Iterator[GroupPunctuations]:
        """What holds since the bounds of the sides moved, beyond what is promised of all results."""
        start = before[self.other] if before[self.own] == now[self.own] else START
        times = self.values[(self.values >= start) & (self.values < now[self.other])]
        if len(times) and now[self.own] > promised:
            groups = pa.record_batch([of_type(self._stored(times), self.kind)], names=[self.name])
            yield GroupPunctuations(groups, np.full(len(times), now[self.own]))

    def _stored(self, times: Integers) -> Integers:
        """Times in the unit of their column."""
        unit = self.kind.unit if pa.types.is_timestamp(self.kind) else "us"
        return times * 1000 if unit == "ns" else times // {"us": 1, "ms": 1_000, "s": 1_000_000}[unit]

    def forget_below(self, limit: int) -> None:
        """Results with these times have all come, and that has been promised."""
        self.values = self.values[self.values >= limit]
