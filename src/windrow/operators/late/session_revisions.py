"""LATE REVISE of sessions: which rows come too late for what was reported, and which results must be corrected."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.aggregates.kinds.base import Integers
from windrow.operators.late.session_floors import SessionFloors
from windrow.operators.windows.base import Closed
from windrow.operators.windows.sessions.revised_sessions import RevisedSessions


class SessionRevisions:
    """Sessions are reported at the bounds themselves; they stay, and take rows in, until `within` later.

    So there are two floors: below that of the bounds themselves a row is late and makes corrections, below the final
    one it is absent. The final one is never above the other, since it is of fewer sessions and of lower bounds.
    """

    def __init__(self, windower: RevisedSessions, past: SessionFloors) -> None:
        self.windower = windower
        self.past = past

    def report(self, bounds: Integers) -> Iterator[Closed]:
        """Bounds have moved: what is over and was not given before as it is now."""
        moved = bounds > self.past.bounds
        yield from self.windower.report(bounds, moved)
        spans, over = self.windower.spans, self.windower.over(bounds)
        self.past.advance(bounds, spans.take(over & moved[spans.codes]), spans.take(~over))
