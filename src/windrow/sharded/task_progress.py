"""How far each stream has come: every task reports to every shard what it saw.

A policy is applied at the end of a micro-batch, to all rows up to there: which rows of a micro-batch came first is not
defined on Spark, and no answer may depend on it. So, too, which rows are too far ahead is decided of all of them
together, by the times of the micro-batch as stretches. A stretch is a run of times, each at most the lead above the one
before it. Either all rows of a stretch are early or none is, so a task sends first and last time and number of rows of
each: few numbers, whatever it read. Where each partition has a bound of its own, all of this is told of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from windrow.aggregates.kinds.base import Integers
from windrow.durable.manifests import damaged
from windrow.errors import DataError
from windrow.operators.input.policy import implied, moved_by, no_notes, settle, slack_of, slack_rows_of
from windrow.operators.kernels.disorder import BEHIND, BELOW, note_behind, note_jump
from windrow.physical.rules.place_rowwise import idle_of, silence_of
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Stream
from windrow.semantics.progress.partitions import Partitions, Reach, partitioned_by, shown, within_limits
from windrow.semantics.progress.policies import END, START, External

GRACE = 8
"""So many micro-batches ahead of the others may come before it is reported that the stream itself has gone there."""
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
        cuts = [0, *heads.tolist(), len(times)]
        return [self._stretch(ordered[start:stop], order[start:stop]) for start, stop in pairwise(cuts)]

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


@dataclass
class PartitionSeen(Reach):
    """What one task saw of one partition in one micro-batch; `ended` is what came of it last."""

    announced: bool = False
    stretches: list[Stretch] = field(default_factory=list)
    """All its times, where a lead decides which of them count."""
    passed: list[Stretch] = field(default_factory=list)
    """Those of the rows that passed the filters."""

    @staticmethod
    def from_json(saved: dict[str, Any]) -> PartitionSeen:
        return PartitionSeen(**{**saved, **_stretches_in(saved)})

    def up_to(self, reach: int) -> PartitionSeen:
        """What it saw but for rows above `reach`, which are early."""
        counting, passed = ([one for one in each if one.first <= reach] for each in (self.stretches, self.passed))
        high = max([START, *(stretch.last for stretch in counting)])
        return replace(self, high=high, stretches=counting, passed=passed)


def _stretches_in(saved: dict[str, Any]) -> dict[str, list[Stretch]]:
    return {name: [Stretch(**one) for one in saved[name]] for name in ("stretches", "passed")}


@dataclass
class Seen:
    """What was seen of a stream: by one task, or so far."""

    rows: int = 0
    filtered: int = 0
    early: int = 0
    high: int = START
    """The largest time of any row."""
    latest: int = START
    """The largest time of a row that passed the filters."""
    promised: int = START
    """The largest punctuation the data carried."""
    recent: list[int] = field(default_factory=list)
    """The times of the last rows, for slack counted in rows."""


@dataclass
class Sighting(Seen):
    """What one task saw of one stream in one micro-batch."""

    order: int = 0
    """Where the task's rows stand among those of the micro-batch."""
    first: int | None = None
    """The number of its first row in the stream, where rows have one: punctuations in a column are rows, too."""
    last: int = 0
    """The number of the row behind its last."""
    least: int = END
    """The smallest time of any row."""
    before: int = START
    """The largest time before the recent ones."""
    ends: bool = False
    """Nothing follows."""
    wall: float = 0.0
    """When it was, for idle times by the clock."""
    stretches: list[Stretch] = field(default_factory=list)
    """All its times, where a lead decides which of them count."""
    passed: list[Stretch] = field(default_factory=list)
    """Those of the rows that passed the filters."""

    partitions: dict[str, PartitionSeen] = field(default_factory=dict)
    """By name, where each has a bound of its own."""

    @staticmethod
    def from_json(saved: dict[str, Any]) -> Sighting:
        partitions = {name: PartitionSeen.from_json(one) for name, one in saved["partitions"].items()}
        return Sighting(**{**saved, **_stretches_in(saved), "partitions": partitions})

    def up_to_each(self, reaches: Mapping[str, int]) -> Sighting:
        """What it saw but for rows above the reach of their partition, which are early."""
        kept = {name: one.up_to(reaches[name]) for name, one in self.partitions.items()}
        rows = sum(stretch.rows for one in self.partitions.values() for stretch in one.stretches)
        return replace(
            self,
            early=self.early + rows - sum(stretch.rows for one in kept.values() for stretch in one.stretches),
            high=max([START, *(one.high for one in kept.values())]),
            latest=max([START, *(stretch.last for one in kept.values() for stretch in one.passed)]),
            partitions={name: one for name, one in kept.items() if one.high != START or one.announced},
        )

    def up_to(self, reach: int, slack_rows: int) -> Sighting:
        """What it saw but for rows above `reach`, which are early."""
        counting = [stretch for stretch in self.stretches if stretch.first <= reach]
        recent, before = trail(counting, slack_rows)
        return replace(
            self,
            early=self.early + sum(stretch.rows for stretch in self.stretches if stretch.first > reach),
            high=max([START, *(stretch.last for stretch in counting)]),
            latest=max([START, *(stretch.last for stretch in self.passed if stretch.first <= reach)]),
            recent=[time for _, time in recent],
            before=before,
        )


