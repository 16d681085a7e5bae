"""Lateness, decided in one place: which of its windows a row missed, and in which it still counts.

A window that closes at `c` is closed once a punctuation `p >= c` came. A row missed a window exactly when that window
was closed as the row arrived, that is when `c <= bound`, the bound being the largest punctuation before the row.

    bound 20           row t = 12, windows [0, 20) [10, 30)
    ------|----------> missed: [0, 20)     generous: counts in [10, 30)     consistent: counts in none

Sessions grow with their rows, so that a row may belong to one that was reported without it: `session.Past` judges them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from windrow.errors import QueryError
from windrow.semantics.windows import framework, landmark, sliding
from windrow.semantics.windows.framework import WindowId
from windrow.semantics.windows.kinds import Landmark, Sliding

LATENESS = ("generous", "consistent")


@dataclass(frozen=True)
class Verdict:
    """What became of a row: the windows it `missed`, those it `counted` in, and the open ones it had to forgo.

    The three together are exactly the row's windows; only a consistent query has windows to forgo.
    """

    missed: tuple[WindowId, ...]
    counted: tuple[WindowId, ...]
    forgone: tuple[WindowId, ...] = ()

    @property
    def is_late(self) -> bool:
        return bool(self.missed)


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


def judge(
    wids: Sequence[WindowId], closes_at: Callable[[WindowId], int], *, bound: int, lateness: str = "generous"
) -> Verdict:
    """The verdict over a row that belongs to `wids` and arrives while `bound` is in force."""
    check_lateness(lateness)
    missed = tuple(wid for wid in wids if closes_at(wid) <= bound)
    rest = tuple(wid for wid in wids if closes_at(wid) > bound)
    if missed and lateness == "consistent":
        return Verdict(missed, (), rest)
    return Verdict(missed, rest)


def judge_value(
    window: Sliding | Landmark, t: int, *, bound: int, lateness: str = "generous", last: int | None = None
) -> Verdict:
    """The verdict from a row's value alone, as context-free windows allow; `last` is the last landmark window.

    >>> judge_value(Sliding("ts", range=20, slide=10), 12, bound=20)
    Verdict(missed=(2,), counted=(3,), forgone=())
    >>> judge_value(Sliding("ts", range=20, slide=10), 12, bound=20, lateness="consistent")
    Verdict(missed=(2,), counted=(), forgone=(3,))
    """
    if isinstance(window, Sliding):
        wids = sliding.wids_at(window, t)
    else:
        first = landmark.first_wid(window, t)
        wids = list(range(first, (first if last is None else last) + 1))
    return judge(wids, lambda wid: framework.closes_at(window, wid), bound=bound, lateness=lateness)


def check_lateness(lateness: str) -> str:
    """The mode itself, or an error when there is no such mode."""
    if lateness not in LATENESS:
        raise QueryError(
            "must be a known mode",
            parameter="lateness",
            value=lateness,
            allowed=LATENESS,
            hint="'generous' lets a late row count in its windows that are still open",
        )
    return lateness
