"""Amounts with units: how long a window is, how far it moves, how late a row may be.

A naked number is an amount of an integer attribute; a number with a time unit is an amount of a
timestamp attribute, held in microseconds. Mixing the two is an error, never a guess.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import Enum
from fractions import Fraction

from windrow.errors import QueryError


class Domain(Enum):
    """What the progressing attribute measures."""

    TIME = "time"
    INTEGER = "integer"


_SECOND = 1_000_000
WEEK = 7 * 86_400 * _SECOND
_UNITS = {
    name: size
    for names, size in (
        ("us microsecond microseconds", 1),
        ("ms msec millisecond milliseconds", 1_000),
        ("s sec secs second seconds", _SECOND),
        ("m min mins minute minutes", 60 * _SECOND),
        ("h hr hour hours", 3_600 * _SECOND),
        ("d day days", 86_400 * _SECOND),
        ("w week weeks", WEEK),
    )
    for name in names.split()
}
_WORDS = {
    "us": "microsecond", "ms": "millisecond", "s": "second", "min": "minute", "h": "hour", "d": "day", "w": "week",
}  # fmt: skip
_LENGTHS = [
    ("year", 31_557_600 * _SECOND),
    *((_WORDS[unit], _UNITS[unit]) for unit in ("d", "h", "min", "s", "ms", "us")),
]
ROWS = frozenset({"row", "rows"})
_PATTERN = re.compile(r"\s*([+-]?\d+(?:\.\d*)?|[+-]?\.\d+)\s*([A-Za-z]*)\s*\Z")


@dataclass(frozen=True)
class Amount:
    """A number and its unit: a time unit, `rows`, or none.

    >>> Amount.of("10 min").resolve(Domain.TIME, "range")
    600000000
    >>> Amount.of(500).resolve(Domain.INTEGER, "range")
    500
    """

    number: Fraction
    unit: str | None = None

    @staticmethod
    def of(value: Amount | str | int | float | timedelta, parameter: str = "amount") -> Amount:
        """Read an amount from what users write: `"10 min"`, `500`, `timedelta(...)`."""
        if isinstance(value, Amount):
            return value
        if isinstance(value, timedelta):
            return Amount(Fraction(value // timedelta(microseconds=1)), "us")
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise QueryError(
                "must be a number with a unit", parameter=parameter, value=value, hint="write it like '10 min' or 500"
            )
        if not isinstance(value, str):
            if not math.isfinite(value):
                hint = "write it like '10 min' or 500"
                raise QueryError("must be finite", parameter=parameter, value=value, hint=hint)
            return Amount(Fraction(value))
        match = _PATTERN.match(value)
        unit = match.group(2).lower() if match else ""
        if not match or (unit and unit not in _UNITS and unit not in ROWS):
            raise QueryError(
                "must be a number with a unit (us, ms, s, min, h, d, w or rows)",
                parameter=parameter,
                value=value,
                hint="write it like '10 min', '250 ms', '5 rows' or 500",
            )
        return Amount(Fraction(match.group(1)), unit or None)

    @property
    def _digits(self) -> str:
        return str(self.number) if self.number.denominator == 1 else str(float(self.number))

    @property
    def is_rows(self) -> bool:
        return self.unit in ROWS

    @property
    def is_time(self) -> bool:
        return self.unit in _UNITS

    def resolve(self, domain: Domain, parameter: str) -> int:
        """The amount in units of the attribute (microseconds for time), or an error that says the way out."""
        for rule, hint in self._why_not(domain):
            raise QueryError(rule, parameter=parameter, value=str(self), hint=hint)
        return int(self._total)

    def _why_not(self, domain: Domain) -> Iterator[tuple[str, str]]:
        """Rules that it breaks, each with the way out."""
        if domain is Domain.TIME and not self.is_time:
            hint = f"write {self._digits} SECONDS, or another unit"
            yield "needs a time unit because the attribute is a timestamp", hint
        if domain is Domain.INTEGER and self.unit is not None:
            hint = f"write {self._digits} without a unit, or window on a timestamp column"
            yield "must be a plain number because the attribute is an integer", hint
        if self._total.denominator != 1:
            rule = "must be a whole number of microseconds" if self.unit else "must be a whole number"
            yield rule, "use a smaller unit or round it"
        if abs(self._total.numerator) >= 1 << 62:
            yield "must be below 2^62 units", "use a smaller amount"

    @property
    def _total(self) -> Fraction:
        return self.number * _UNITS[self.unit] if self.unit else self.number

    def __str__(self) -> str:
        return f"{self._digits} {self.unit}" if self.unit else self._digits


def rounded_up(units: int, domain: Domain) -> int:
    """At least so much, in as large a unit as makes it at most a quarter more.

    >>> [render(rounded_up(n, Domain.TIME), Domain.TIME) for n in (427_000_000, 90_000_001, 6_999_999)]
    ['8 min', '91 s', '7 s']
    """
    if domain is Domain.INTEGER:
        return units
    found = (-(-units // size) * size for size in sorted(set(_UNITS.values()), reverse=True))
    return next(more for more in found if 4 * more <= 5 * units)


def in_words(units: int, domain: Domain) -> str:
    """The same as `render`, with the unit spelt out.

    >>> in_words(60_000_000, Domain.TIME), in_words(7_000_000, Domain.TIME)
    ('1 minute', '7 seconds')
    """
    number, _, unit = render(units, domain).partition(" ")
    return f"{number} {_WORDS[unit]}{'' if number == '1' else 's'}" if unit else number


def roughly(units: int, domain: Domain) -> str:
    """A length of which the first digits matter.

    >>> roughly(251_600_000_000_000_000, Domain.TIME), roughly(5_400_000_000, Domain.TIME)
    ('7,973 years', '90 minutes')
    """
    if domain is Domain.INTEGER:
        return f"{units:,}"
    unit, size = next((one for one in _LENGTHS if units >= 2 * one[1]), _LENGTHS[-1])
    number = round(units / size)
    return f"{number:,} {unit}{'' if number == 1 else 's'}"


def render(units: int, domain: Domain) -> str:
    """Units of the attribute as text, in the largest unit that divides them.

    >>> render(600_000_000, Domain.TIME)
    '10 min'
    """
    if domain is Domain.INTEGER:
        return str(units)
    for name in ("w", "d", "h", "min", "s", "ms"):
        if units and units % _UNITS[name] == 0:
            return f"{units // _UNITS[name]} {name}"
    return f"{units} us"


def render_apart(units: int, domain: Domain) -> str:
    """How far two values are apart, as text; a unit short of, or beyond, a whole millisecond comes from `<` and `>`.

    >>> render_apart(2_999_999, Domain.TIME), render_apart(5_000_001, Domain.TIME), render_apart(4, Domain.INTEGER)
    ('less than 3 s', 'more than 5 s', '4')
    """
    for words, whole in (("less than ", units + 1), ("more than ", units - 1)):
        if domain is Domain.TIME and whole and whole % _UNITS["ms"] == 0:
            return words + render(whole, domain)
    return render(units, domain)
