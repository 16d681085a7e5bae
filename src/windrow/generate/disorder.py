"""How rows come out of order: the patterns the thesis found in network data, and sources that lag.

A pattern gives each row an arrival; rows come in order of it, ties in order of event time. Times are microseconds
from the start of the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from windrow.errors import ConfigurationError
from windrow.generate.checks import Duration, microseconds, whole
from windrow.generate.rows import Ints


@dataclass(frozen=True)
class Lull:
    """A pause from `start` (after the stream's start) for `duration`.

    Of a stream: nothing happens, no row has such a time. Of a source in `Skewed`: what it has to say in the pause
    comes at its end.
    """

    start: Duration
    duration: Duration
    source: int = 0

    def __post_init__(self) -> None:
        microseconds(self.start, "start")
        microseconds(self.duration, "duration")
        whole(self.source, 0, "source")

    @property
    def bounds(self) -> tuple[int, int]:
        """First and last moment, end exclusive."""
        start = microseconds(self.start, "start")
        return start, start + microseconds(self.duration, "duration")


@dataclass(frozen=True)
class InOrder:
    """Rows come in order of their time."""

    spread = 0

    def arrivals(self, times: Ints, sources: Ints, rng: np.random.Generator) -> Ints:
        return times

    def reached(self, upcoming: int) -> int:
        return upcoming


@dataclass(frozen=True)
class Band:
    """Each row is delayed by a random time up to `max_delay`: no row is later than that."""

    max_delay: Duration

    def __post_init__(self) -> None:
        microseconds(self.max_delay, "max_delay")

    @property
    def spread(self) -> int:
        """The longest time between a row's event and its arrival."""
        return microseconds(self.max_delay, "max_delay")

    def arrivals(self, times: Ints, sources: Ints, rng: np.random.Generator) -> Ints:
        """When each row arrives."""
        return times + rng.integers(0, self.spread, len(times), endpoint=True)

    def reached(self, upcoming: int) -> int:
        """No row with a time from `upcoming` on arrives before this."""
        return upcoming


@dataclass(frozen=True)
class BlockSorted:
    """Rows are shuffled within blocks of time, the blocks stay in order: a router that flushes its cache."""

    block: Duration

    def __post_init__(self) -> None:
        microseconds(self.block, "block", least=1)

    @property
    def spread(self) -> int:
        return microseconds(self.block, "block")

    def arrivals(self, times: Ints, sources: Ints, rng: np.random.Generator) -> Ints:
        block = self.spread
        return times - times % block + rng.integers(0, block, len(times))

    def reached(self, upcoming: int) -> int:
        return upcoming - upcoming % self.spread


@dataclass(frozen=True)
class Skewed:
    """Several sources, each in order; source `i` runs `offsets[i]` behind, and may fall silent in `lulls`."""

    offsets: Sequence[Duration]
    lulls: Sequence[Lull] = ()

    def __post_init__(self) -> None:
        if not self.offsets:
            raise ConfigurationError(
                "must name how far each source runs behind",
                parameter="offsets",
                value=self.offsets,
                hint="give one duration a source, like ('0 s', '10 s')",
            )
        for offset in self.offsets:
            microseconds(offset, "offsets")
        for lull in self.lulls:
            if lull.source >= len(self.offsets):
                raise ConfigurationError(
                    f"must be of one of the {len(self.offsets)} sources, counted from 0",
                    parameter="lulls",
                    value=f"a lull of source {lull.source}",
                    hint="give `offsets` one entry a source",
                )

    @property
    def delays(self) -> Ints:
        return np.array([microseconds(offset, "offsets") for offset in self.offsets], np.int64)

    @property
    def spread(self) -> int:
        pauses = sum(end - start for start, end in (lull.bounds for lull in self.lulls))
        return int(self.delays.max()) + pauses

    def arrivals(self, times: Ints, sources: Ints, rng: np.random.Generator) -> Ints:
        arrivals = times + self.delays[sources]
        for lull in sorted(self.lulls, key=lambda lull: lull.bounds):
            start, end = lull.bounds
            silent = (sources == lull.source) & (arrivals >= start) & (arrivals < end)
            arrivals[silent] = end
        return arrivals

    def reached(self, upcoming: int) -> int:
        return upcoming + int(self.delays.min())


Disorder: TypeAlias = InOrder | Band | BlockSorted | Skewed


def parse_disorder(text: str) -> Disorder:
    """A pattern from text: `none`, `band 3 s`, `block 60 s`, `skewed 0 s, 10 s`.

    >>> parse_disorder("band 3 s")
    Band(max_delay='3 s')
    """
    word, _, rest = text.strip().partition(" ")
    kind, amount = word.lower(), rest.strip()
    if kind == "none" and not amount:
        return InOrder()
    if kind == "band" and amount:
        return Band(amount)
    if kind == "block" and amount:
        return BlockSorted(amount)
    if kind == "skewed" and amount:
        return Skewed(tuple(part.strip() for part in amount.split(",")))
    raise ConfigurationError(
        "must be 'none', 'band DELAY', 'block LENGTH' or 'skewed OFFSET, OFFSET, ...'",
        parameter="disorder",
        value=text,
        hint="write it like 'band 3 s' or 'block 60 s'",
    )
