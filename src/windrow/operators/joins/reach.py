"""Which times of the other side a row can meet, for whole arrays and for bounds."""

from __future__ import annotations

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.semantics.joins import LEFT, AsOf, Between, SameWindow, TimeWindow
from windrow.semantics.progress.policies import END, START


def met_by(window: TimeWindow, side: int, times: Integers) -> tuple[Integers, Integers]:
    """The first and the last time of the other side that rows of `side` meet."""
    if isinstance(window, SameWindow):
        start = window.origin + (times - window.origin) // window.length * window.length
        return start, start + (window.length - 1)
    if isinstance(window, Between):
        low, high = (window.low, window.high) if side == LEFT else (-window.high, -window.low)
        return times + low, times + high
    return _as_of(window, side, times)


def _as_of(window: AsOf, side: int, times: Integers) -> tuple[Integers, Integers]:
    """Where `within` sets no end, the end of all times."""
    is_after = window.forward == (side == LEFT)
    near = int(window.strict)
    if is_after:
        return times + near, np.full(len(times), END) if window.within is None else times + window.within
    return np.full(len(times), START) if window.within is None else times - window.within, times - near


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
