"""What a running query reports about itself."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.policies import END, START


@dataclass
class SourceMetrics:
    """Progress of one source: rows read, largest value seen, promise in force, and whether nothing more comes.

    `early` rows were further ahead than the stream's lead; they are not among those whose value is the largest seen.
    `behind` is how far the row that was furthest behind, of those below the bound, was behind the largest value before
    it (or behind the punctuation in force): with so much slack none would have been below. `jump` is the row that moved
    progress past most of them, where one did. Of `rejected` messages no row could be made; `lost` datagrams never came
    in. Where each of its `partitions` has a bound of its own, that is how many there are, and `held_back_by` names the
    one that the others wait for.
    """

    rows: int = 0
    high: int | None = None
    low: int | None = None
    ended: bool = False
    early: int = 0
    behind: int | None = None
    jump: Jump | None = None
    rejected: int = 0
    partitions: int | None = None
    held_back_by: str | None = None
    lost: int = 0

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> SourceMetrics:
        jump = values.get("jump")
        return SourceMetrics(**{**values, "jump": jump and Jump(**jump)})


_ADDED = (
    *("rows_in", "rows_used", "rows_late", "rows_early", "rows_filtered", "rows_lost", "rows_rejected", "results"),
    *("open_windows", "state_bytes", "rows_stored", "results_waiting", "cells_evicted", "strategies", "elapsed"),
    *("rows_kept", "raw_bytes", "kept_bytes", "spilled_bytes", "spilled_so_far"),
    *("cache_hits", "cache_misses", "datagrams_lost"),
    *("checkpoints", "checkpoints_skipped"),
)
"""What adds up over several runs."""


@dataclass
class Metrics:
    """Counts and progress of a query. Rows in = used (in full) + late (for some window) + early + filtered.

    `rows_lost` are those of the late and early ones that are missing although nobody chose to drop them.
    Watermarks are values of the progressing attribute (microseconds for timestamps); latencies are seconds from a
    punctuation coming in to its last result going out. `held_back_by` names the source that the others wait for, with
    its partition where that has a bound of its own, and
    `batch_seconds` is the time of the last micro-batch, where there are such. `strategies` has, for each window
    aggregate of a local run, the strategy that ran and the reasons for it. `longest_stall` is the longest time in
    seconds for which an element kept the next one waiting, in process. Where windows are given in slices,
    `results_waiting` is how many cells of closed windows wait, and `cells_evicted` how many others drove out.
    `rows_stored` is how many rows joins keep for those that may still meet them. `rows_kept` are those that windows and
    joins keep and that may be in coded blocks: `raw_bytes` is what they would take as plain numbers, `kept_bytes` what
    they take in memory, indexes and what is cached included, and `spilled_bytes` what is on the disk because of a
    memory budget; `spilled_so_far` counts what is not needed there any more, too. Of the blocks that single rows were
    looked up in, `cache_hits` had been read already and `cache_misses` had not. `kept_ratios` says for each column, in
    process, how many times as many bytes it would take as plain numbers. `datagrams_lost` are those that sources know
    of and did not get. In process, `checkpoints` counts those that this run wrote, and `checkpoints_skipped` those that
    were due while another was under way; `checkpoint_seconds` is how long the last one took, beside the run, and
    `checkpoint_bytes` what it wrote.
    """

    rows_in: int = 0
    rows_used: int = 0
    rows_late: int = 0
    rows_filtered: int = 0
    rows_early: int = 0
    rows_lost: int = 0
    rows_rejected: int = 0
    results: int = 0
    low_watermark: int | None = None
    high_watermark: int | None = None
    open_windows: int = 0
    state_bytes: int = 0
    rows_stored: int = 0
    latency_p50: float | None = None
    latency_p99: float | None = None
    elapsed: float = 0.0
    sources: dict[str, SourceMetrics] = field(default_factory=dict)
    held_back_by: str | None = None
    batch_seconds: float | None = None
    strategies: list[list[str]] = field(default_factory=list)
    longest_stall: float | None = None
    results_waiting: int = 0
    cells_evicted: int = 0
    rows_kept: int = 0
    raw_bytes: int = 0
    kept_bytes: int = 0
    spilled_bytes: int = 0
    spilled_so_far: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    kept_ratios: dict[str, float] = field(default_factory=dict)
    datagrams_lost: int = 0
    checkpoints: int = 0
    checkpoints_skipped: int = 0
    checkpoint_seconds: float | None = None
    checkpoint_bytes: int = 0

    def plus(self, other: Metrics) -> Metrics:
        """Of two runs one after the other."""
        return replace(
            other,
            **{name: getattr(self, name) + getattr(other, name) for name in _ADDED},
            longest_stall=max((m.longest_stall for m in (self, other) if m.longest_stall is not None), default=None),
            sources={**self.sources, **other.sources},
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Metrics:
        sources = {name: SourceMetrics.from_dict(source) for name, source in values["sources"].items()}
        return Metrics(**{**values, "sources": sources})


def known(value: int) -> int | None:
    """A watermark, or None before the first and after the last."""
    return None if value in (START, END) else value


def slowest(sources: Mapping[str, SourceMetrics]) -> str | None:
    """The source that holds the others back: one that promised nothing yet, else the one that promised least; and the
    partition that it waits for itself.

    None when there is one source, when all have ended or promised nothing, and when none is behind another.

    >>> slowest({"trades": SourceMetrics(9, 70, 60), "quotes": SourceMetrics(4, 50, 40)})
    'quotes'
    >>> slowest({"trades": SourceMetrics(9, 70, 60, partitions=4, held_back_by="partition 3")})
    'trades, partition 3'
    """
    name = next(iter(sources)) if len(sources) == 1 else _slowest_source(sources)
    partition = sources[name].held_back_by if name is not None else None
    if partition is not None:
        return f"{name}, {partition}"
    return None if len(sources) == 1 else name


def _slowest_source(sources: Mapping[str, SourceMetrics]) -> str | None:
    lows = {name: source.low for name, source in sources.items() if not source.ended}
    if len(sources) < 2 or all(low is None for low in lows.values()):
        return None
    if len(lows) == len(sources) and len(set(lows.values())) == 1:
        return None
    return min(lows, key=lambda name: (lows[name] is not None, lows[name] or 0))


def percentiles(samples: Collection[float], *shares: float) -> list[float | None]:
    return np.quantile(np.fromiter(samples, np.float64), shares).tolist() if samples else [None] * len(shares)
