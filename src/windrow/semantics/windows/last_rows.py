"""Windows over the last `range` rows, every `slide` rows; per partition when columns are named.

Rows are numbered 0, 1, ... (in their partition) as they arrive, or by the attribute `order`, ties as they arrive. So
numbered, a row that comes behind the bound has no number: the rows after its place have theirs already.

Window `k` ends after row `(k + 1) * slide - 1` and holds the rows `[(k + 1) * slide - range, (k + 1) * slide)`; the
first windows may hold fewer than `range` rows. A slide that the input ends in the middle of is never reported: its
window has not ended. A window's id is `(k, partition values)` (thesis section 5.1.3); the partition values are empty
when no column is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windrow.semantics.progress.policies import Row
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.scalars.ordering import normal
from windrow.semantics.windows.kinds import RowsWindow, SlideByTuple


def interval(window: RowsWindow, wid: tuple[int, tuple[Any, ...]]) -> tuple[int, int]:
    """The half-open interval of row numbers, below zero where the window reaches before the first row.

    >>> interval(RowsWindow(range=5, slide=2), (0, ()))
    (-3, 2)
    """
    end = (wid[0] + 1) * window.slide
    return end - window.range, end


def partition_of(window: RowsWindow | SlideByTuple, row: Row) -> tuple[Any, ...]:
    return tuple(normal(row[column]) for column in window.partition)


def _numbered(window: RowsWindow, rows: Sequence[Row]) -> list[tuple[tuple[Any, ...], int]]:
    """Each row's partition and its number in it."""
    members: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        members.setdefault(partition_of(window, row), []).append(i)
    numbered: dict[int, tuple[tuple[Any, ...], int]] = {}
    for partition, places in members.items():
        if window.order is not None:
            places.sort(key=lambda i: value_of(rows[i], str(window.order)))  # stable: ties stay as they came
        numbered.update({i: (partition, number) for number, i in enumerate(places)})
    return [numbered[i] for i in range(len(rows))]


def windows(window: RowsWindow, rows: Sequence[Row]) -> list[tuple[int, tuple[Any, ...]]]:
    """The windows that ended, partition by partition in order of first arrival."""
    sizes: dict[tuple[Any, ...], int] = {}
    for partition, number in _numbered(window, rows):
        sizes[partition] = max(sizes.get(partition, 0), number + 1)
    return [(k, partition) for partition, size in sizes.items() for k in range(size // window.slide)]


def extent(window: RowsWindow, rows: Sequence[Row], wid: tuple[int, tuple[Any, ...]]) -> list[int]:
    """The positions of the rows in a window, in order of arrival."""
    start, end = interval(window, wid)
    numbered = enumerate(_numbered(window, rows))
    return [i for i, (partition, number) in numbered if partition == wid[1] and start <= number < end]


def wids(window: RowsWindow, rows: Sequence[Row], index: int) -> list[tuple[int, tuple[Any, ...]]]:
    """The windows that hold the row at `index`; the inverse of `extent`."""
    partition, number = _numbered(window, rows)[index]
    last = (number + window.range) // window.slide - 1
    held = range(number // window.slide, last + 1)
    ended = windows(window, rows)
    return [(k, partition) for k in held if (k, partition) in ended]
