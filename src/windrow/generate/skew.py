"""How rows are spread over keys."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from windrow.errors import ConfigurationError
from windrow.generate.checks import above_zero
from windrow.generate.rows import Ints

_OPEN = 64
"""Groups of one size that fill up at the same time, so that their rows are mixed."""
_SIZES = (1, 15, 300)
Sampler: TypeAlias = Callable[[int], Ints]
"""The keys of the next so many rows."""


@dataclass(frozen=True)
class Uniform:
    """Every key is equally likely."""

    def sampler(self, keys: int, rng: np.random.Generator) -> Sampler:
        return lambda rows: rng.integers(0, keys, rows)


@dataclass(frozen=True)
class Zipf:
    """The k-th most frequent key has a share in proportion to `k ** -s`; key 0 is the most frequent."""

    s: float = 1.0

    def __post_init__(self) -> None:
        above_zero(self.s, "s")

    def sampler(self, keys: int, rng: np.random.Generator) -> Sampler:
        shares = np.cumsum(np.arange(1, keys + 1, dtype=np.float64) ** -self.s)
        edges = shares[:-1] / shares[-1]
        return lambda rows: np.searchsorted(edges, rng.random(rows), side="right")


@dataclass(frozen=True)
class SkewedGroups:
    """Small, medium and large groups as in Table 6-2 of the thesis; the number of keys grows with the stream.

    A small group has one row, a medium one 15 on average, a large one 300. `small` and `medium` are shares of the
    rows; the thesis' data sets DS1 to DS5 have 0.01, 0.03, 0.05, 0.07 and 0.09 in small groups.
    """

    small: float = 0.05
    medium: float = 0.20

    def __post_init__(self) -> None:
        if not (self.small >= 0 and self.medium >= 0 and self.small + self.medium <= 1):
            raise ConfigurationError(
                "must be shares of the rows that add up to at most 1",
                parameter="small, medium",
                value=(self.small, self.medium),
                hint="write 5 percent as 0.05",
            )

    def sampler(self, keys: int, rng: np.random.Generator) -> Sampler:
        """Deals the rows of each size out to `_OPEN` groups at a time, then goes on to new ones.

        The key of group `g` of size class `c` is `3 * g + c`, so that classes never meet.
        """
        edges, dealt = np.array([self.small, self.small + self.medium]), [0, 0, 0]

        def sample(rows: int) -> Ints:
            classes = np.searchsorted(edges, rng.random(rows), side="right")
            picks = rng.integers(0, _OPEN, rows)
            found = np.empty(rows, np.int64)
            for kind, size in enumerate(_SIZES):
                chosen = np.flatnonzero(classes == kind)
                serial = dealt[kind] + np.arange(len(chosen))
                dealt[kind] += len(chosen)
                group = serial if size == 1 else serial // (size * _OPEN) * _OPEN + picks[chosen]
                found[chosen] = 3 * group + kind
            return found

        return sample


Skew: TypeAlias = Uniform | Zipf | SkewedGroups


def parse_skew(text: str) -> Skew:
    """A spread from text: `uniform`, `zipf 1.2`, `groups 5` (percent of the rows in small groups).

    >>> parse_skew("groups 5")
    SkewedGroups(small=0.05, medium=0.2)
    """
    kind, _, rest = text.strip().lower().partition(" ")
    try:
        if kind == "uniform" and not rest:
            return Uniform()
        if kind == "zipf":
            return Zipf(float(rest)) if rest else Zipf()
        if kind == "groups":
            return SkewedGroups(float(rest.rstrip("% ")) / 100) if rest else SkewedGroups()
    except ConfigurationError:
        raise
    except ValueError:
        pass
    raise ConfigurationError(
        "must be 'uniform', 'zipf EXPONENT' or 'groups PERCENT'",
        parameter="skew",
        value=text,
        hint="write it like 'zipf 1.2' or 'groups 5'",
    )
