"""Sessions of all groups, with what tells which rows are too late for one.

Under LATE REVISE sessions are reported at the bounds themselves; they stay, and take rows in, until `within` later. So
there are two floors: below that of the bounds themselves a row is late and makes corrections, below the final one it is
absent. The final one is never above the other, since it is of fewer sessions and of lower bounds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.base import Integers, Values
from windrow.operators.late.judging import Verdicts, below
from windrow.operators.late.session_floors import SessionFloors
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.values.value_rows import ValueLog
from windrow.operators.windows.base import Closed, GroupedRows, Plan, Windower
from windrow.operators.windows.sessions.open_sessions import Sessions
from windrow.operators.windows.sessions.revised_sessions import RevisedSessions
from windrow.semantics.windows.kinds import Session

if TYPE_CHECKING:
    from windrow.operators.aggregate.bounds import Bounds
    from windrow.operators.late.group_bounds import GroupBounds


class SessionWindows(Windower):
    """Session windows. A row is judged by what the bounds of its group have settled so far.

    With `within`, results are corrected for that long; None: never.
    """

    def __init__(self, window: Session, plan: Plan, bounds: Bounds, within: int | None) -> None:
        self.plan = plan
        self.bounds = bounds
        self.past = SessionFloors(window.gap, within or 0)
        """What no longer changes: rows below its floors are in no session."""
        self.judging = self.past if within is None else SessionFloors(window.gap)
        """What rows are late for as they come."""
        self.revised = None if within is None else RevisedSessions(window, plan)
        self.sessions = self.revised or Sessions(window, plan)

    # Rows in

    def add(self, rows: GroupedRows, groups: int) -> Iterable[Closed]:
        self._know_groups()
        self.sessions.add(rows)
        return ()

    def judge(self, rows: GroupedRows, met: Integers, *, consistent: bool) -> Verdicts:
        """A row below the bound is in time if it belongs to a session that is still open; it counts in that alone."""
        self._know_groups()
        times, codes = rows.times, rows.group_codes()
        absent = below(times, self.past.floors[codes])
        return Verdicts(
            below(times, self.judging.floors[codes]),
            absent,
            ~absent,
            lambda places: self.past.missed(times[places], codes[places]),
        )

    def take_late(self, rows: GroupedRows, met: Integers, bounds: Bounds, groups: int) -> Iterable[Closed]:
        self.sessions.add(rows)
        return ()

    def _know_groups(self) -> None:
        """Groups that are new begin with the bounds that they find."""
        for past in (self.past, self.judging):
            if len(past) < self.bounds.groups().count:
                past.grow(self.bounds.of_all())

    # Windows out

    def close(self, bound: int, groups: int) -> Iterator[Closed]:
        yield from self._settle()

    def close_groups(self, codes: Codes, ahead: GroupBounds, groups: int) -> Iterator[Closed]:
        yield from self._settle()

    def _settle(self) -> Iterator[Closed]:
        """Bounds have moved: report the sessions that are over. What comes for them from now on is late."""
        self._know_groups()
        bounds = self.bounds.of_all()
        final = self.sessions.close(self.past.final(bounds))
        if self.revised is None:
            yield from final
        else:
            yield from self._corrected(self.revised, bounds)
            deque(final, 0)
        self.past.advance(bounds, self.sessions.closed, self.sessions.spans)

    def _corrected(self, revised: RevisedSessions, bounds: Integers) -> Iterator[Closed]:
        """What is over and was not given before as it is now."""
        moved = bounds > self.judging.bounds
        yield from revised.report(bounds, moved)
        spans, over = revised.spans, revised.over(bounds)
        self.judging.advance(bounds, spans.take(over & moved[spans.codes]), spans.take(~over))

    @property
    def has_gaps(self) -> bool:
        return False

    # Groups and state

    def _floors(self) -> dict[str, SessionFloors]:
        """By the names in its state."""
        return {"past": self.past} if self.revised is None else {"past": self.past, "judging": self.judging}

    def regrow(self, convert: Callable[[Table], Table]) -> None:
        self.sessions.regrow(convert)

    def codes_in_use(self) -> Codes:
        known = [floors.codes_in_use() for floors in self._floors().values()]
        return np.unique(np.concatenate([self.sessions.open["code"], *known]))

    def remap(self, mapping: Codes, groups: int) -> None:
        self.sessions.remap(mapping)
        for floors in self._floors().values():
            floors.remap(mapping)

    def kept_values(self, part: Values) -> ValueLog:
        return self.sessions.rows_kept.logs[part]

    def state(self) -> dict[str, pa.Table]:
        return self.sessions.state() | {name: floors.state() for name, floors in self._floors().items()}

    def restore(self, tables: dict[str, pa.Table]) -> None:
        self.sessions.restore(tables)
        for name, floors in self._floors().items():
            floors.restore(tables[name])

    @property
    def nbytes(self) -> int:
        return self.sessions.nbytes + sum(floors.nbytes for floors in self._floors().values())

    @property
    def open_windows(self) -> int:
        return len(self.sessions.open)
