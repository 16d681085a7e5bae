"""Window joins: which pairs of rows join, by definition, regardless of the order in which they come.

A left and a right row join when their window condition and the predicate hold. The condition is told as the times of
the other side that a row can meet: `right_of(t)` for a left row, `left_of(t)` for a right one, both ends included.
Both ends grow with `t`, which is all that an algorithm needs to know which rows can still meet one to come.

`three_step` is the procedure of Kang et al., which defines joins by arrival; `extents_join` is the definition by
window extents. Where two definitions speak of the same join, tests show that they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
        near = int(self.strict)
        if self.forward:
            return t + near, END if self.within is None else t + self.within
        return START if self.within is None else t - self.within, t - near

    def left_of(self, t: int) -> tuple[int, int]:
        near = int(self.strict)
        if self.forward:
            return START if self.within is None else t - self.within, t - near
        return t + near, END if self.within is None else t + self.within


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
    return list(_given([row for _, row in left], [row for _, row in right], met, kind))


def _nearest(window: AsOf, partners: list[int], right: Sequence[Timed]) -> list[int]:
    sign = -1 if window.forward else 1
    ranked = sorted(partners, key=lambda j: (sign * right[j][0], [null_first(v) for v in right[j][1].values()]))
    return ranked[-1:]


def null_first(value: Any) -> tuple[bool, Any]:
    """A key that puts NULL below every value."""
    return (False, 0) if value is None else (True, null_last_key(value))


def _given(left: Sequence[Row], right: Sequence[Row], met: list[tuple[int, int]], kind: JoinKind) -> Iterator[Pair]:
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


def three_step(arrived: Iterable[tuple[int, Row]], window: LastRows, kind: JoinKind, predicate: Predicate) -> Pairs:
    """The answer by arrival: each element is a side and a row.

    A row is compared with the other side's window, put into its own, and pushes out what is too old there.
    """
    rows: tuple[list[Row], list[Row]] = ([], [])
    met: list[tuple[int, int]] = []
    for side, row in arrived:
        other = 1 - side
        size = window.right if other == RIGHT else window.left
        for place in range(max(0, len(rows[other]) - size), len(rows[other])):
            pair = (row, rows[other][place]) if side == LEFT else (rows[other][place], row)
            if predicate(*pair) is True:
                met.append((len(rows[LEFT]), place) if side == LEFT else (place, len(rows[RIGHT])))
        rows[side].append(row)
    return list(_given(rows[LEFT], rows[RIGHT], met, kind))


def three_step_in_time(arrived: Iterable[tuple[int, int, Row]], ranges: tuple[int, int], predicate: Predicate) -> Pairs:
    """The same with windows in time, for streams that come in one order of time: (side, time, row).

    A row is in its window for `range` units: one that came at `t` is met by those that come before `t + range`.
    """
    windows: tuple[list[Timed], list[Timed]] = ([], [])
    given: list[Pair] = []
    for side, t, row in arrived:
        for u, other in windows[1 - side]:
            if t < u + ranges[1 - side]:
                pair = (row, other) if side == LEFT else (other, row)
                if predicate(*pair) is True:
                    given.append(pair)
        windows[side].append((t, row))
        windows[side][:] = [(u, kept) for u, kept in windows[side] if t < u + ranges[side]]
    return given


def extents_of(t: int, length: int) -> range:
    """The extents of a window that advances by one unit to which a row belongs: extent w is `(w - length, w]`."""
    return range(t, t + length)


def match(t: int, own: int, other: int, u: int) -> bool:
    """Whether a row at `t` in a window of `own` units is matched with some extent that holds a row at `u`."""
    mine = extents_of(t, own)
    return any(w in mine for w in extents_of(u, other))


def extents_join(left: Sequence[Timed], right: Sequence[Timed], ranges: tuple[int, int]) -> set[tuple[int, int]]:
    """Pairs (by place) by the relation `widjoin`: extent k of one side joins extent k of the other, each pair once."""
    pairs: set[tuple[int, int]] = set()
    extents: dict[int, list[int]] = {}
    for j, (u, _) in enumerate(right):
        for w in extents_of(u, ranges[RIGHT]):
            extents.setdefault(w, []).append(j)
    for i, (t, _) in enumerate(left):
        for w in extents_of(t, ranges[LEFT]):
            pairs.update((i, j) for j in extents.get(w, ()))
    return pairs
