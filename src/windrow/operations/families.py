"""Metrics as text: families of samples in the format OpenMetrics 1.0, which Prometheus reads."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


class FamilyKind(Enum):
    """What samples mean; the suffix is that of a sample's name."""

    COUNTER = "counter"
    GAUGE = "gauge"
    INFO = "info"
    SUMMARY = "summary"
    UNKNOWN = "unknown"

    @property
    def suffix(self) -> str:
        return {"counter": "_total", "info": "_info"}.get(self.value, "")


@dataclass(frozen=True)
class MetricSample:
    """One number with its labels."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True)
class MetricFamily:
    """Samples of one name. A unit is the end of the name, as the format asks for."""

    name: str
    kind: FamilyKind
    help: str
    unit: str = ""
    samples: list[MetricSample] = field(default_factory=list)

    def __post_init__(self) -> None:
        assert _NAME.fullmatch(self.name), self.name
        assert not self.unit or self.name.endswith("_" + self.unit), self.name

    def lines(self) -> Iterator[str]:
        yield f"# TYPE {self.name} {self.kind.value}"
        if self.unit:
            yield f"# UNIT {self.name} {self.unit}"
        yield f"# HELP {self.name} {escaped(self.help)}"
        for sample in self.samples:
            yield f"{self.name}{self.kind.suffix}{_labels(sample.labels)} {number(sample.value)}"


def rendered(families: Iterable[MetricFamily]) -> str:
    """The whole text. Families without a sample are left out; samples of equal names stand together.

    >>> family = MetricFamily("rows", FamilyKind.COUNTER, "Rows.", samples=[MetricSample({"of": 'a"b'}, 3)])
    >>> print(rendered([family]), end="")
    # TYPE rows counter
    # HELP rows Rows.
    rows_total{of="a\\"b"} 3
    # EOF
    """
    merged: dict[str, MetricFamily] = {}
    for family in families:
        if family.samples:
            merged.setdefault(family.name, MetricFamily(family.name, family.kind, family.help, family.unit))
            merged[family.name].samples.extend(family.samples)
    return "\n".join([line for family in merged.values() for line in family.lines()] + ["# EOF", ""])


def escaped(text: str) -> str:
    """Text as it stands in a label or a help; what UTF-8 cannot carry is replaced.

    >>> escaped('a "b"' + chr(10) + chr(92))
    'a \\\\"b\\\\"\\\\n\\\\\\\\'
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def number(value: float) -> str:
    """Whole numbers in full, others so that they read back as they are.

    >>> number(1 << 62), number(0.1), number(float("inf")), number(True)
    ('4611686018427387904', '0.1', '+Inf', '1')
    """
    if isinstance(value, int):
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))


def named(text: str) -> str:
    """A word as part of a name of a metric or label.

    >>> named("rows-in.2")
    'rows_in_2'
    """
    return re.sub(r"[^a-zA-Z0-9_]", "_", text)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    assert all(_LABEL.fullmatch(name) for name in labels)
    return "{" + ",".join(f'{name}="{escaped(value)}"' for name, value in labels.items()) + "}"
