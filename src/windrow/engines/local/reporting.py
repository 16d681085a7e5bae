"""What a run in this process reports while it goes on, every few tenths of a second, from the thread that runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from windrow.engines.local.reading import Reading
from windrow.events import tell
from windrow.pipeline.metrics import Metrics

if TYPE_CHECKING:
    from windrow.engines.local.run import Runner

_PROGRESS_EVERY = 0.2


class Reporter:
    """Hands the metrics of a runner to whoever wants them; of each query by itself only where there are several."""

    def __init__(
        self,
        runner: Runner,
        on_progress: Callable[[Metrics], None] | None,
        on_each: Callable[[int, Metrics], None] | None,
    ) -> None:
        self.runner = runner
        self.on_progress = on_progress
        self.on_each = on_each
        self.reported = 0.0

    def look(self) -> None:
        """Between elements, and now and then while none comes."""
        if self.on_progress is not None and time.perf_counter() - self.reported >= _PROGRESS_EVERY:
            self.tell()

    def tell(self) -> Metrics:
        """Report now; what was counted up to now."""
        metrics, ends = self.runner.metrics(), self.runner.pipeline.ends
        if self.on_each is not None and len(ends) > 1:
            for query, end in enumerate(ends):
                self.on_each(query, self.runner.metrics_of(end))
        if self.on_progress is not None:
            self.on_progress(metrics)
        self.reported = time.perf_counter()
        return metrics


def awaited(readings: Mapping[str, Reading]) -> str | None:
    """The source that others wait for, which have elements; None when nothing is held back."""
    if all(reading.waiting is None for reading in readings.values()):
        return None
    empty = (name for name, one in readings.items() if one.waiting is None and not one.ended and not one.is_idle)
    return next(empty, None)


def told(number: int, size: int, seconds: float) -> None:
    """A checkpoint is whole."""
    what = f"checkpoint {number}: {size:,} bytes in {seconds:.2f} s"
    tell("checkpoint.written", what, number=number, bytes=size, seconds=round(seconds, 3))
