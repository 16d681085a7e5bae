"""Landmark windows: everything below `end = origin + k * slide`; `k` is the window's id.

Thesis section 5.1.4. The windows run from the first that holds a row up to and including the first that holds every
row; beyond it every window would repeat the same answer. Their start is unbounded, reported as None.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.semantics.progress.policies import Row
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.windows.kinds import Landmark


def interval(window: Landmark, wid: int) -> tuple[None, int]:
    return None, window.origin + wid * window.slide


def first_wid(window: Landmark, t: int) -> int:
    """The first window that holds the value `t`.

    >>> first_wid(Landmark("ts", slide=10), 9), first_wid(Landmark("ts", slide=10), 10)
    (1, 2)
    """
    return (t - window.origin) // window.slide + 1


def windows(window: Landmark, rows: Sequence[Row]) -> list[int]:
    """The ids from the first window that holds a row to the first that holds all of them."""
    firsts = [first_wid(window, value_of(row, window.attribute)) for row in rows]
    return list(range(min(firsts), max(firsts) + 1)) if firsts else []


def extent(window: Landmark, rows: Sequence[Row], wid: int) -> list[int]:
    """The positions of the rows in a window, in order of arrival."""
    _, end = interval(window, wid)
    return [i for i, row in enumerate(rows) if value_of(row, window.attribute) < end]


def wids(window: Landmark, rows: Sequence[Row], index: int) -> list[int]:
    """The windows that hold the row at `index`; the inverse of `extent`."""
    first = first_wid(window, value_of(rows[index], window.attribute))
    return [wid for wid in windows(window, rows) if wid >= first]
