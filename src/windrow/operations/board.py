"""The board of a run: the last metrics that its thread published, and whether all is well. Looking at it costs the run
nothing: what is published is replaced as a whole, and nobody locks anything.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from windrow.engines.pulse import Pulse
from windrow.operations import measures
from windrow.operations.families import FamilyKind, MetricFamily, MetricSample, rendered
from windrow.operations.process import of_process
from windrow.pipeline.metrics import Metrics
from windrow.semantics.scalars.amounts import Domain

STALLED_AFTER = 300.0
"""Seconds without progress after which a run is not well, unless its user says."""


@dataclass(frozen=True)
class RunFacts:
    """What does not change while a run goes on."""

    engine: str
    queries: tuple[Domain, ...]
    """What the progress of each query is."""
    sources: Mapping[str, Domain] = field(default_factory=dict)


@dataclass(frozen=True)
class Health:
    """Whether all is well, and if not why, in one line."""

    ok: bool
    reason: str = "ok"


class Board:
    """What is known of a run. The thread that runs publishes, any other reads."""

    def __init__(
        self,
        facts: RunFacts,
        pulse: Pulse,
        *,
        stalled_after: float = STALLED_AFTER,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.facts = facts
        self.pulse = pulse
        self.stalled_after = stalled_after
        self.now = now
        """The time of day, in seconds: what lags are measured against."""
        self.metrics = Metrics()
        self.each: dict[int, Metrics] = {}
        self.restarts = 0
        self.failure: str | None = None
        """Why the run broke off, in one line."""
        self.has_ended = False
        self._began = pulse.clock()

    def publish(self, metrics: Metrics) -> None:
        """Of all queries together."""
        self.metrics = metrics

    def publish_each(self, query: int, metrics: Metrics) -> None:
        """Of one of several queries."""
        self.each = {**self.each, query: metrics}

    def go_on(self, pulse: Pulse) -> None:
        """The run begins once more, with another thread's pulse."""
        self.pulse, self.failure, self.has_ended = pulse, None, False

    def is_alive(self) -> Health:
        """Whether the thread of the run is seen: that nothing has it stand still for too long."""
        if self.failure is not None:
            return Health(False, f"failed: {self.failure}")
        silence = self.pulse.silence
        if not self.has_ended and self.pulse.is_ready and silence > self.stalled_after:
            return Health(False, f"stalled: nothing was worked on or looked for in {silence:.0f} s")
        return Health(True)

    def health(self) -> Health:
        """Whether the run lives, and its elements are worked on."""
        alive = self.is_alive()
        held, source = self.pulse.held, self.pulse.held_by
        if alive.ok and not self.has_ended and held > self.stalled_after:
            return Health(False, f"stalled: nothing comes from {source}, for which others have waited {held:.0f} s")
        busy = self.pulse.busy
        if alive.ok and not self.has_ended and busy > self.stalled_after:
            return Health(False, f"stalled: one micro-batch has taken {busy:.0f} s up to now")
        return alive

    def readiness(self) -> Health:
        """Whether all sources are open, and the first element or tick was seen."""
        alive = self.is_alive()
        if not alive.ok:
            return alive
        return Health(True) if self.pulse.is_ready else Health(False, "not ready: sources are being opened")

    def text(self) -> str:
        """All metrics, as they are scraped."""
        return rendered(self.families())

    def families(self) -> Iterator[MetricFamily]:
        yield from of_process(self.facts.engine, max(0.0, self.pulse.clock() - self._began))
        yield from self._state()
        whole, each = self.metrics, self.each
        for query, domain in enumerate(self.facts.queries):
            metrics = each.get(query, Metrics()) if len(self.facts.queries) > 1 else whole
            yield from measures.of_query(metrics, domain, {"query": str(query + 1)})
        yield from measures.of_sources(whole, self.facts.sources, self.now())

    def _state(self) -> Iterator[MetricFamily]:
        for name, kind, unit, help_text in STATE:
            value = {
                "windrow_up": int(self.health().ok),
                "windrow_ready": int(self.readiness().ok),
                "windrow_restarts": self.restarts,
                "windrow_last_seen_seconds": self.pulse.silence,
                "windrow_held_back_seconds": self.pulse.held,
            }[name]
            yield MetricFamily(name, kind, help_text, unit, [MetricSample({}, value)])


STATE = (
    ("windrow_up", FamilyKind.GAUGE, "", "1 while the run is well, as /health says."),
    ("windrow_ready", FamilyKind.GAUGE, "", "1 once sources are open and were looked at, as /ready says."),
    ("windrow_restarts", FamilyKind.COUNTER, "", "How often the command has begun the run again."),
    (
        "windrow_last_seen_seconds",
        FamilyKind.GAUGE,
        "seconds",
        "Since the thread of the run was last seen between two elements, or waiting for one.",
    ),
    (
        "windrow_held_back_seconds",
        FamilyKind.GAUGE,
        "seconds",
        "For how long elements have waited for a source from which nothing comes; 0 when none does.",
    ),
)
"""What a run is doing: names, types, units and meanings."""
