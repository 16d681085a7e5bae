"""A generated stream: everything that defines it, every setting checked, and its rows on demand.

The same settings always give the same rows. Chance is drawn separately for times, keys, values, sources and delays,
so that two streams that differ only in disorder hold the very same rows in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.generate.arrival import Arrived, punctuate, reorder
from windrow.generate.checks import Duration, above_zero, instant, microseconds, whole
from windrow.generate.disorder import Disorder, InOrder, Lull, Skewed, parse_disorder
from windrow.generate.measure import Measured, measure
from windrow.generate.rows import MARK, SOURCE, TIME, Ints, Recipe, Rows, Spell, join, rebatch, spelled
from windrow.generate.skew import Skew, parse_skew
from windrow.sources.base import Element, Position, Source, behind, cut

_BLOCK = 1 << 16
_INSTANT = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class GeneratedStream:
    """Rows in arrival order; iterating gives batches, as often as one likes."""

    recipe: Recipe
    rows: int
    seed: int
    arrival: Disorder
    sources: int
    keys: int
    skew: Skew
    rate: float
    start: int
    every: int | None
    batch_rows: int
    lulls: Sequence[Lull]

    @cached_property
    def schema(self) -> pa.Schema:
        """The stream's columns, then `source` where there are several, then `punctuation` where it has them."""
        fields = [*self.recipe.columns.items(), (self.recipe.time, _INSTANT)]
        fields += [(SOURCE, pa.int64())] if self.sources > 1 or isinstance(self.arrival, Skewed) else []
        fields += [(MARK, _INSTANT)] if self.every else []
        return pa.schema(fields)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The stream in batches of `batch_rows` rows, made as they are asked for."""
        arrived = self._arrived(full=True)
        pieces = punctuate(arrived, self.every) if self.every else (piece.rows for piece in arrived)
        shared: dict[Spell, pa.Array[Any]] = {}
        for rows in rebatch(pieces, self.batch_rows):
            yield self._batch(rows, shared)

    __iter__ = batches

    def table(self) -> pa.Table:
        """The whole stream as one table."""
        return pa.Table.from_batches(self.batches(), schema=self.schema).unify_dictionaries().combine_chunks()

    @cached_property
    def disorder(self) -> Measured:
        """How disordered the data rows are, measured by making their times once."""
        return measure(piece.rows[TIME] for piece in self._arrived(full=False))

    def _arrived(self, full: bool) -> Iterator[Arrived]:
        return reorder(self._spans(full), self.arrival, self._chance(4))

    def _chance(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, purpose])

    def _spans(self, full: bool) -> Iterator[Rows]:
        """Blocks put together until they last about as long as rows are held back, so that few are sorted twice."""
        wanted = min(self.rows, self.arrival.spread * self.rate / 1e6)
        held: list[Rows] = []
        for block in self._blocks(full):
            held.append(block)
            if len(held) * _BLOCK >= wanted:
                yield join(held)
                held = []
        if held:
            yield join(held)

    def _blocks(self, full: bool) -> Iterator[Rows]:
        """Rows in order of time; only what arrival depends on unless `full`."""
        sampler = self.skew.sampler(self.keys, self._chance(1))
        values, origins = self._chance(2), self._chance(3)
        clock = self._times()
        for done in range(0, self.rows, _BLOCK):
            size = min(_BLOCK, self.rows - done)
            times = next(clock)[:size]
            sources = origins.integers(0, self.sources, size)
            columns = self.recipe.fill(sampler(size), values) if full else {}
            yield {**columns, TIME: times, SOURCE: sources}

    def _times(self) -> Iterator[Ints]:
        """Blocks of event times: a Poisson process of `rate` rows a second that stands still in lulls."""
        rng = self._chance(0)
        bounds = sorted(lull.bounds for lull in self.lulls)
        shifts = np.cumsum([0, *(end - start for start, end in bounds)])
        edges = np.array([start for start, _ in bounds], np.int64) - shifts[:-1]
        now = 0.0
        while True:
            moments = now + np.cumsum(rng.exponential(1e6 / self.rate, _BLOCK))
            now = float(moments[-1])
            if not now < 1 << 60:
                hint = "give more rows a second; times end 36,000 years from 1970"
                raise ConfigurationError("must keep rows within reach", parameter="rate", value=self.rate, hint=hint)
            times = moments.astype(np.int64)
            yield times + shifts[np.searchsorted(edges, times, side="right")]

    def _batch(self, rows: Rows, shared: dict[Spell, pa.Array[Any]]) -> pa.RecordBatch:
        marks = rows.get(MARK)
        mask = None if marks is None else marks >= 0
        arrays = [self._array(name, rows, mask, shared) for name in self.schema.names]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, name: str, rows: Rows, mask: Any, shared: dict[Spell, pa.Array[Any]]) -> pa.Array[Any]:
        if name == MARK and mask is not None:
            return self._instants(rows[MARK], ~mask)
        if name == self.recipe.time:
            return self._instants(rows[TIME], mask)
        if name in self.recipe.texts:
            return spelled(rows[name], self.recipe.texts[name], shared, mask)
        return pa.array(rows[name], mask=mask)

    def _instants(self, moments: Ints, mask: Any) -> pa.Array[Any]:
        return pa.array(moments + self.start, mask=mask).cast(_INSTANT)


@dataclass(frozen=True)
class Maker:
    """Makes the streams of one recipe: call it with the number of rows.

    `disorder` is a `Disorder` or its text ("band 3 s", "block 60 s"), `sources` the number of sources, `keys` the
    number of different keys and `skew` how often each comes, `rate` the rows a second of event time from `start` on,
    `lulls` the times when nothing happens. With `punctuations`, rows that carry an exact low watermark come `every` so
    often. The same seed gives the same rows in the same order of arrival.

    >>> from windrow.generate import trades
    >>> stream = trades(1000, seed=7, disorder="band 3 s")
    >>> stream.table().num_rows
    1000
    """

    recipe: Recipe
    keys: int
    rate: float

    def __call__(
        self,
        rows: int,
        *,
        seed: int = 0,
        disorder: Disorder | str | None = None,
        sources: int = 1,
        keys: int | None = None,
        skew: Skew | str = "uniform",
        rate: float | None = None,
        start: datetime | str = "2024-01-01",
        punctuations: bool = False,
        every: Duration = "1 s",
        batch_rows: int = 1 << 17,
        lulls: Sequence[Lull] | None = None,
    ) -> GeneratedStream:
        """The stream these settings describe, or an error that names the one that cannot be."""
        keys = self.keys if keys is None else keys
        rate = self.rate if rate is None else rate
        numbers = {"rows": rows, "seed": seed, "sources": sources, "keys": keys, "batch_rows": batch_rows}
        for parameter, value in numbers.items():
            whole(value, 0 if parameter in ("rows", "seed") else 1, parameter)
        above_zero(rate, "rate")
        stretch = microseconds(every, "every", least=1)
        arrival = parse_disorder(disorder) if isinstance(disorder, str) else disorder or InOrder()
        return GeneratedStream(
            recipe=self.recipe,
            rows=rows,
            seed=seed,
            arrival=arrival,
            sources=_sources(sources, arrival),
            keys=keys,
            skew=parse_skew(skew) if isinstance(skew, str) else skew,
            rate=rate,
            start=instant(start, "start"),
            every=stretch if punctuations else None,
            batch_rows=batch_rows,
            lulls=_apart(lulls or ()),
        )


def _sources(sources: int, arrival: Disorder) -> int:
    """The number of sources; that of `Skewed` where none was given."""
    if not isinstance(arrival, Skewed):
        return sources
    if sources not in (1, len(arrival.offsets)):
        raise ConfigurationError(
            f"must be {len(arrival.offsets)}, the number of `offsets` of the disorder",
            parameter="sources",
            value=sources,
            hint="leave `sources` out, or give one offset a source",
        )
    return len(arrival.offsets)


def _apart(lulls: Sequence[Lull]) -> tuple[Lull, ...]:
    """Lulls of a stream in order, which must not overlap."""
    ordered = tuple(sorted(lulls, key=lambda lull: lull.bounds))
    for earlier, later in pairwise(ordered):
        if later.bounds[0] < earlier.bounds[1]:
            raise ConfigurationError(
                "must not overlap", parameter="lulls", value=later, hint="join them into one longer lull"
            )
    return ordered


@dataclass(frozen=True)
class RecipeSource(Source):
    """The rows of a generated stream; to begin in the middle, those before are made and dropped."""

    stream: GeneratedStream

    @property
    def total_rows(self) -> int | None:
        """Known unless punctuation rows come between: how many depends on the data."""
        return None if self.stream.every else self.stream.rows

    def describe(self) -> str:
        return f"{self.stream.rows} generated {self.name}"

    def elements(self, position: Position | None, batch_rows: int) -> Iterator[Element]:
        self.rows_before(position)
        return behind(self._batches(batch_rows), position, self)

    def _batches(self, batch_rows: int) -> Iterator[pa.RecordBatch]:
        for batch in self.stream.batches():
            yield from cut(batch.select(self.schema.names), batch_rows)
