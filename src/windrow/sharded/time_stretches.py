"""The times of a stream in one micro-batch as stretches, so that every shard finds the same rows too far ahead.

A stretch is a run of times, each at most the lead above the one before it. Either all rows of a stretch are early or
none is, so a task sends first and last time and number of rows of each: few numbers, whatever it read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.errors import DataError
from windrow.semantics.progress.policies import START

MOST = 1 << 16
"""Stretches of one task. Where there are more, the lead is much too short for the stream."""


@dataclass
class Stretch:
    """Times from `first` to `last`; for slack counted in rows also its last rows, and the largest of the others."""

    first: int
    last: int
    rows: int
    recent: list[list[int]] = field(default_factory=list)
    """Place in the stream and time of the last rows."""
    before: int = START
    """The largest time of the others."""


class Stretches:
    """Those of one task, in ascending order, none within the lead of the next."""

    def __init__(self, stream: str, lead: int, slack_rows: int = 0) -> None:
        self.stream = stream
        self.lead = lead
        self.slack_rows = slack_rows
        self.found: list[Stretch] = []
        self.rows = 0

    def add(self, times: Integers) -> None:
        if len(times):
            self.found = merged([*self.found, *self._cut(times)], self.lead, self.slack_rows)
            self.rows += len(times)
        if len(self.found) > MOST:
            raise DataError(
                f"must be longer: in one micro-batch, rows of {self.stream} lie further apart in {MOST:,} places",
                parameter="lead",
                value=self.lead,
                hint="LEAD is meant for rows that are far ahead of all others; raise it above the usual gaps",
            )

    def _cut(self, times: Integers) -> list[Stretch]:
        order = np.argsort(times, kind="stable")
        ordered = times[order]
        heads = np.flatnonzero(np.diff(ordered) > self.lead) + 1
        starts, stops = [0, *heads.tolist()], [*heads.tolist(), len(times)]
        return [
            self._stretch(ordered[start:stop], order[start:stop]) for start, stop in zip(starts, stops, strict=True)
        ]

    def _stretch(self, times: Integers, places: Integers) -> Stretch:
        stretch = Stretch(int(times[0]), int(times[-1]), len(times))
        if self.slack_rows:
            came = np.argsort(places)
            old, new = times[came[: -self.slack_rows]], came[-self.slack_rows :]
            stretch.recent = [[self.rows + int(places[i]), int(times[i])] for i in new]
            stretch.before = int(old.max()) if len(old) else START
        return stretch


def merged(stretches: Iterable[Stretch], lead: int, slack_rows: int) -> list[Stretch]:
    """Stretches of the same rows, with those that are within the lead of each other put together."""
    found: list[Stretch] = []
    for one in sorted(stretches, key=lambda stretch: stretch.first):
        if found and one.first <= found[-1].last + lead:
            found[-1] = _together(found[-1], one, slack_rows)
        else:
            found.append(one)
    return found


def _together(left: Stretch, right: Stretch, slack_rows: int) -> Stretch:
    recent, before = trail([left, right], slack_rows)
    return Stretch(left.first, max(left.last, right.last), left.rows + right.rows, recent, before)


def trail(stretches: Iterable[Stretch], slack_rows: int) -> tuple[list[list[int]], int]:
    """The last rows of some stretches together, and the largest time before those."""
    each = list(stretches)
    recent = sorted(row for stretch in each for row in stretch.recent)
    done = max(0, len(recent) - slack_rows)
    return recent[done:], max([START, *(stretch.before for stretch in each), *(time for _, time in recent[:done])])


def reached(stretches: Iterable[Stretch], lead: int, high: int) -> int:
    """Up to where the rows of a micro-batch are not early; `high` is the largest time before. See `semantics.lead`."""
    found = merged(stretches, lead, 0)
    if high == START and found:
        return max(found, key=lambda stretch: stretch.rows).last
    for stretch in found:
        if stretch.first <= high + lead:
            high = max(high, stretch.last)
    return high
