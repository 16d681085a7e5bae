"""Sliding windows: `[end - range, end)` for every `end = origin + k * slide`; `k` is the window's id.

Thesis section 5.1.2, with a fixed origin in place of the smallest value seen, so that ids do not depend on arrival.
Floor division keeps the arithmetic right below the origin.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.semantics.progress.policies import Row
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.windows.kinds import Sliding


def interval(window: Sliding, wid: int) -> tuple[int, int]:
    """The half-open `[start, end)` of a window.

    >>> interval(Sliding("ts", range=10, slide=4), -1)
    (-14, -4)
    """
    end = window.origin + wid * window.slide
    return end - window.range, end


def wids_at(window: Sliding, t: int) -> list[int]:
    """The windows that hold the value `t`, earliest first; none when `t` falls between windows.

    >>> wids_at(Sliding("ts", range=10, slide=4), 5), wids_at(Sliding("ts", range=2, slide=5), 1)
    ([2, 3], [])
    """
    first = (t - window.origin) // window.slide + 1
    last = (t + window.range - window.origin) // window.slide
    return list(range(first, last + 1))


def windows(window: Sliding, rows: Sequence[Row]) -> list[int]:
    """The ids of all windows that hold at least one row, in order."""
    return sorted({wid for row in rows for wid in wids_at(window, value_of(row, window.attribute))})


def extent(window: Sliding, rows: Sequence[Row], wid: int) -> list[int]:
    """The positions of the rows in a window, in order of arrival."""
    start, end = interval(window, wid)
    return [i for i, row in enumerate(rows) if start <= value_of(row, window.attribute) < end]


def wids(window: Sliding, rows: Sequence[Row], index: int) -> list[int]:
    """The windows that hold the row at `index`; the inverse of `extent`."""
    return wids_at(window, value_of(rows[index], window.attribute))
