"""How far each stream has come, told in band: every task tells every shard what it saw.

A policy speaks at the end of a micro-batch, over all rows up to there: which rows of a micro-batch came first is not
defined on Spark, and no answer may depend on it. So, too, which rows are too far ahead is decided of all of them
together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from windrow.operators.input.disorder import no_notes
from windrow.operators.input.policy import implied, moved_by, settle, slack_of, slack_rows_of
from windrow.operators.kernels.disorder import BEHIND, BELOW, note_behind, note_jump
from windrow.plan.nodes import Stream
from windrow.semantics.progress.policies import END, START, External
from windrow.sharded.time_stretches import Stretch, reached, trail
from windrow.sharded.wire import damaged

GRACE = 8
"""So many micro-batches ahead of the others may come before it is said that the stream itself has gone there."""


@dataclass
class Sighting:
    """What one task saw of one stream in one micro-batch."""

    order: int = 0
    """Where the task's rows stand among those of the micro-batch."""
    first: int | None = None
    """The number of its first row in the stream, where rows have one: punctuations in a column are rows, too."""
    last: int = 0
    """The number of the row behind its last."""
    rows: int = 0
    filtered: int = 0
    early: int = 0
    high: int = START
    """The largest time of any row."""
    least: int = END
    """The smallest time of any row."""
    latest: int = START
    """The largest time of a row that passed the filters."""
    promised: int = START
    """The largest punctuation the data carried."""
    recent: list[int] = field(default_factory=list)
    """The times of its last rows, for slack counted in rows."""
    before: int = START
    """The largest time before those."""
    ends: bool = False
    """Nothing follows."""
    wall: float = 0.0
    """When it was, for idle times by the clock."""
    stretches: list[Stretch] = field(default_factory=list)
    """All its times, where a lead decides which of them count."""
    passed: list[Stretch] = field(default_factory=list)
    """Those of the rows that passed the filters."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(told: dict[str, Any]) -> Sighting:
        known = {name: [Stretch(**one) for one in told[name]] for name in ("stretches", "passed")}
        return Sighting(**{**told, **known})

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
class Progress:
    """One stream as all shards know it."""

    read: int = 0
    """The number of the row that comes next, where rows have one."""
    rows: int = 0
    filtered: int = 0
    early: int = 0
    high: int = START
    latest: int = START
    promised: int = START
    settled: int = START
    recent: list[int] = field(default_factory=list)
    ended: bool = False
    bound: int = START
    batches: int = 0
    """How many micro-batches there were."""
    notes: list[int] = field(default_factory=no_notes)
    """Of `kernels.disorder`, with micro-batches as steps."""

    def check(self, sightings: Iterable[Sighting], stream: str) -> None:
        """Refuse a micro-batch that does not begin with the row behind the last one: Spark's logs and this state are
        not of one checkpoint, or one of them has changed.
        """
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
        """What moves the bound."""
        return moved_by(stream.policy, high=self.high, settled=self.settled, promised=self.promised)

    def _note_behind(self, sightings: Sequence[Sighting], stream: Stream) -> None:
        """How far rows are below what was promised before their micro-batch; those of a whole one count as behind."""
        least = min((seen.least for seen in sightings), default=END)
        if not least < self.bound < END:
            return
        against = self.promised if isinstance(stream.policy, External) else self.high
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

    def advance(self, stream: Stream) -> int:
        """The bound that now holds of the stream; it never goes back."""
        bound = implied(stream.policy, slack_of(stream), high=self.high, settled=self.settled)
        self.bound = max(self.bound, END if self.ended else max(self.promised, bound))
        return self.bound
