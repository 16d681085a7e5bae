"""Sessions of all groups, with what decides which rows are too late for one.

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

from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers, Values
from windrow.operators.late.judging import Missed, Verdicts, below
from windrow.operators.state.changes import Saved
from windrow.operators.state.groups import Codes
from windrow.operators.state.layout import Table
from windrow.operators.state.values.value_rows import ValueLog
from windrow.operators.store.row_block import RowBlock
from windrow.operators.windows.base import Closed, Plan, Windower
from windrow.operators.windows.grouped_rows import GroupedRows
from windrow.operators.windows.sessions.open_sessions import RevisedSessions, Sessions
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import Session

if TYPE_CHECKING:
    from windrow.operators.late.bounds import Bounds, GroupBounds


_COLUMNS = ("bounds", "floors", "firsts", "lasts")


class SessionWindows(Windower):
    """Session windows. A row is judged by what the bounds of its group have settled so far.

    With `within`, results are corrected for that long; None: never.
    """

    has_gaps = False

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
        self.judging.advance(bounds, spans.take(over & moved[spans["code"]]), spans.take(~over))

    # Groups and state

    def _floors(self) -> dict[str, SessionFloors]:
        """By the names in its state."""
        return {"past": self.past} if self.revised is None else {"past": self.past, "judging": self.judging}

    def seal_rows(self) -> None:
        self.sessions.rows_kept.seal()

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

    def state(self) -> dict[str, Saved]:
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


class SessionFloors:
    """Which rows are too late for a session: `semantics.progress.lateness.Past` of all groups, on whole arrays.

    By the code of a group: the bound in force (that of the stream less `within`), the value below which rows are late,
    the session reported last. Of groups without an open session it is kept only while the bound is not two gaps past
    its last row: `Past` proves that this is enough.
    """

    def __init__(self, gap: int, within: int = 0) -> None:
        self.gap = gap
        self.within = within
        self.bounds: Integers = np.empty(0, np.int64)
        self.floors: Integers = np.empty(0, np.int64)
        self.firsts: Integers = np.empty(0, np.int64)
        """END where none was reported, which no row belongs to."""
        self.lasts: Integers = np.empty(0, np.int64)

    def __len__(self) -> int:
        return len(self.bounds)

    def final(self, bounds: Integers) -> Integers:
        """Bounds of the stream as those meant here."""
        return _lowered(bounds, self.within)

    def grow(self, bounds: Integers) -> None:
        """Groups that are new have no session: a row counts if it would not be over by itself."""
        fresh = self.final(bounds[len(self) :])
        self.floors = np.concatenate([self.floors, _lowered(fresh, self.gap)])
        self.firsts = np.concatenate([self.firsts, np.full(len(fresh), END)])
        self.lasts = np.concatenate([self.lasts, np.full(len(fresh), START)])
        self.bounds = np.concatenate([self.bounds, fresh])

    def advance(self, bounds: Integers, closed: RowBlock, still_open: RowBlock) -> None:
        """Bounds of the stream have moved, which closed some sessions and left others open."""
        bounds = self.final(bounds)
        lowest = bounds.copy()
        first = still_open.take(np.diff(still_open["code"], prepend=-1) != 0)  # the earliest of each group
        lowest[first["code"]] = np.minimum(lowest[first["code"]], first["place"])
        lowest[bounds == END] = END
        np.maximum(self.floors, _lowered(lowest, self.gap), out=self.floors)
        self.bounds = bounds
        last = closed.take(np.diff(closed["code"], append=-1) != 0)  # the latest of each group
        codes = last["code"]
        self.firsts[codes], self.lasts[codes] = last["place"], last["last"]
        self.floors[codes] = np.maximum(self.floors[codes], last["last"] + self.gap + 1)

    def missed(self, times: Integers, codes: Codes) -> Missed:
        """What late rows are late for: the session reported last, or what each of them is by itself."""
        bounds, firsts, lasts = self.bounds[codes], self.firsts[codes], self.lasts[codes]
        belongs = (times >= firsts - self.gap) & (lasts + self.gap >= bounds - self.gap)
        starts, ends = np.where(belongs, firsts, times), np.where(belongs, lasts, times) + self.gap
        return Missed(bounds + self.within - times, np.ones(len(times), np.int64), starts, ends)

    def codes_in_use(self) -> Codes:
        """The groups whose last session makes more rows late than the bound alone."""
        return np.flatnonzero(self.floors > _lowered(self.bounds, self.gap)).astype(np.int32)

    def remap(self, mapping: Codes) -> None:
        used = np.flatnonzero(mapping[: len(self)] >= 0)
        for name in _COLUMNS:
            setattr(self, name, getattr(self, name)[used])

    @property
    def nbytes(self) -> int:
        return 4 * self.bounds.nbytes

    def state(self) -> pa.Table:
        return tabled(**{name: getattr(self, name) for name in _COLUMNS})

    def restore(self, table: pa.Table) -> None:
        for name in _COLUMNS:
            setattr(self, name, np.array(table[name].combine_chunks()))


def _lowered(values: Integers, amount: int) -> Integers:
    """So much below each; the ends of all times stay where they are."""
    return np.where(values == END, END, np.maximum(values, START + amount) - amount)
