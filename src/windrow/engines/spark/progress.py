"""How far each stream has come, told in band: every task tells every shard what it saw.

A policy speaks at the end of a micro-batch, over all rows up to there: which rows of a micro-batch came first is not
defined on Spark, and no answer may depend on it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from windrow.engines.spark.wire import damaged
from windrow.plan.nodes import Stream
from windrow.plan.schema import domain_of
from windrow.semantics.progress import END, START, Ordered, Slack, SlackRows


@dataclass
class Sighting:
    """What one task saw of one stream in one micro-batch."""

    order: int = 0
    """Where the task's rows stand among those of the micro-batch."""
    first: int | None = None
    """The number of its first row in the stream, where rows have one."""
    rows: int = 0
    filtered: int = 0
    high: int = START
    """The largest time of any row."""
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

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Progress:
    """One stream as all shards know it."""

    rows: int = 0
    filtered: int = 0
    high: int = START
    latest: int = START
    promised: int = START
    settled: int = START
    recent: list[int] = field(default_factory=list)
    ended: bool = False
    bound: int = START

    def check(self, sightings: Iterable[Sighting], stream: str) -> None:
        """Refuse a micro-batch that does not begin with the row behind the last one: Spark's logs and this state are
        not of one checkpoint, or one of them has changed.
        """
        rows = self.rows
        for seen in sorted(sightings, key=lambda one: one.order):
            if seen.first is not None and seen.first != rows:
                raise damaged(f"its state has {rows:,} rows of {stream}, and Spark goes on behind {seen.first:,}")
            rows += seen.rows

    def see(self, sightings: Iterable[Sighting], slack_rows: int) -> None:
        """Take in what the tasks of one micro-batch saw."""
        for seen in sorted(sightings, key=lambda one: one.order):
            self.rows += seen.rows
            self.filtered += seen.filtered
            self.high = max(self.high, seen.high)
            self.latest = max(self.latest, seen.latest)
            self.promised = max(self.promised, seen.promised)
            self.ended = self.ended or seen.ends
            self._settle(seen, slack_rows)

    def _settle(self, seen: Sighting, slack_rows: int) -> None:
        """All but the last `slack_rows` rows are settled."""
        trail = self.recent + seen.recent
        if seen.before != START:  # the task's own last rows are as many as count
            self.settled = max([self.settled, seen.before, *self.recent])
            trail = seen.recent
        done = max(0, len(trail) - slack_rows)
        self.settled = max([self.settled, *trail[:done]])
        self.recent = trail[done:]

    def advance(self, stream: Stream) -> int:
        """The bound that now holds of the stream; it never goes back."""
        self.bound = max(self.bound, END if self.ended else max(self.promised, self._implied(stream)))
        return self.bound

    def _implied(self, stream: Stream) -> int:
        policy = stream.policy
        if isinstance(policy, Ordered):
            return self.high
        if isinstance(policy, Slack):
            slack = policy.amount.resolve(domain_of(stream.schema.field(stream.time).type), "slack")
            return self.high - slack if self.high != START else START
        if isinstance(policy, SlackRows):
            return self.settled
        return START


def slack_rows_of(stream: Stream) -> int:
    return stream.policy.rows if isinstance(stream.policy, SlackRows) else 0
