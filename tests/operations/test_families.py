"""The text of metrics, read by the parser of Prometheus' own client."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from windrow.operations.families import FamilyKind, MetricFamily, MetricSample, named, number, rendered

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)


@given(TEXT, TEXT, st.floats(allow_nan=False) | st.integers(-(1 << 62), 1 << 62))
def test_any_label_help_and_number_reads_back(label: str, meaning: str, value: float) -> None:
    family = MetricFamily("a_b", FamilyKind.GAUGE, meaning, samples=[MetricSample({"of": label, "two": "2"}, value)])
    (found,) = text_string_to_metric_families(rendered([family]))
    assert ("a_b", "gauge") == (found.name, found.type)
    (sample,) = found.samples
    assert ({"of": label, "two": "2"}, float(value)) == (sample.labels, sample.value)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (FamilyKind.COUNTER, "x_seconds_total"),
        (FamilyKind.GAUGE, "x_seconds"),
        (FamilyKind.UNKNOWN, "x_seconds"),
    ],
)
def test_kinds_and_units(kind: FamilyKind, name: str) -> None:
    text = rendered([MetricFamily("x_seconds", kind, "How long.", "seconds", [MetricSample({}, 1.5)])])
    (found,) = text_string_to_metric_families(text)
    assert (kind.value, "seconds", "How long.") == (found.type, found.unit, found.documentation)
    assert [(name, 1.5)] == [(sample.name, sample.value) for sample in found.samples]


def test_samples_of_one_name_stand_together_and_empty_families_are_left_out() -> None:
    one, other, empty = (MetricFamily(name, FamilyKind.GAUGE, "h") for name in ("one", "other", "empty"))
    again = MetricFamily("one", FamilyKind.GAUGE, "h", samples=[MetricSample({"q": "2"}, 2)])
    for family in (one, other):
        family.samples.append(MetricSample({"q": "1"}, 1))
    text = rendered([one, other, empty, again])
    found = {family.name: len(family.samples) for family in text_string_to_metric_families(text)}
    assert {"one": 2, "other": 1} == found
    assert 1 == text.count("# TYPE one ")
    assert text.endswith("\n# EOF\n")


def test_half_a_pair_of_surrogates_does_not_break_the_text() -> None:
    family = MetricFamily("a", FamilyKind.GAUGE, "h", samples=[MetricSample({"of": "\ud800"}, 1)])
    rendered([family]).encode("utf-8")


def test_numbers_that_are_none() -> None:
    assert ["NaN", "+Inf", "-Inf"] == [number(value) for value in (math.nan, math.inf, -math.inf)]


def test_a_name_that_the_format_forbids_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError):
        MetricFamily("a-b", FamilyKind.GAUGE, "h")
    with pytest.raises(AssertionError):
        MetricFamily("a", FamilyKind.GAUGE, "h", "bytes")
    assert "a_b_c" == named("a-b.c")