@dataclass
class Progress(Seen):
    """One stream as all shards know it."""

    read: int = 0
    """The number of the row that comes next, where rows have one."""
    settled: int = START
    ended: bool = False
    rejected: int = 0
    """Messages that no row could be made of."""
    bound: int = START
    batches: int = 0
    """How many micro-batches there were."""
    notes: list[int] = field(default_factory=no_notes)
    """Of `kernels.disorder`, with micro-batches as steps."""
    partitions: dict[str, Reach] = field(default_factory=dict)
    """By name, where each has a bound of its own."""
    heard: dict[str, float] = field(default_factory=dict)
    """When something last came of each of them."""

    @staticmethod
    def from_json(saved: dict[str, Any]) -> Progress:
        partitions = {name: Reach(**one) for name, one in saved["partitions"].items()}
        return Progress(**{**saved, "partitions": partitions, "heard": dict(saved["heard"])})

    def check(self, sightings: Iterable[Sighting], stream: str) -> None:
        """Refuse a micro-batch that does not begin behind the last one: Spark's logs are not of this checkpoint."""
        for seen in sorted(sightings, key=lambda one: one.order):
            if seen.first is None:
                continue
            if seen.first != self.read:
                raise damaged(f"its state has {self.read:,} rows of {stream}, and Spark goes on behind {seen.first:,}")
            self.read = seen.last

    def see(self, sightings: Sequence[Sighting], stream: Stream) -> None:
        """Take in what the tasks of one micro-batch saw."""
        self._note_behind(sightings, stream)
        before = self._moved_by(stream)
        self._take(sightings, slack_rows_of(stream))
        after = self._moved_by(stream)
        if before < after < END:
            note_jump(self.notes, self.batches, after, before, slack_of(stream), GRACE)
        self.batches += 1

    def _moved_by(self, stream: Stream) -> int:
        """What moves the bound, where one row may move it past others: not where each partition has its own."""
        if partitioned_by(stream.policy):
            return START
        return moved_by(stream.policy, high=self.high, settled=self.settled, promised=self.promised)

    def _note_behind(self, sightings: Sequence[Sighting], stream: Stream) -> None:
        """How far rows are below what was promised before their micro-batch; those of a whole one count as behind."""
        least = min((seen.least for seen in sightings), default=END)
        if not least < self.bound < END:
            return
        against = self.promised if isinstance(stream.policy, External) else self.high
        if partitioned_by(stream.policy):
            against = self.bound + slack_of(stream)
        high, rows = max(seen.high for seen in sightings), sum(seen.rows for seen in sightings)
        if high < self.bound:
            note_behind(self.notes, self.batches, least, high, slack_of(stream), rows, GRACE, against)
        else:
            self.notes[BEHIND] = max(self.notes[BEHIND], against - least)
            self.notes[BELOW] += 1

    def _take(self, sightings: Sequence[Sighting], slack_rows: int) -> None:
        for seen in sorted(sightings, key=lambda one: one.order):
            self.rows += seen.rows
            self.filtered += seen.filtered
            self.early += seen.early
            self.high = max(self.high, seen.high)
            self.latest = max(self.latest, seen.latest)
            self.promised = max(self.promised, seen.promised)
            self.ended = self.ended or seen.ends
            self._settle(seen, slack_rows)
            for name, one in seen.partitions.items():
                self._take_partition(name, one, seen.wall)

    def _take_partition(self, name: str, seen: PartitionSeen, wall: float) -> None:
        reach = self.partitions.setdefault(name, Reach())
        reach.high = max(reach.high, seen.high)
        reach.promised = max(reach.promised, within_limits(seen.promised))
        reach.ended = seen.ended
        self.heard[name] = max(self.heard.get(name, wall), wall)

    def reaches(self, sightings: Sequence[Sighting], lead: int) -> dict[str, int]:
        """The same of each partition."""
        stretches: dict[str, list[Stretch]] = {}
        for seen in sightings:
            for name, one in seen.partitions.items():
                stretches.setdefault(name, []).extend(one.stretches)
        before = {name: reach.high for name, reach in self.partitions.items()}
        return before | {name: reached(each, lead, before.get(name, START)) for name, each in stretches.items()}

    def reach(self, sightings: Iterable[Sighting], lead: int) -> int:
        """Up to where rows that the tasks of a micro-batch saw are not too far ahead of the others."""
        return reached((stretch for seen in sightings for stretch in seen.stretches), lead, self.high)

    def _settle(self, seen: Sighting, slack_rows: int) -> None:
        """All but the last `slack_rows` rows are settled."""
        trail = self.recent + seen.recent
        if seen.before != START:  # the task's own last rows are as many as count
            self.settled = max([self.settled, seen.before, *self.recent])
            trail = seen.recent
        self.settled, self.recent = settle(trail, slack_rows, self.settled)

    def advance(self, stream: Stream, now: float = 0.0) -> int:
        """The bound that now holds of the stream; it never goes back. `now` is the time of day, for silence."""
        if partitioned_by(stream.policy):
            idle = idle_of(stream.idle, shape_of(stream).domain)
            bound = Partitions(self.partitions).bound(slack_of(stream), idle, self._silent(stream, now))
        else:
            bound = implied(stream.policy, slack_of(stream), high=self.high, settled=self.settled)
        self.bound = max(self.bound, END if self.ended else max(self.promised, bound))
        return self.bound

    def _silent(self, stream: Stream, now: float) -> set[str]:
        """The partitions that have been silent for so long that they no longer hold back the others."""
        silence = silence_of(stream.idle)
        return set() if silence is None else {name for name, heard in self.heard.items() if now - heard >= silence}

    def held_back_by(self, stream: Stream, now: float) -> str | None:
        """The partition that the others of the stream wait for, as a user calls it."""
        name = Partitions(self.partitions).slowest(slack_of(stream), self._silent(stream, now))
        return None if name is None or self.ended else shown(name)
