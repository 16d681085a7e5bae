"""Early rows: those further ahead than their stream's lead allows, as a broken clock makes them.

An early row moves no progress, is in no window and joins nothing. It is counted, and given out where late rows are.
The filter comes first: a row that does not pass is filtered and never early; progress it moves no more for that.

    lead 10     rows 1  4  9999  7  16        high 1  4  4  7  16       9999 is early: it is more than 10 above 4
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

from windrow.semantics.progress.policies import LIMIT, START, Row


@dataclass(frozen=True)
class EarlyRow:
    """A row that is early, by how much more than what it is measured against."""

    row: Row
    by: int


def ahead(
    values: Iterable[int], lead: int, clock: int | None = None, partitions: Iterable[Hashable] | None = None
) -> Iterator[int | None]:
    """How far each value that is early is ahead, None for the others; the slow namesake of the kernel.

    A value is ahead of the largest one before it that was not early, and the first one sets that; or of the `clock`.
    Whatever lies beyond the limit of all values is early, however long the lead. Where values are of several
    `partitions`, each is measured against its own: the first of a partition sets what the others of it are ahead of.

    >>> list(ahead([1, 4, 9999, 7, 16], lead=10))
    [None, None, 9995, None, None]
    >>> list(ahead([1, 4, 9999, 7, 16], lead=10, clock=5))
    [None, None, 9994, None, 11]
    >>> list(ahead([1, 500, 9999, 7, 505], lead=10, partitions="abaab"))
    [None, None, 9998, None, None]
    """
    highs: dict[Hashable, int] = {}
    for value, partition in zip(values, repeat(None) if partitions is None else partitions, strict=False):
        high = highs.get(partition, START)
        against = high if clock is None else clock
        if value >= LIMIT or (against != START and value > against + lead):
            yield value - (LIMIT - 1 if against == START else against)
        else:
            yield None
            highs[partition] = max(high, value)


def reach(values: Sequence[int], lead: int, high: int = START) -> int:
    """Up to where the values of a micro-batch are not early: which of them came first is not defined.

    From `high`, the largest value before, values in ascending order are taken while each is at most `lead` above the
    one before it. Without one before, the stretch of values that has the most of them is where it begins, the lowest
    of several.

    >>> reach([25, 4, 9999, 7, 16, 25], lead=10, high=1)
    25
    >>> reach([-500, 4, 9999, 7], lead=10)
    7
    """
    stretches = _stretches(sorted(value for value in values if value < LIMIT), lead)
    if high == START and stretches:
        return max(stretches, key=len)[-1]
    for stretch in stretches:
        if stretch[0] <= high + lead:
            high = max(high, stretch[-1])
    return high


def _stretches(values: Sequence[int], lead: int) -> list[list[int]]:
    """Sorted values, cut where one is more than `lead` above its predecessor."""
    found: list[list[int]] = []
    for value in values:
        if found and value <= found[-1][-1] + lead:
            found[-1].append(value)
        else:
            found.append([value])
    return found
