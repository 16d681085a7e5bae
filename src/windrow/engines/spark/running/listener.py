"""Metrics of Windrow's queries inside the user's own streaming jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from windrow.engines.spark.running.observing import MetricsLines, OnProgress, metrics_of, observed
from windrow.pipeline.metrics import Metrics


class MetricsListener(StreamingQueryListener):
    """Tells of each micro-batch of every query of Windrow's in a classic session.

    `spark.streams.addListener(MetricsListener(print))` is all it takes. `latest` has the last metrics by the query's
    name, or by its id where it has none. On a Connect session use `Watch`.
    """

    def __init__(self, on_progress: OnProgress | None = None, json_lines: str | Path | None = None) -> None:
        self.latest: dict[str, Metrics] = {}
        self._on_progress = on_progress
        self._lines = None if json_lines is None else MetricsLines(json_lines)

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to tell yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        progress = event.progress
        if observed(progress) is None:
            return
        metrics = metrics_of(progress)
        self.latest[progress.name or str(progress.id)] = metrics
        if self._lines is not None:
            self._lines.write(progress, metrics)
        if self._on_progress is not None:
            self._on_progress(metrics)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing new."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """The last micro-batch has told it all."""
