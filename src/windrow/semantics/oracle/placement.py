"""Which rows each reported window holds, given when they arrived, and which windows each row missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.semantics.oracle.arrival import Arrival, Group
from windrow.semantics.progress.lateness import Past, Verdict, judge
from windrow.semantics.progress.policies import END, START
from windrow.semantics.windows.kinds import (
    RowsWindow,
    Session,
    SlideByTuple,
    Window,
    WindowId,
    closes_at,
    partition_of,
)


@dataclass
class Placement:
    """The extents by group and window, and the windows missed by arrival position; positions index the arrivals."""

    extents: dict[tuple[Group, WindowId], list[int]] = field(default_factory=dict)
    missed: dict[int, tuple[WindowId, ...]] = field(default_factory=dict)
    late: set[int] = field(default_factory=set)
    """The positions of rows that came too late for a session, also where it is corrected."""

    def put(self, group: Group, position: int, verdict: Verdict) -> None:
        for wid in verdict.counted:
            self.extents.setdefault((group, wid), []).append(position)
        if verdict.missed:
            self.missed[position] = verdict.missed


def place(window: Window, arrived: Sequence[Arrival], *, within: int | None, lateness: str) -> Placement:
    """The placement when every window waits `within` longer than its punctuation before it is final (None: forever)."""
    unbound = within is None or (isinstance(window, RowsWindow) and window.order is None)
    bounds = [START if unbound else a.bound - (within or 0) for a in arrived]
    if isinstance(window, RowsWindow):
        return _place_rows(window, arrived, bounds)
    if isinstance(window, Session):
        return _place_sessions(window, arrived, bounds)
    placement = Placement()
    for i, wids in enumerate(_wids(window, arrived, bounds)):
        placement.put(arrived[i].group, i, judge(window, wids, bound=bounds[i], lateness=lateness))
    return placement


def _place_rows(window: RowsWindow, arrived: Sequence[Arrival], bounds: Sequence[int]) -> Placement:
    """Rows below their bound are late; which windows they would be in is not known, since they have no number."""
    placement = Placement()
    late = {i for i, (arrival, bound) in enumerate(zip(arrived, bounds, strict=True)) if arrival.t < bound}
    in_time = [i for i in range(len(arrived)) if i not in late]
    rows = [arrived[i].row for i in in_time]
    for place, i in enumerate(in_time):
        placement.put(arrived[i].group, i, Verdict((), tuple(window.wids(rows, place))))
    placement.missed.update(dict.fromkeys(sorted(late), ()))
    return placement


def _wids(window: Window, arrived: Sequence[Arrival], bounds: Sequence[int]) -> list[list[WindowId]]:
    """The windows of every arrival, open or not."""
    if isinstance(window, SlideByTuple):
        return _slide_by_tuple_wids(window, arrived, bounds)
    rows = [a.row for a in arrived]
    return [window.wids(rows, i) for i in range(len(rows))]


def _slide_by_tuple_wids(
    window: SlideByTuple, arrived: Sequence[Arrival], bounds: Sequence[int]
) -> list[list[WindowId]]:
    """Only rows in time are counted and close windows; a late row that each row would close one for missed its own.

    A row a whole range below the bound is in no open window. Which ones it missed is no longer known, or every window
    would have to be remembered for ever: it missed the one that would have ended with it.
    """
    in_time = [a.row for a, bound in zip(arrived, bounds, strict=True) if a.t >= bound]
    closed = [(wid, partition_of(window, in_time[wid[1]])) for wid in window.windows(in_time)]
    found: list[list[Any]] = []
    for i, (arrival, bound) in enumerate(zip(arrived, bounds, strict=True)):
        t, partition = arrival.t, partition_of(window, arrival.row)
        gone = t + window.range <= bound
        own = [(t, len(in_time) + i)] if gone or (t < bound and window.every == 1) else []
        later = [] if gone else [wid for wid, of in closed if of == partition and t <= wid[0] < t + window.range]
        found.append(sorted(later + own))
    return found


def _place_sessions(window: Session, arrived: Sequence[Arrival], finals: Sequence[int]) -> Placement:
    """Sessions group by group: rows wait until a final bound closes their session; those below its floor are absent.

    A row has one session, so that generous and consistent are the same. Results are reported at the bounds themselves,
    and corrected up to the final ones.
    """
    placement = Placement()
    for group in {a.group: None for a in arrived}:
        pending: list[int] = []
        reported, final = Past(), Past()
        for i in (i for i, a in enumerate(arrived) if a.group == group):
            t, bound = arrived[i].t, arrived[i].bound
            if bound > reported.bound:
                reported = reported.advanced(window, bound, *_divided(window, arrived, pending, bound))
            if finals[i] > final.bound:
                final, pending = _settle(window, arrived, pending, placement, final, finals[i])
            if reported.missed(window, t) is not None:
                placement.late.add(i)
            missed = final.missed(window, t)
            if missed is None:
                pending.append(i)
            else:
                placement.missed[i] = (missed,)
        _settle(window, arrived, pending, placement, final, END)
    return placement


def _divided(
    window: Session, arrived: Sequence[Arrival], pending: list[int], bound: int
) -> tuple[list[WindowId], list[WindowId]]:
    """The sessions that a bound closes, and those it leaves open."""
    found = window.of_values(arrived[i].t for i in pending)
    closed = [wid for wid in found if bound == END or closes_at(window, wid) <= bound]
    return closed, [wid for wid in found if wid not in closed]


def _settle(
    window: Session, arrived: Sequence[Arrival], pending: list[int], placement: Placement, past: Past, bound: int
) -> tuple[Past, list[int]]:
    """Place the rows of the sessions that a bound closes; what is settled now, and the rows that wait on."""
    closed, still_open = _divided(window, arrived, pending, bound)
    for wid in closed:
        for i in pending:
            if wid[0] <= arrived[i].t <= wid[1]:
                placement.put(arrived[i].group, i, Verdict((), (wid,)))
    waiting = [i for i in pending if any(first <= arrived[i].t <= last for first, last in still_open)]
    return past.advanced(window, bound, closed, still_open), waiting
