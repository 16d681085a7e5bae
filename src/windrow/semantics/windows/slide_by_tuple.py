"""Slide-by-tuple windows: `(t - range, t]` for every `every`-th row, by arrival or by rank of the attribute.

Thesis section 5.1.5. A window's id is `(t, position)`: the value and the arrival position of the row that closes it,
so rows with equal values close a window each; those windows hold the same rows, because the extent goes by value.
By rank, rows are counted in order of the attribute, ties in order of arrival; which of the tied rows closes a
window cannot be seen in the answer. Where columns partition the window, each partition counts its own rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.semantics.progress.policies import Row
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.windows.kinds import SlideBy, SlideByTuple
from windrow.semantics.windows.last_rows import partition_of


def interval(window: SlideByTuple, wid: tuple[int, int]) -> tuple[int, int]:
    """The start (excluded) and the end (included) of a window."""
    return wid[0] - window.range, wid[0]


def windows(window: SlideByTuple, rows: Sequence[Row]) -> list[tuple[int, int]]:
    """The windows in order of the attribute, ties by arrival.

    >>> rows = [{"ts": 5}, {"ts": 3}, {"ts": 9}, {"ts": 4}]
    >>> windows(SlideByTuple("ts", range=2, every=2), rows)
    [(3, 1), (4, 3)]
    >>> windows(SlideByTuple("ts", range=2, every=2, by=SlideBy.RANK), rows)
    [(4, 3), (9, 2)]
    """
    arrived = [(value_of(row, window.attribute), i) for i, row in enumerate(rows)]
    partitions: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for t, i in sorted(arrived) if window.by is SlideBy.RANK else arrived:
        partitions.setdefault(partition_of(window, rows[i]), []).append((t, i))
    return sorted(wid for counted in partitions.values() for wid in counted[window.every - 1 :: window.every])


def holds(window: SlideByTuple, wid: tuple[int, int], t: int) -> bool:
    start, end = interval(window, wid)
    return start < t <= end


def extent(window: SlideByTuple, rows: Sequence[Row], wid: tuple[int, int]) -> list[int]:
    """The positions of the rows in a window, in order of arrival."""
    own = partition_of(window, rows[wid[1]])
    held = (i for i, row in enumerate(rows) if holds(window, wid, value_of(row, window.attribute)))
    return [i for i in held if partition_of(window, rows[i]) == own]


def wids(window: SlideByTuple, rows: Sequence[Row], index: int) -> list[tuple[int, int]]:
    """The windows that hold the row at `index`; the inverse of `extent`."""
    t, own = value_of(rows[index], window.attribute), partition_of(window, rows[index])
    later = (wid for wid in windows(window, rows) if t <= wid[0] < t + window.range)
    return [wid for wid in later if partition_of(window, rows[wid[1]]) == own]
