"""Tells the story of a run as events: that it began, how far it is, what went wrong on the way, how it ended.

It reads the metrics that the run publishes, and is called by one thread only. What repeats is told seldom.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from windrow.engines.pulse import Pulse
from windrow.errors import DataError
from windrow.events import LOGGER, Seldom, tell
from windrow.pipeline.metrics import Metrics
from windrow.semantics.scalars.amounts import Domain
from windrow.semantics.scalars.moments import moment

PROGRESS_SECONDS = 5.0
"""A log wants few lines."""
STALL_SECONDS = 60.0
"""For how long windows stay open that others hold back before it is told."""
REMIND_SECONDS = 300.0
"""After which what still holds is told again."""
_TROUBLES = (
    ("rejected", "rows_rejected", "messages could not be read as rows"),
    ("lost", "datagrams_lost", "datagrams were lost, on the way or because a buffer was full"),
    ("late", "rows_late", "rows came too late for some of their windows; more slack keeps them in time"),
    ("early", "rows_early", "rows were further ahead than the lead of their stream, and were set aside"),
)


class Narrator:
    """One run, told event by event."""

    def __init__(self, domain: Domain, pulse: Pulse, *, stall_seconds: float = STALL_SECONDS) -> None:
        """`domain` is that of the first stream: how watermarks are shown."""
        self.domain = domain
        self.pulse = pulse
        self.stall_seconds = stall_seconds
        self._clock = pulse.clock
        self._seldom = Seldom(self._clock)
        self._last = self._clock()
        self._rows: int | None = None
        self._low: int | None = None
        self._moved = self._last
        self._is_stalled = False
        self._known = dict.fromkeys((event for event, _, _ in _TROUBLES), 0)
        self._ended: set[str] = set()

    def begin(self, facts: Mapping[str, Any]) -> None:
        """The run begins: what it is of."""
        self._last, self._moved = self._clock(), self._clock()
        sources = ", ".join(facts.get("sources", ()))
        tell("started", f"{facts.get('engine')} engine over {sources or 'no stream'}", **facts)

    def look(self, metrics: Metrics) -> None:
        """How far the run is now; called as often as anybody likes."""
        if not LOGGER.isEnabledFor(logging.WARNING):
            return
        self._note_troubles(metrics)
        self._note_ends(metrics)
        self._note_stall(metrics)
        now = self._clock()
        if self._rows is None:
            self._rows = metrics.rows_in
        if now - self._last >= PROGRESS_SECONDS:
            rate = (metrics.rows_in - self._rows) / (now - self._last)
            self._last, self._rows = now, metrics.rows_in
            tell("progress", progress_line(metrics, rate, self.domain), **_progress(metrics, rate, self.domain))

    def end(self, metrics: Metrics, error: BaseException | None, *, left: bool) -> None:
        """The run is over, or left for another to go on."""
        fields = account(metrics)
        if error is None:
            event, message = ("left", "the run ends here, with all it has") if left else ("ended", "all was read")
            tell(event, f"{message}: {account_line(metrics)}", **fields)
        elif isinstance(error, Exception):
            tell("failed", " ".join(str(error).split()), level=logging.ERROR, kind=type(error).__name__, **fields)

    def _note_troubles(self, metrics: Metrics) -> None:
        for event, field, what in _TROUBLES:
            count, before = getattr(metrics, field), self._known[event]
            if count > before and self._seldom.due(event, REMIND_SECONDS if before else 0.0) is not None:
                self._known[event] = count
                since = f", {count - before:,} of them since this was last told" if before else ""
                text = f"{count:,} {what}{since}"
                tell(event, text, level=logging.WARNING, rows=count, new=count - before, rows_in=metrics.rows_in)

    def _note_ends(self, metrics: Metrics) -> None:
        for name, source in metrics.sources.items():
            if source.ended and name not in self._ended:
                self._ended.add(name)
                tell("source.ended", f"{name} has ended after {source.rows:,} rows", source=name, rows=source.rows)

    def _note_stall(self, metrics: Metrics) -> None:
        """Whether windows stay open because one source is behind."""
        now = self._clock()
        if metrics.low_watermark != self._low:
            self._low, self._moved = metrics.low_watermark, now
        who = self.pulse.held_by or metrics.held_back_by
        seconds = now - self._moved
        if who is None or seconds < self.stall_seconds:
            if self._is_stalled and self._moved == now:
                self._is_stalled = False
                tell("moving", "windows close again", watermark=shown(self._low, self.domain))
            return
        self._is_stalled = True
        if self._seldom.due("stalled", REMIND_SECONDS) is not None:
            text = f"no window has closed for {seconds:.0f} s: held back by {who}"
            found = shown(self._low, self.domain)
            tell("stalled", text, level=logging.WARNING, source=who, seconds=round(seconds, 1), watermark=found)


def shown(value: int | None, domain: Domain) -> str | int | None:
    """A watermark: a time in ISO form, or a number.

    >>> shown(1_700_000_000_500_000, Domain.TIME), shown(7, Domain.INTEGER), shown(None, Domain.TIME)
    ('2023-11-14T22:13:20.500000+00:00', 7, None)
    """
    if value is None or domain is Domain.INTEGER:
        return value
    try:
        return moment(value).isoformat()
    except DataError:  # beyond the calendar
        return value


def progress_line(metrics: Metrics, rate: float, domain: Domain) -> str:
    """How far a run is, for people."""
    held = f" (held back by {metrics.held_back_by})" if metrics.held_back_by else ""
    low = shown(metrics.low_watermark, domain)
    late = [f"{metrics.rows_late:,} late"] if metrics.rows_late else []
    early = [f"{metrics.rows_early:,} early"] if metrics.rows_early else []
    watermark = f"watermark {'none yet' if low is None else low}{held}"
    parts = [f"{metrics.rows_in:,} rows", f"{rate:,.0f} rows/s", watermark, f"{metrics.open_windows:,} open windows"]
    return ", ".join([*parts, *late, *early])


def _progress(metrics: Metrics, rate: float, domain: Domain) -> dict[str, Any]:
    return {
        **account(metrics),
        "rate": round(rate, 1),
        "watermark_low": shown(metrics.low_watermark, domain),
        "watermark_high": shown(metrics.high_watermark, domain),
        "held_back_by": metrics.held_back_by,
        "open_windows": metrics.open_windows,
        "state_bytes": metrics.state_bytes,
    }


def account(metrics: Metrics) -> dict[str, Any]:
    """What became of all rows."""
    names = ("rows_in", "rows_used", "rows_late", "rows_early", "rows_filtered", "rows_lost", "results")
    return {name: getattr(metrics, name) for name in names}


def account_line(metrics: Metrics) -> str:
    """The same, for people."""
    return (
        f"rows in {metrics.rows_in:,} = used {metrics.rows_used:,} + late {metrics.rows_late:,} + early "
        f"{metrics.rows_early:,} + filtered {metrics.rows_filtered:,}; {metrics.results:,} results"
    )
