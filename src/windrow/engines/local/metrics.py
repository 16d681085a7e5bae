"""What a running query tells about itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from windrow.semantics.progress import END, START


@dataclass
class SourceMetrics:
    """Progress of one source: rows read, largest value seen, promise in force."""

    rows: int = 0
    high: int | None = None
    low: int | None = None


@dataclass
class Metrics:
    """Counts and progress of a query. Rows in = used (in full) + late (for some window) + filtered.

    Watermarks are values of the progressing attribute (microseconds for timestamps); latencies are seconds from a
    punctuation coming in to its last result going out.
    """

    rows_in: int = 0
    rows_used: int = 0
    rows_late: int = 0
    rows_filtered: int = 0
    results: int = 0
    low_watermark: int | None = None
    high_watermark: int | None = None
    open_windows: int = 0
    state_bytes: int = 0
    latency_p50: float | None = None
    latency_p99: float | None = None
    elapsed: float = 0.0
    sources: dict[str, SourceMetrics] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def known(value: int) -> int | None:
    """A watermark, or None before the first and after the last."""
    return None if value in (START, END) else value


def percentile(samples: list[float], share: float) -> float | None:
    return float(np.quantile(samples, share)) if samples else None
