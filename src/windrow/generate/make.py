"""From what a user asks for to a generated stream, every setting checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from windrow.errors import ConfigurationError
from windrow.generate.checks import Duration, above_zero, instant, microseconds, whole
from windrow.generate.disorder import Disorder, InOrder, Lull, Skewed, parse_disorder
from windrow.generate.recipe import Recipe
from windrow.generate.skew import Skew, parse_skew
from windrow.generate.stream import GeneratedStream


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
        _check_numbers(rows=rows, seed=seed, sources=sources, keys=keys, batch_rows=batch_rows)
        above_zero(rate, "rate")
        stretch = microseconds(every, "every", least=1)
        arrival = parse_disorder(disorder) if isinstance(disorder, str) else disorder or InOrder()
        speakers = _sources(sources, arrival)
        return GeneratedStream(
            recipe=self.recipe,
            rows=rows,
            seed=seed,
            arrival=arrival,
            sources=speakers,
            has_source=speakers > 1 or isinstance(arrival, Skewed),
            keys=keys,
            skew=parse_skew(skew) if isinstance(skew, str) else skew,
            rate=rate,
            start=instant(start, "start"),
            every=stretch if punctuations else None,
            batch_rows=batch_rows,
            lulls=_apart(lulls or ()),
        )


def _check_numbers(**numbers: int) -> None:
    for parameter, value in numbers.items():
        whole(value, 0 if parameter in ("rows", "seed") else 1, parameter)


def _sources(sources: int, arrival: Disorder) -> int:
    """The number of sources; `Skewed` tells it where it was not given."""
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
