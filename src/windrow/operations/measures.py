"""What a run's metrics are called outside, what they mean, and how they become families.

A field of `Metrics` or `SourceMetrics` that has no line here appears under its own name all the same, without a type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from typing import Any

from windrow.operations.families import FamilyKind, MetricFamily, MetricSample, named
from windrow.pipeline.metrics import Metrics
from windrow.semantics.scalars.amounts import Domain

COUNTER, GAUGE, SUMMARY, UNKNOWN = FamilyKind.COUNTER, FamilyKind.GAUGE, FamilyKind.SUMMARY, FamilyKind.UNKNOWN
PREFIX, SOURCE_PREFIX = "windrow_", "windrow_source_"
_MICROSECONDS = 1e6


@dataclass(frozen=True)
class Measure:
    """How one field is shown. A `moment` is a value of the progressing attribute, a `span` is a length of it.

    Where that is a time, both are in seconds, and their names say so.
    """

    name: str
    kind: FamilyKind
    help: str
    unit: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    moment: bool = False
    span: bool = False
    each: str = ""
    """Where the field has a value for each of several names: the label of these."""

    def family(self, prefix: str, domain: Domain) -> MetricFamily:
        name, unit = prefix + self.name, self.unit
        if domain is Domain.TIME and (self.moment or self.span):
            name, unit = name + ("_timestamp_seconds" if self.moment else "_seconds"), "seconds"
        return MetricFamily(name, self.kind, self.help, unit)

    def scaled(self, value: float, domain: Domain) -> float:
        return value / _MICROSECONDS if domain is Domain.TIME and (self.moment or self.span) else value


MEASURES: dict[str, Measure] = {
    "rows_in": Measure("rows_in", COUNTER, "Rows that came in: used, late, early and filtered ones."),
    "rows_used": Measure("rows_used", COUNTER, "Rows that counted in all windows they belong to."),
    "rows_late": Measure("rows_late", COUNTER, "Rows that came too late for one of their windows or for all."),
    "rows_early": Measure("rows_early", COUNTER, "Rows that were further ahead than the lead of their stream."),
    "rows_filtered": Measure("rows_filtered", COUNTER, "Rows that the query's conditions left out."),
    "rows_lost": Measure(
        "rows_lost", COUNTER, "Late and early rows that are missing though nobody chose to drop them."
    ),
    "results": Measure("results", COUNTER, "Rows of the answer that were given."),
    "low_watermark": Measure("watermark_low", GAUGE, "What all sources promise: no row comes below.", moment=True),
    "high_watermark": Measure("watermark_high", GAUGE, "The largest time, or value, that was seen.", moment=True),
    "open_windows": Measure("open_windows", GAUGE, "Windows that are not closed yet."),
    "state_bytes": Measure("state_bytes", GAUGE, "What the operators keep.", "bytes"),
    "rows_stored": Measure("rows_stored", GAUGE, "Rows that joins keep for partners that may still come."),
    "latency_p50": Measure(
        "result_latency_seconds",
        SUMMARY,
        "From a punctuation coming in to its last result going out.",
        "seconds",
        (("quantile", "0.5"),),
    ),
    "latency_p99": Measure(
        "result_latency_seconds",
        SUMMARY,
        "From a punctuation coming in to its last result going out.",
        "seconds",
        (("quantile", "0.99"),),
    ),
    "elapsed": Measure("run_seconds", GAUGE, "How long the run has gone on, up to its last report.", "seconds"),
    "batch_seconds": Measure("batch_seconds", GAUGE, "How long the last micro-batch took.", "seconds"),
    "longest_stall": Measure(
        "longest_stall_seconds", GAUGE, "The longest that one element kept the next one waiting.", "seconds"
    ),
    "results_waiting": Measure("results_waiting", GAUGE, "Cells of closed windows that are not given yet."),
    "cells_evicted": Measure("cells_evicted", COUNTER, "Cells that others drove out of the low level's table."),
    "rows_kept": Measure("rows_kept", GAUGE, "Rows that windows and joins keep."),
    "raw_bytes": Measure("kept_raw_bytes", GAUGE, "What kept rows would take as plain numbers.", "bytes"),
    "kept_bytes": Measure("kept_bytes", GAUGE, "What kept rows take in memory.", "bytes"),
    "spilled_bytes": Measure("spilled_bytes", GAUGE, "What is on the disk because of the memory budget.", "bytes"),
    "spilled_so_far": Measure("spilled_so_far_bytes", COUNTER, "What was written there, needed or not.", "bytes"),
    "cache_hits": Measure("cache_hits", COUNTER, "Blocks of kept rows that were looked up and had been read already."),
    "cache_misses": Measure("cache_misses", COUNTER, "Blocks of kept rows that were looked up and had to be read."),
    "kept_ratios": Measure("kept_ratio", GAUGE, "How many times smaller a kept column is.", each="column"),
    "rows_rejected": Measure("rows_rejected", COUNTER, "Messages of which no row could be made."),
    "datagrams_lost": Measure("datagrams_lost", COUNTER, "Datagrams that never came in."),
    "checkpoints": Measure("checkpoints", COUNTER, "Checkpoints that this run wrote."),
    "checkpoints_skipped": Measure(
        "checkpoints_skipped", COUNTER, "Checkpoints that were due while another was under way."
    ),
    "checkpoint_seconds": Measure(
        "checkpoint_seconds", GAUGE, "How long the last checkpoint took, beside the run.", "seconds"
    ),
    "checkpoint_bytes": Measure("checkpoint_bytes", GAUGE, "What the last checkpoint wrote.", "bytes"),
}
"""Of a query, by the field of `Metrics`."""

SOURCE_MEASURES: dict[str, Measure] = {
    "rows": Measure("rows", COUNTER, "Rows that were read."),
    "high": Measure("high", GAUGE, "The largest time, or value, that was seen.", moment=True),
    "low": Measure("low", GAUGE, "What the source promises: no row comes below.", moment=True),
    "ended": Measure("ended", GAUGE, "1 once nothing more comes."),
    "early": Measure("early_rows", COUNTER, "Rows that were further ahead than the lead of the stream."),
    "behind": Measure("behind", GAUGE, "How far the row furthest behind was behind those before it.", span=True),
    "partitions": Measure("partitions", GAUGE, "Partitions that have a bound of their own."),
    "rejected": Measure("rejected", COUNTER, "Messages of which no row could be made."),
    "lost": Measure("lost_datagrams", COUNTER, "Datagrams that never came in."),
}
"""Of a source, by the field of `SourceMetrics`; of its partitions, where these are known, too."""

LAG = Measure(
    "lag_seconds", GAUGE, "The clock's time now minus the largest time that was seen; never below 0.", "seconds"
)
HOLDS_BACK = Measure("holds_back", GAUGE, "1 where the others wait for this source, or for one of its partitions.")


def of_query(metrics: Metrics, domain: Domain, labels: Mapping[str, str]) -> Iterator[MetricFamily]:
    """The families of one query."""
    for name, value in _values(metrics):
        if name != "sources":
            yield from _shown(name, value, MEASURES, PREFIX, domain, labels)


def of_sources(metrics: Metrics, domains: Mapping[str, Domain], now: float) -> Iterator[MetricFamily]:
    """The families of all sources, when the clock says `now` in seconds."""
    for source, progress in metrics.sources.items():
        domain, labels = domains.get(source, Domain.INTEGER), {"source": source}
        yield from _of_progress(progress, domain, labels, now)
        yield _one(HOLDS_BACK, SOURCE_PREFIX, domain, labels, _holds(metrics, source))


def _holds(metrics: Metrics, source: str) -> bool:
    """Whether others wait for this source, or its own partitions for one of them."""
    held = metrics.held_back_by
    return held is not None and (held == source or held.startswith(f"{source}, "))


def _of_progress(progress: Any, domain: Domain, labels: Mapping[str, str], now: float) -> Iterator[MetricFamily]:
    """Of a source, or of a part of one."""
    for name, value in _values(progress):
        if isinstance(value, Mapping) and any(is_dataclass(one) for one in value.values()):
            for part, one in value.items():
                yield from _of_progress(one, domain, {**labels, named(name.removesuffix("s")): str(part)}, now)
        else:
            yield from _shown(name, value, SOURCE_MEASURES, SOURCE_PREFIX, domain, labels)
    high, ended = getattr(progress, "high", None), getattr(progress, "ended", False)
    if domain is Domain.TIME and high is not None and not ended:
        yield _one(LAG, SOURCE_PREFIX, domain, labels, max(0.0, now - high / _MICROSECONDS))


def _values(one: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(one):
        yield field.name, getattr(one, field.name)


def _shown(
    name: str, value: Any, known: Mapping[str, Measure], prefix: str, domain: Domain, labels: Mapping[str, str]
) -> Iterator[MetricFamily]:
    """A field as a family, where it has a number; or a number for each of several names."""
    measure = known.get(name) or unknown(name)
    if isinstance(value, Real):
        yield _one(measure, prefix, domain, labels, value)
    elif isinstance(value, Mapping):
        for part, one in value.items():
            if isinstance(one, Real):
                yield _one(measure, prefix, domain, {**labels, measure.each or "of": str(part)}, one)


def _one(measure: Measure, prefix: str, domain: Domain, labels: Mapping[str, str], value: Any) -> MetricFamily:
    family = measure.family(prefix, domain)
    whole = int(value) if isinstance(value, (bool, int)) else float(value)
    family.samples.append(MetricSample({**labels, **dict(measure.labels)}, measure.scaled(whole, domain)))
    return family


def unknown(name: str) -> Measure:
    """A field that nobody has described; what its name ends in may be a unit.

    >>> unknown("checkpoint_bytes").unit
    'bytes'
    """
    unit = next((unit for unit in ("bytes", "seconds") if name.endswith(f"_{unit}")), "")
    return Measure(named(name), UNKNOWN, f"The field {name} of the metrics of a run.", unit)


def names_of(measures: Sequence[Measure], prefix: str) -> list[tuple[str, str, str]]:
    """Name as it is scraped, type and meaning of each, for streams whose progress is a time."""
    rows = []
    for measure in measures:
        family = measure.family(prefix, Domain.TIME)
        rows.append((family.name + family.kind.suffix, family.kind.value, measure.help))
    return list(dict.fromkeys(rows))
