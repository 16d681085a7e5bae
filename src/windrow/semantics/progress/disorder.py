"""How far rows are behind, and the row that moved progress past the others: what a run tells of rows that were late."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windrow.semantics.progress.policies import START

FEW, LEAST = 10, 3
"""What is worth naming a row for: so many late rows, or one in so many and a few at least; and a jump of so many times
the slack."""


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


def furthest_behind(values: Iterable[int], bounds: Iterable[int]) -> int:
    """The most that a value below the bound in force is behind the largest before it; 0 when none is below its bound.

    It is the least slack in time under which none of these values would have been below its bound: the slow namesake of
    what the input kernel notes.

    >>> furthest_behind([10, 12, 11, 20, 13], bounds=[START, 9, 11, 11, 19])
    7
    """
    most, high = 0, START
    for value, bound in zip(values, bounds, strict=True):
        if value < bound:
            most = max(most, high - value)
        high = max(high, value)
    return most
