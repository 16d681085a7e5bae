"""What a running query on Spark reports about itself, read from the progress of its micro-batches.

The engine observes its counts (`wire.COUNTED`) under the name `windrow`, and as JSON text the `sources`. All but what
is open, kept and waits are totals since the query first began.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql.streaming.listener import StreamingQueryListener

from windrow.engines.run import Stopped
from windrow.errors import reason_of
from windrow.pipeline.metrics import Metrics, SourceMetrics, slowest
from windrow.sharded.wire import COUNTED
from windrow.sinks.base import unwritable
from windrow.sources.addresses import own_path

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

OBSERVED = "windrow"
OnProgress: TypeAlias = Callable[[Metrics], None]

_LOOK_EVERY = 0.2


def observed_as(name: str, query: int) -> str:
    """Under which name a count of one of the queries that run together is observed."""
    return f"{name}_{query + 1}" if query else name


def metrics_of(progress: Mapping[str, Any] | Any, query: int = 0) -> Metrics:
    """The counts of a query in the progress of a micro-batch: Spark's object, or the same as a dict or parsed JSON."""
    whole = observed(progress) or {}
    found = json.loads(whole.get(observed_as("sources", query)) or "{}")
    sources = {name: SourceMetrics.from_dict(source) for name, source in found.items()}
    counts = {name: int(whole.get(observed_as(name, query)) or 0) for name in COUNTED}
    rows = sum(source.rows for source in sources.values())
    spent = (_part(progress, "durationMs") or {}).get("triggerExecution", _part(progress, "batchDuration"))
    return Metrics(
        rows_in=rows,
        rows_used=rows - counts["late"] - counts["early"] - counts["filtered"],
        rows_late=counts["late"],
        rows_rejected=sum(source.rejected for source in sources.values()),
        rows_filtered=counts["filtered"],
        rows_early=counts["early"],
        rows_lost=counts["lost"],
        results=counts["results"],
        low_watermark=_low(sources),
        high_watermark=max((source.high for source in sources.values() if source.high is not None), default=None),
        open_windows=counts["windows"],
        state_bytes=counts["bytes"],
        rows_stored=counts["stored"],
        results_waiting=counts["waiting"],
        cells_evicted=counts["evicted"],
        rows_kept=counts["kept"],
        raw_bytes=counts["raw"],
        kept_bytes=counts["held"],
        cache_hits=counts["hits"],
        cache_misses=counts["misses"],
        spilled_bytes=counts["spilled"],
        spilled_so_far=counts["written"],
        sources=sources,
        held_back_by=slowest(sources),
        batch_seconds=None if spent is None else spent / 1000,
    )


def observed(progress: Mapping[str, Any] | Any) -> dict[str, Any] | None:
    """What the engine observed in a micro-batch; None when it was not one of Windrow's, or had nothing to report."""
    row = (_part(progress, "observedMetrics") or {}).get(OBSERVED)
    if row is None:
        return None
    found = dict(row) if isinstance(row, Mapping) else row.asDict()
    if set(found) == {"values", "schema"}:  # how Spark Connect writes a row with its schema
        found = dict(zip((field["name"] for field in found["schema"]["fields"]), found["values"], strict=True))
    return found if any(value is not None for value in found.values()) else None


def _part(progress: Mapping[str, Any] | Any, name: str) -> Any:
    return progress.get(name) if isinstance(progress, Mapping) else getattr(progress, name, None)


def _low(sources: Mapping[str, SourceMetrics]) -> int | None:
    """The least promise; None while a source that has not ended promised nothing."""
    lows = [source.low for source in sources.values() if not source.ended]
    known = [low for low in lows if low is not None]
    return min(known) if known and len(known) == len(lows) else None


class _Reporting:
    """Hands on the metrics of each micro-batch, and appends them to a file; that it can be written is found at once."""

    def __init__(self, on_progress: OnProgress | None, json_lines: str | Path | None) -> None:
        self.on_progress = on_progress
        self.path = None if json_lines is None else own_path(json_lines)
        self._append("")

    def __call__(self, progress: Mapping[str, Any] | Any, metrics: Metrics) -> None:
        place = {"batch": _part(progress, "batchId"), "timestamp": _part(progress, "timestamp")}
        self._append(json.dumps({**place, **metrics.to_dict()}) + "\n")
        if self.on_progress is not None:
            self.on_progress(metrics)

    def _append(self, text: str) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise unwritable(self.path, reason_of(error), "json_lines") from error


class Watch:
    """Reports each micro-batch of a query once, in order.

    It asks the query for its recent progress instead of listening, because that works on every kind of session.
    """

    def __init__(
        self,
        query: StreamingQuery,
        on_progress: OnProgress | None = None,
        json_lines: str | Path | None = None,
        *,
        queries: int = 1,
        stop: Event | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.query = query
        self.metrics = Metrics()
        self.each = [Metrics() for _ in range(queries)]
        """Of each query, where several run together; `metrics` are then of all of them."""
        self._report = _Reporting(on_progress, json_lines)
        self._stop = stop or Event()
        self._clock = clock
        self._started = clock()
        self.batch = self._noticed = -1
        """The last micro-batch that was reported."""

    def look(self) -> Metrics:
        """Report the micro-batches that have come since the last look; the latest metrics."""
        for progress in self.query.recentProgress:
            batch = _part(progress, "batchId")
            if batch <= self.batch or observed(progress) is None:
                continue
            self.batch = batch
            elapsed = self._clock() - self._started
            self.each = [replace(metrics_of(progress, query), elapsed=elapsed) for query in range(len(self.each))]
            self.metrics = replace(reduce(Metrics.plus, self.each), elapsed=elapsed)
            self._report(progress, self.metrics)
        return self.metrics

    def is_busy(self) -> bool:
        """Whether a micro-batch is under way, and none has ended since this was last asked."""
        moved, self._noticed = self.batch != self._noticed, self.batch
        return not moved and bool(self.query.status["isTriggerActive"])

    def to_the_end(self) -> Metrics:
        """Look until the query ends; raises what ended it, and ends it when the caller is interrupted or says stop."""
        while not self.has_ended():
            pass
        return self.metrics

    def has_ended(self) -> bool:
        """Wait a moment, then look: whether the query has ended. Raises what `to_the_end` does."""
        try:
            ended = bool(self.query.awaitTermination(_LOOK_EVERY))  # type: ignore[arg-type]  # fractions are fine
            self.look()
            if self._stop.is_set() and not ended:
                raise Stopped
        except BaseException:
            if self.query.isActive:
                self.query.stop()
            raise
        return ended


class MetricsListener(StreamingQueryListener):
    """Reports each micro-batch of every query of Windrow's in a classic session.

    `spark.streams.addListener(MetricsListener(print))` is all it takes. `latest` has the last metrics by the query's
    name, or by its id where it has none. On a Connect session use `Watch`.
    """

    def __init__(self, on_progress: OnProgress | None = None, json_lines: str | Path | None = None) -> None:
        self.latest: dict[str, Metrics] = {}
        self._report = _Reporting(on_progress, json_lines)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to report yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        progress = event.progress
        if observed(progress) is not None:
            metrics = self.latest[progress.name or str(progress.id)] = metrics_of(progress)
            self._report(progress, metrics)

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Its last micro-batch was reported."""
