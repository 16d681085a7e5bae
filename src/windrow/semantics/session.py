"""Session windows over the rows of one group: rows at most `gap` apart share one, whichever way they arrived.

A session's id is `(first, last)`, the smallest and the largest value in it; it ends `gap` after the last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windrow.semantics.moments import value_of
from windrow.semantics.progress import Row
from windrow.semantics.windows import Session


def interval(window: Session, wid: tuple[int, int]) -> tuple[int, int]:
    first, last = wid
    return first, last + window.gap


def sessions_of(window: Session, values: Iterable[int]) -> list[tuple[int, int]]:
    """The sessions that a set of values forms, earliest first.

    >>> sessions_of(Session("ts", gap=5), [20, 1, 6, 12])
    [(1, 6), (12, 12), (20, 20)]
    """
    found: list[tuple[int, int]] = []
    for t in sorted(values):
        if found and t - found[-1][1] <= window.gap:
            found[-1] = (found[-1][0], t)
        else:
            found.append((t, t))
    return found


def windows(window: Session, rows: Sequence[Row]) -> list[tuple[int, int]]:
    """The sessions of one group's rows, earliest first."""
    return sessions_of(window, (value_of(row, window.attribute) for row in rows))


def extent(window: Session, rows: Sequence[Row], wid: tuple[int, int]) -> list[int]:
    """The positions of the rows in a session, in order of arrival."""
    first, last = wid
    return [i for i, row in enumerate(rows) if first <= value_of(row, window.attribute) <= last]


def wids(window: Session, rows: Sequence[Row], index: int) -> list[tuple[int, int]]:
    """The one session that holds the row at `index`; the inverse of `extent`."""
    t = value_of(rows[index], window.attribute)
    return [(first, last) for first, last in windows(window, rows) if first <= t <= last]
