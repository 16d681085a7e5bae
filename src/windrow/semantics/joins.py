"""Window joins: which pairs of rows join, by definition, regardless of the order in which they come.

A left and a right row join when their window condition and the predicate hold. The condition is given as the times of
the other side that a row can meet: `right_of(t)` for a left row, `left_of(t)` for a right one, both ends included.
Both ends grow with `t`, which is all that an algorithm needs to know which rows can still meet one to come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from windrow.semantics.progress.policies import END, START
from windrow.semantics.scalars.ordering import null_last_key

Row: TypeAlias = dict[str, Any]
Timed: TypeAlias = tuple[int, Row]
Pair: TypeAlias = tuple[Row | None, Row | None]
Predicate: TypeAlias = Callable[[Row, Row], bool | None]
Pairs: TypeAlias = list[Pair]
LEFT, RIGHT = 0, 1


class JoinKind(Enum):
    """What becomes of rows without a partner, and how often those with one are given."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def outer_sides(self) -> tuple[int, ...]:
        """The sides whose rows are given, with NULLs, when they have no partner."""
        return {JoinKind.LEFT: (LEFT,), JoinKind.RIGHT: (RIGHT,), JoinKind.FULL: (LEFT, RIGHT)}.get(self, ())

    @property
    def is_half(self) -> bool:
        """Only rows of the left side come out, each at most once."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)


@dataclass(frozen=True)
class Between:
    """`low <= right time - left time <= high`: sliding windows, and intervals as SQL writes them."""

    low: int
    high: int

    @staticmethod
    def of_ranges(left: int, right: int) -> Between:
        """A row is in its stream's window for `range` units: `-right < right time - left time < left`.

        >>> Between.of_ranges(3, 2)
        Between(low=-1, high=2)
        """
        return Between(1 - right, left - 1)

    def right_of(self, t: int) -> tuple[int, int]:
        return t + self.low, t + self.high

    def left_of(self, t: int) -> tuple[int, int]:
        return t - self.high, t - self.low


@dataclass(frozen=True)
class SameWindow:
    """Both rows in the same tumbling window of `length`."""

    length: int
    origin: int = 0

    def right_of(self, t: int) -> tuple[int, int]:
        start = self.origin + (t - self.origin) // self.length * self.length
        return start, start + self.length - 1

    def left_of(self, t: int) -> tuple[int, int]:
        return self.right_of(t)


@dataclass(frozen=True)
class LastRows:
    """By arrival: each row meets the last rows of the other side, `left` and `right` of them, that came before it."""

    left: int
    right: int


@dataclass(frozen=True)
class AsOf:
    """Each left row meets one right row: the last at or before its time, or (`forward`) the first at or after it.

    `strict` leaves out equal times; `within` says how far apart the two may be. Of several right rows of that time
    the greatest by its columns from left to right is meant, so that arrival decides nothing.
    """

    forward: bool = False
    strict: bool = False
    within: int | None = None

    def right_of(self, t: int) -> tuple[int, int]:
        return self._reach(t, self.forward)

    def left_of(self, t: int) -> tuple[int, int]:
        return self._reach(t, not self.forward)

    def _reach(self, t: int, forward: bool) -> tuple[int, int]:
        if forward:
            return t + self.strict, END if self.within is None else t + self.within
        return START if self.within is None else t - self.within, t - self.strict


TimeWindow: TypeAlias = Between | SameWindow | AsOf
JoinWindow: TypeAlias = TimeWindow | LastRows


def join(
    left: Sequence[Timed], right: Sequence[Timed], window: TimeWindow, kind: JoinKind, predicate: Predicate
) -> Pairs:
    """The answer: pairs of rows, None where a side has no partner or does not come out."""
    met: list[tuple[int, int]] = []
    for i, (t, row) in enumerate(left):
        low, high = window.right_of(t)
        partners = [j for j, (u, other) in enumerate(right) if low <= u <= high and predicate(row, other) is True]
        met += [(i, j) for j in (_nearest(window, partners, right) if isinstance(window, AsOf) else partners)]
    return list(with_partners([row for _, row in left], [row for _, row in right], met, kind))


def _nearest(window: AsOf, partners: list[int], right: Sequence[Timed]) -> list[int]:
    sign = -1 if window.forward else 1
    ranked = sorted(
        partners, key=lambda j: (sign * right[j][0], [(v is not None, null_last_key(v)) for v in right[j][1].values()])
    )
    return ranked[-1:]


def with_partners(
    left: Sequence[Row], right: Sequence[Row], met: list[tuple[int, int]], kind: JoinKind
) -> Iterator[Pair]:
    """What a kind of join gives when the rows at these places met."""
    matched = {i for i, _ in met}, {j for _, j in met}
    if kind.is_half:
        wanted = kind is JoinKind.SEMI
        yield from ((row, None) for i, row in enumerate(left) if (i in matched[LEFT]) is wanted)
        return
    yield from ((left[i], right[j]) for i, j in met)
    if LEFT in kind.outer_sides:
        yield from ((row, None) for i, row in enumerate(left) if i not in matched[LEFT])
    if RIGHT in kind.outer_sides:
        yield from ((None, row) for j, row in enumerate(right) if j not in matched[RIGHT])
