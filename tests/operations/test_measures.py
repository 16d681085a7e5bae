"""What metrics are called outside; fields that come later appear, too."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from windrow.operations import measures
from windrow.operations.families import rendered
from windrow.pipeline.metrics import Metrics, SourceMetrics
from windrow.semantics.scalars.amounts import Domain

NOW = 1_700_000_100.0
HIGH = 1_700_000_090_000_000


def read(families: Any) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Values by name and labels, as Prometheus understands them."""
    found = text_string_to_metric_families(rendered(families))
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in found for s in family.samples}


def full() -> Metrics:
    """Metrics in which every number is another."""
    sources = {"trades": SourceMetrics(10, HIGH, HIGH - 30_000_000, False, 2, 5_000_000)}
    numbers: dict[str, Any] = {}
    for place, one in enumerate(fields(Metrics), 1):
        if "int" in str(one.type) or "float" in str(one.type):
            numbers[one.name] = place
    numbers |= {"low_watermark": HIGH - 30_000_000, "high_watermark": HIGH, "kept_ratios": {'pri"ce': 2.5}}
    return replace(Metrics(), **numbers, sources=sources, held_back_by="trades")


def test_every_number_is_shown_as_it_is() -> None:
    metrics, labels = full(), (("query", "1"),)
    found = read(measures.of_query(metrics, Domain.TIME, {"query": "1"}))
    for name, value in vars(metrics).items():
        if isinstance(value, Real):
            measure = measures.MEASURES[name]
            family = measure.family(measures.PREFIX, Domain.TIME)
            expected = float(value) / (1e6 if measure.moment else 1)
            key = (family.name + family.kind.suffix, tuple(sorted((*labels, *measure.labels))))
            assert expected == found.pop(key), name
    assert {("windrow_kept_ratio", (("column", 'pri"ce'), ("query", "1"))): 2.5} == found


def test_watermarks_of_numbers_have_no_unit() -> None:
    found = read(measures.of_query(Metrics(low_watermark=7), Domain.INTEGER, {}))
    assert 7 == found["windrow_watermark_low", ()]
    assert not [name for name, _ in found if "timestamp" in name]


def test_what_is_not_known_yet_is_left_out() -> None:
    found = {name for name, _ in read(measures.of_query(Metrics(), Domain.TIME, {}))}
    assert not {name for name in found if "watermark" in name or "latency" in name or "batch" in name}
    assert "windrow_rows_in_total" in found


def test_sources_have_labels_and_lag_behind_the_clock() -> None:
    found = read(measures.of_sources(full(), {"trades": Domain.TIME}, NOW))
    of = (("source", "trades"),)
    assert {
        ("windrow_source_rows_total", of): 10.0,
        ("windrow_source_high_timestamp_seconds", of): HIGH / 1e6,
        ("windrow_source_low_timestamp_seconds", of): HIGH / 1e6 - 30,
        ("windrow_source_ended", of): 0.0,
        ("windrow_source_early_rows_total", of): 2.0,
        ("windrow_source_behind_seconds", of): 5.0,
        ("windrow_source_rejected_total", of): 0.0,
        ("windrow_source_lost_datagrams_total", of): 0.0,
        ("windrow_source_lag_seconds", of): 10.0,
        ("windrow_source_holds_back", of): 1.0,
    } == {key: value for key, value in found.items() if key[0] in KNOWN}


KNOWN = {
    one.family(measures.SOURCE_PREFIX, Domain.TIME).name
    + one.kind.value.replace("counter", "_total").replace("gauge", "")
    for one in (*measures.SOURCE_MEASURES.values(), measures.LAG, measures.HOLDS_BACK)
}


def test_a_clock_that_is_set_back_makes_no_lag_negative() -> None:
    found = read(measures.of_sources(full(), {"trades": Domain.TIME}, NOW - 86_400))
    assert 0.0 == found["windrow_source_lag_seconds", (("source", "trades"),)]


def test_only_times_lag_and_not_after_the_end() -> None:
    numbers = read(measures.of_sources(full(), {"trades": Domain.INTEGER}, NOW))
    ended = replace(full(), sources={"trades": SourceMetrics(1, HIGH, None, ended=True)})
    for found in (numbers, read(measures.of_sources(ended, {"trades": Domain.TIME}, NOW))):
        assert not [name for name, _ in found if "lag" in name]


@dataclass
class PartitionProgress:
    rows: int = 0
    high: int | None = None


@dataclass
class LaterSource(SourceMetrics):
    offsets_behind: int = 4
    parts: dict[str, PartitionProgress] = field(default_factory=dict)


@dataclass
class LaterMetrics(Metrics):
    gathered_bytes: int = 5
    checkpoint_age_seconds: float | None = 1.5
    who: str = "nobody"


def test_a_field_that_nobody_has_described_appears_by_itself() -> None:
    found = read(measures.of_query(LaterMetrics(), Domain.TIME, {}))
    assert (5, 1.5) == (found["windrow_gathered_bytes", ()], found["windrow_checkpoint_age_seconds", ()])
    assert not [name for name, _ in found if "who" in name]


def test_progress_by_partition_appears_by_itself() -> None:
    parts = {"0": PartitionProgress(3, HIGH), "1": PartitionProgress(4)}
    later = LaterMetrics(sources={"trades": LaterSource(parts=parts)})
    found = read(measures.of_sources(later, {"trades": Domain.TIME}, NOW))
    first, second = ((("part", part), ("source", "trades")) for part in parts)
    assert (3, 4) == (found["windrow_source_rows_total", first], found["windrow_source_rows_total", second])
    assert 10.0 == found["windrow_source_lag_seconds", first]
    assert 4 == found["windrow_source_offsets_behind", (("source", "trades"),)]


def test_a_partition_that_its_source_waits_for_holds_back() -> None:
    sources = {"trades": SourceMetrics(partitions=4), "tra": SourceMetrics()}
    found = read(measures.of_sources(Metrics(sources=sources, held_back_by="trades, partition 3"), {}, NOW))
    held = {name: found["windrow_source_holds_back", (("source", name),)] for name in sources}
    assert {"trades": 1.0, "tra": 0.0} == held
    assert 4.0 == found["windrow_source_partitions", (("source", "trades"),)]


def test_names_of_counters_end_in_total_and_units_are_said() -> None:
    for known, prefix in ((measures.MEASURES, measures.PREFIX), (measures.SOURCE_MEASURES, measures.SOURCE_PREFIX)):
        for name, kind, meaning in measures.names_of(list(known.values()), prefix):
            assert (kind == "counter") is name.endswith("_total")
            assert meaning.endswith(".")
