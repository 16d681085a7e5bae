"""Window kinds: what users ask for, as frozen values in units of the windowing attribute, and what that means.

Each kind has the three functions of the thesis' framework (section 5.1.1): `windows`, the ids of the windows that a set
of rows gives rise to (for sessions: the rows of one group), `extent`, the positions of the rows in a window in order of
arrival, and `wids`, the windows that hold the row at a position. Law: `wid in window.wids(rows, i)` exactly when
`i in window.extent(rows, wid)`. `interval` is the start (None: unbounded) and the end of a window, as results report
them: half open, `[start, end)`, but for slide-by-tuple windows, which are `(t - range, t]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from windrow.semantics.progress.policies import Row
from windrow.semantics.scalars.moments import value_of
from windrow.semantics.scalars.ordering import normal

WindowId: TypeAlias = Any
"""What a kind names its windows by: a whole number, or a tuple that starts with whole numbers; always ordered."""
Interval: TypeAlias = tuple[int | None, int]
Partition: TypeAlias = tuple[Any, ...]

MOST_EMPTY = 1_000_000
"""How many empty windows in a row EMIT EMPTY reports of a group unless the query says otherwise."""


class Emit(Enum):
    """Which windows are reported."""

    NONEMPTY = "nonempty"
    EMPTY = "empty"
    COMPLETE = "complete"


class ResultKind(Enum):
    """What a result of a query with early results is."""

    EARLY = "early"
    RETRACT = "retract"
    FINAL = "final"


class Align(Enum):
    """Which bounds of sliding windows lie at `origin + k * slide`; the same where the slide divides the range."""

    START = "start"
    END = "end"


@dataclass(frozen=True)
class Sliding:
    """`[end - range, end)` for every `end = origin + k * slide`; tumbling when range equals slide.

    `k` is the window's id. The origin is fixed, where the thesis (5.1.2) has the smallest value seen, so that ids do
    not depend on arrival. Floor division keeps the arithmetic right below the origin.
    """

    attribute: str
    range: int
    slide: int
    origin: int = 0

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

    def interval(self, wid: WindowId) -> tuple[int, int]:
        end = self.origin + wid * self.slide
        return end - self.range, end

    def wids_at(self, t: int) -> list[int]:
        """The windows that hold the value `t`, earliest first; none when `t` falls between windows.

        >>> Sliding("ts", range=10, slide=4).wids_at(5), Sliding("ts", range=2, slide=5).wids_at(1)
        ([2, 3], [])
        """
        first = (t - self.origin) // self.slide + 1
        last = (t + self.range - self.origin) // self.slide
        return list(range(first, last + 1))

    def windows(self, rows: Sequence[Row]) -> list[WindowId]:
        return sorted({wid for row in rows for wid in self.wids_at(value_of(row, self.attribute))})

    def extent(self, rows: Sequence[Row], wid: WindowId) -> list[int]:
        start, end = self.interval(wid)
        return [i for i, row in enumerate(rows) if start <= value_of(row, self.attribute) < end]

    def wids(self, rows: Sequence[Row], index: int) -> list[WindowId]:
        return self.wids_at(value_of(rows[index], self.attribute))


@dataclass(frozen=True)
class Landmark:
    """Everything below `end` for every `end = origin + k * slide`; `k` is the window's id (thesis 5.1.4).

    The windows run from the first that holds a row up to and including the first that holds every row; beyond it every
    window would repeat the same answer.
    """

    attribute: str
    slide: int
    origin: int = 0

    def interval(self, wid: WindowId) -> tuple[None, int]:
        return None, self.origin + wid * self.slide

    def first_wid(self, row: Row) -> int:
        return (value_of(row, self.attribute) - self.origin) // self.slide + 1

    def windows(self, rows: Sequence[Row]) -> list[WindowId]:
        firsts = [self.first_wid(row) for row in rows]
        return list(range(min(firsts), max(firsts) + 1)) if firsts else []

    def extent(self, rows: Sequence[Row], wid: WindowId) -> list[int]:
        _, end = self.interval(wid)
        return [i for i, row in enumerate(rows) if value_of(row, self.attribute) < end]

    def wids(self, rows: Sequence[Row], index: int) -> list[WindowId]:
        first = self.first_wid(rows[index])
        return [wid for wid in self.windows(rows) if wid >= first]


@dataclass(frozen=True)
class Session:
    """Rows at most `gap` apart share a window, whichever way they arrived; it ends `gap` after its last row.

    A session's id is `(first, last)`, the smallest and the largest value in it.
    """

    attribute: str
    gap: int

    def interval(self, wid: WindowId) -> tuple[int, int]:
        return wid[0], wid[1] + self.gap

    def of_values(self, values: Iterable[int]) -> list[tuple[int, int]]:
        """The sessions that a set of values forms, earliest first.

        >>> Session("ts", gap=5).of_values([20, 1, 6, 12])
        [(1, 6), (12, 12), (20, 20)]
        """
        found: list[tuple[int, int]] = []
        for t in sorted(values):
            if found and t - found[-1][1] <= self.gap:
                found[-1] = (found[-1][0], t)
            else:
                found.append((t, t))
        return found

    def windows(self, rows: Sequence[Row]) -> list[WindowId]:
        return self.of_values(value_of(row, self.attribute) for row in rows)

    def extent(self, rows: Sequence[Row], wid: WindowId) -> list[int]:
        return [i for i, row in enumerate(rows) if wid[0] <= value_of(row, self.attribute) <= wid[1]]

    def wids(self, rows: Sequence[Row], index: int) -> list[WindowId]:
        t = value_of(rows[index], self.attribute)
        return [(first, last) for first, last in self.windows(rows) if first <= t <= last]


@dataclass(frozen=True)
class RowsWindow:
    """The last `range` rows, every `slide` rows; per `partition` when columns are named.

    Rows are numbered 0, 1, ... (in their partition) as they arrive, or by the attribute `order` (ties by arrival),
    which must be the progressing one. So numbered, a row that comes behind the bound has no number: the rows after its
    place have theirs already.

    Window `k` ends after row `(k + 1) * slide - 1`; the first windows may hold fewer than `range` rows. A slide that
    the input ends in the middle of is never reported: its window has not ended. A window's id is `(k, partition
    values)` (thesis 5.1.3), and its interval one of row numbers, below zero where it reaches before the first row.
    """

    range: int
    slide: int
    partition: tuple[str, ...] = ()
    order: str | None = None

    def interval(self, wid: WindowId) -> tuple[int, int]:
        end = (wid[0] + 1) * self.slide
        return end - self.range, end

    def _numbered(self, rows: Sequence[Row]) -> list[tuple[Partition, int]]:
        """Each row's partition and its number in it."""
        members: dict[Partition, list[int]] = {}
        for i, row in enumerate(rows):
            members.setdefault(partition_of(self, row), []).append(i)
        numbered: dict[int, tuple[Partition, int]] = {}
        for partition, places in members.items():
            if self.order is not None:
                places.sort(key=lambda i: value_of(rows[i], str(self.order)))  # stable: ties stay as they came
            numbered.update({i: (partition, number) for number, i in enumerate(places)})
        return [numbered[i] for i in range(len(rows))]

    def windows(self, rows: Sequence[Row]) -> list[WindowId]:
        """Those that ended, partition by partition in order of first arrival."""
        sizes: dict[Partition, int] = {}
        for partition, number in self._numbered(rows):
            sizes[partition] = max(sizes.get(partition, 0), number + 1)
        return [(k, partition) for partition, size in sizes.items() for k in range(size // self.slide)]

    def extent(self, rows: Sequence[Row], wid: WindowId) -> list[int]:
        start, end = self.interval(wid)
        numbered = enumerate(self._numbered(rows))
        return [i for i, (partition, number) in numbered if partition == wid[1] and start <= number < end]

    def wids(self, rows: Sequence[Row], index: int) -> list[WindowId]:
        partition, number = self._numbered(rows)[index]
        held = range(number // self.slide, (number + self.range) // self.slide)
        ended = self.windows(rows)
        return [(k, partition) for k in held if (k, partition) in ended]


class SlideBy(Enum):
    """Which order counts the rows of a slide-by-tuple window."""

    ARRIVAL = "row_num"
    RANK = "rank"


@dataclass(frozen=True)
class SlideByTuple:
    """`(t - range, t]` for every `every`-th row, counted by arrival or by rank of the attribute (thesis 5.1.5).

    Per `partition` when columns are named: its rows are counted alone, and they alone are in its windows. Otherwise a
    row closes a window for all groups.

    A window's id is `(t, position)`: the value and the arrival position of the row that closes it, so rows with equal
    values close a window each; those windows hold the same rows, because the extent goes by value. By rank, rows are
    counted in order of the attribute, ties in order of arrival; which of the tied rows closes a window cannot be seen
    in the answer.
    """

    attribute: str
    range: int
    every: int = 1
    by: SlideBy = SlideBy.ARRIVAL
    partition: tuple[str, ...] = ()

    def interval(self, wid: WindowId) -> tuple[int, int]:
        return wid[0] - self.range, wid[0]

    def windows(self, rows: Sequence[Row]) -> list[WindowId]:
        """In order of the attribute, ties by arrival.

        >>> rows = [{"ts": 5}, {"ts": 3}, {"ts": 9}, {"ts": 4}]
        >>> SlideByTuple("ts", range=2, every=2).windows(rows)
        [(3, 1), (4, 3)]
        >>> SlideByTuple("ts", range=2, every=2, by=SlideBy.RANK).windows(rows)
        [(4, 3), (9, 2)]
        """
        arrived = [(value_of(row, self.attribute), i) for i, row in enumerate(rows)]
        partitions: dict[Partition, list[tuple[int, int]]] = {}
        for t, i in sorted(arrived) if self.by is SlideBy.RANK else arrived:
            partitions.setdefault(partition_of(self, rows[i]), []).append((t, i))
        return sorted(wid for counted in partitions.values() for wid in counted[self.every - 1 :: self.every])

    def extent(self, rows: Sequence[Row], wid: WindowId) -> list[int]:
        (start, end), own = self.interval(wid), partition_of(self, rows[wid[1]])
        held = (i for i, row in enumerate(rows) if start < value_of(row, self.attribute) <= end)
        return [i for i in held if partition_of(self, rows[i]) == own]

    def wids(self, rows: Sequence[Row], index: int) -> list[WindowId]:
        t, own = value_of(rows[index], self.attribute), partition_of(self, rows[index])
        later = (wid for wid in self.windows(rows) if t <= wid[0] < t + self.range)
        return [wid for wid in later if partition_of(self, rows[wid[1]]) == own]


Window: TypeAlias = Sliding | Landmark | Session | RowsWindow | SlideByTuple


def partition_of(window: RowsWindow | SlideByTuple, row: Row) -> Partition:
    return tuple(normal(row[column]) for column in window.partition)


def closes_at(window: Window, wid: WindowId) -> int:
    """The least punctuation that closes a window.

    That is the end of `[start, end)`. A session still takes a row exactly at its end, and a slide-by-tuple window
    includes its end, so both close one unit later.
    """
    _, end = window.interval(wid)
    return end + isinstance(window, (Session, SlideByTuple))
