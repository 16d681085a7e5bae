"""Lateness, decided in one place: which of its windows a row missed, and in which it still counts.

A window that closes at `c` is closed once a punctuation `p >= c` came. A row missed a window exactly when that window
was closed as the row arrived, that is when `c <= bound`, the bound being the largest punctuation before the row.

    bound 20           row t = 12, windows [0, 20) [10, 30)
    ------|----------> missed: [0, 20)     generous: counts in [10, 30)     consistent: counts in none

Sessions grow with their rows, so that a row may belong to one that was reported without it: `Past` judges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Session, Window, WindowId, closes_at

FEW, LEAST = 10, 3
"""What is worth naming a row for: so many late rows, or one in so many and a few at least; and a jump of so many times
the slack."""


@dataclass(frozen=True)
class Verdict:
    """What became of a row: the windows it `missed` and those it `counted` in.

    The two together are the row's windows, unless a consistent query had it forgo those still open.
    """

    missed: tuple[WindowId, ...]
    counted: tuple[WindowId, ...]


@dataclass(frozen=True)
class Account:
    """What became of all rows: rows in = used in full + late for some or all of their windows + early + filtered.

    A row that belongs to no window at all (it fell between windows) is used.

    >>> Account(used=3, late=1, filtered=2, early=1).rows_in
    7
    """

    used: int = 0
    late: int = 0
    filtered: int = 0
    early: int = 0

    @property
    def rows_in(self) -> int:
        return self.used + self.late + self.filtered + self.early


def judge(window: Window, wids: Sequence[WindowId], *, bound: int, lateness: str = "generous") -> Verdict:
    """The verdict over a row that belongs to `wids` and arrives while `bound` is in force.

    >>> from windrow.semantics.windows.kinds import Sliding
    >>> judge(Sliding("ts", range=20, slide=10), [2, 3], bound=20)
    Verdict(missed=(2,), counted=(3,))
    """
    missed = tuple(wid for wid in wids if closes_at(window, wid) <= bound)
    rest = tuple(wid for wid in wids if closes_at(window, wid) > bound)
    return Verdict(missed, () if missed and lateness == "consistent" else rest)


@dataclass(frozen=True)
class Past:
    """What the bounds so far have settled for one group: rows below `floor` are late, all others count.

    A row counts when it belongs to no reported session and either belongs to an open one or would not be over by
    itself; all of this as it stood when the bound came into force. So the order of rows between two bounds does not
    matter, and no late row can join others. The floor is the greatest ever of

        last + gap + 1                        of each session that was reported,
        min(bound, first of those open) - gap

    where the second says both: below it a row reaches no open session, and its own would end below the bound.

    Laws. Let R = (first, last) be reported, that is last + gap < bound.
    - Sessions of a group never overlap. Those open as R is reported lie more than `gap` above it, since they end at
      the bound or later and did not join it; rows that come later are above last + gap.
    - A row at the bound or above is never late: neither part of the floor exceeds the bound.
    - What must be remembered is little. While a group has no open session its floor is max(last + gap + 1, bound - gap)
      with its last session: so R matters only while last + 2 * gap >= bound. At most one R does, as they are more than
      `gap` apart. Without one the floor is bound - gap, and nothing needs to be known of the group.
    - A bound may be left out if no row below it came before the next one. Rows at a bound b or above join nothing that
      b closed, and begin no session below b, so that the next floor is no lower than the one left out.
    Where sessions are corrected, the bounds here are final ones, and what is reported is what is no longer corrected.
    """

    floor: int = START
    bound: int = START
    reported: tuple[int, int] | None = None

    def advanced(
        self, window: Session, bound: int, closed: Sequence[tuple[int, int]], still_open: Sequence[tuple[int, int]]
    ) -> Past:
        """The same once a bound closed some sessions and left others open, each earliest first."""
        reach = END if bound == END else min(bound, *(first for first, _ in still_open), END) - window.gap
        ends = [last + window.gap + 1 for _, last in closed]
        return Past(max(self.floor, reach, *ends), bound, closed[-1] if closed else self.reported)

    def missed(self, window: Session, t: int) -> tuple[int, int] | None:
        """The session that a row is late for, or None when it counts.

        That is the last one reported, if the row belongs to it and it still matters; else what the row is by itself.
        """
        if t >= self.floor:
            return None
        first, last = self.reported or (END, START)
        if t >= first - window.gap and last + 2 * window.gap >= self.bound:
            return first, last
        return t, t


@dataclass(frozen=True)
class Jump:
    """A row far ahead that moved progress past others: its number, counted from 0, its `time`, how far `ahead` of the
    rows before it that was, and how many `rows` fell below the bound only by it.

    It may be a punctuation instead, whose number is that of the row after it; and on Spark, where it is not defined
    which row came first, a micro-batch.
    """

    number: int
    time: int
    ahead: int
    rows: int
    kind: str = "row"

    def is_striking(self, *, below: int, behind: int, rows: int, slack: int) -> bool:
        """Whether it explains what was late, and is no ordinary disorder.

        It does when it made half of the rows late that were `below` the bound, and these are some; when the one of them
        that is furthest `behind` is about as far behind as it was ahead, and that is far more than the slack was for.

        >>> Jump(1, time=1000, ahead=990, rows=4).is_striking(below=5, behind=999, rows=6, slack=0)
        True
        >>> Jump(1, time=12, ahead=2, rows=4).is_striking(below=5, behind=9, rows=6, slack=0)
        False
        """
        explains = 2 * self.rows >= below and behind <= 2 * self.ahead <= 4 * behind
        some = self.rows >= FEW or (self.rows >= LEAST and FEW * self.rows >= rows)
        return explains and some and self.ahead >= FEW * slack
