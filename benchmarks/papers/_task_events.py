"""The streams of the experiments on compressed windows: what tasks of a cluster ask for, and what its machines use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc
from _in_order import Floats, Ints, recorded

SCALE = 1000
"""Integers are values times this, rounded: requests have three decimals."""
REQUESTS = (0.025, 0.016, 0.013, 0.009, 0.063, 0.031, 0.041, 0.006, 0.125, 0.019, 0.1, 0.25, 0.5)
"""Shares of a machine, as often asked for in the recording as they come first here."""


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows in order of arrival: a key from 0 on and a value. It can go on for ever, from its start again."""

    name: str
    keys: Ints
    values: Floats

    @property
    def number(self) -> int:
        """How many keys there are."""
        return int(self.keys.max()) + 1

    def repeated(self, rows: int) -> Stream:
        """At least so many rows: the whole stream, as often as needed."""
        times = max(1, -(-rows // len(self.keys)))
        return Stream(self.name, np.tile(self.keys, times), np.tile(self.values, times))

    def most(self, number: int) -> Stream:
        """The rows of the keys that have most, numbered anew."""
        chosen = np.sort(np.bincount(self.keys).argsort(kind="stable")[::-1][:number])
        kept = np.isin(self.keys, chosen)
        return Stream(self.name, chosen.searchsorted(self.keys[kept]), self.values[kept])

    def as_integers(self, scale: float = SCALE) -> Ints:
        return np.rint(self.values * scale).astype(np.int64)


def generated(rows: int, keys: int, seed: int = 3) -> Stream:
    """Tasks of jobs, one job as likely as the other."""
    jobs = np.random.default_rng(seed).integers(0, keys, rows)
    return Stream("requests, generated", jobs, asked(jobs, seed))


def asked(jobs: Ints, seed: int = 3, change: float = 0.05) -> Floats:
    """What the tasks ask for: each what the last one of its job did, but for a share of them that ask anew."""
    random, rows = np.random.default_rng([seed, 1]), len(jobs)
    weights = 1 / np.arange(1, len(REQUESTS) + 1)
    drawn = random.choice(REQUESTS, rows, p=weights / weights.sum())
    order = np.argsort(jobs, kind="stable")
    changes = random.random(rows) < change
    changes[:1] = True
    changes[1:] |= np.diff(jobs[order]) != 0
    values = np.empty(rows)
    values[order] = drawn[np.maximum.accumulate(np.where(changes, np.arange(rows), 0))]
    return values


def noise(rows: int, keys: int, seed: int = 5) -> Stream:
    """Values that cannot be compressed: any sign, any of 200 exponents, any digits."""
    random = np.random.default_rng(seed)
    values = np.ldexp(random.random(rows) + 1, random.integers(-100, 100, rows)) * random.choice([-1, 1], rows)
    return Stream("noise", random.integers(0, keys, rows), values)


def _coded(column: Any) -> Ints:
    return np.asarray(column.combine_chunks().dictionary_encode().indices, np.int64)


def by_job() -> Iterator[Stream]:
    """The recorded task events; a job of the excerpt asks for one and the same thing throughout."""
    table = recorded("cluster_tasks")
    if table is not None:
        values = table.column("cpu").to_numpy()
        yield Stream("requests by job", _coded(table.column("job")), values)
        yield Stream("requests as they came", np.zeros(len(values), np.int64), values)


def by_machine() -> Iterator[Stream]:
    """How busy the processors of recorded machines were, in percent with three decimals."""
    table = recorded("sensors")
    if table is not None:
        table = table.filter(pc.match_substring(table.column("series"), "cpu_utilization"))
        values = table.column("value").to_numpy()
        yield Stream("CPU use by machine", _coded(table.column("series")), values)


def every(rows: int) -> list[Stream]:
    """The recorded streams that are at hand, and the generated one."""
    found: list[Callable[[], Iterator[Stream]]] = [by_job, by_machine]
    return [*(stream for streams in found for stream in streams()), generated(rows, 16)]
