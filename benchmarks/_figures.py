"""Figures: measured values with their unit and spread, and how they are written."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best.

    >>> duration(0.00042), duration(1.5)
    ('420 us', '1.5 s')
    """
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def amount(number: float) -> str:
    """A large number in three digits.

    >>> amount(2_345_678), amount(812)
    ('2.35 M', '812')
    """
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= factor:
            return f"{number / factor:.3g}{unit}"
    return f"{number:.3g}"


class Unit(Enum):
    """What a figure counts. More is better for rates and gains, less for the others."""

    RATE = "a second"
    GAIN = "times as fast"
    SECONDS = "s"
    BYTES = "bytes"
    COST = "times as much"

    @property
    def more_is_better(self) -> bool:
        return self in (Unit.RATE, Unit.GAIN)

    def written(self, value: float) -> str:
        """A value in three digits.

        >>> Unit.RATE.written(2e6), Unit.SECONDS.written(0.002), Unit.BYTES.written(5e8), Unit.COST.written(1.234)
        ('2 M', '2 ms', '500 MB', '1.23x')
        """
        if self is Unit.SECONDS:
            return duration(value)
        if self is Unit.BYTES:
            return f"{amount(value)}B"
        return amount(value) if self is Unit.RATE else f"{value:.2f}x"


@dataclass(frozen=True)
class Figure:
    """A measured value with the least and the greatest of its repeats.

    `over` says how many times as fast it is as others that ran in the same rounds: noise of the machine hits both,
    so these ratios hold when the value itself does not.

    >>> print(Figure(2e6, 1e6, 3e6, Unit.RATE))
    2 M (1 M..3 M)
    >>> print(Figure.once(1.5, Unit.SECONDS))
    1.5 s
    """

    value: float
    low: float
    high: float
    unit: Unit
    over: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def once(value: float, unit: Unit) -> Figure:
        """A value that is not repeated, such as a ratio or a peak."""
        return Figure(value, value, value, unit)

    def __str__(self) -> str:
        middle, *ends = map(self.unit.written, (self.value, self.low, self.high))
        return middle if self.low == self.high else f"{middle} ({ends[0]}..{ends[1]})"


@dataclass(frozen=True)
class Spread:
    """Least, middle and greatest seconds over the repeats."""

    low: float
    median: float
    high: float

    @staticmethod
    def of(seconds: Sequence[float]) -> Spread:
        return Spread(min(seconds), statistics.median(seconds), max(seconds))

    def rate(self, rows: int, over: Mapping[str, float] | None = None) -> Figure:
        """Rows a second: median, slowest and fastest repeat."""
        return Figure(rows / self.median, rows / self.high, rows / self.low, Unit.RATE, over or {})

    def time(self, over: Mapping[str, float] | None = None) -> Figure:
        """Seconds: median, fastest and slowest repeat."""
        return Figure(self.median, self.low, self.high, Unit.SECONDS, over or {})

    def __str__(self) -> str:
        return str(self.time())


def ratios(spreads: Mapping[str, Spread], ours: str) -> dict[str, float]:
    """How many times as long as `ours` each of the others took; above 1 means `ours` is faster."""
    return {name: spread.median / spreads[ours].median for name, spread in spreads.items() if name != ours}
