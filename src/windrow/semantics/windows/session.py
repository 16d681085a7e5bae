"""Which rows are too late for a session: what the bounds so far have settled for one group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Session


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
