"""Task events of a compute cluster, in the shape of Google's cluster trace."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa

from windrow.generate.checks import Duration
from windrow.generate.disorder import Disorder, Lull
from windrow.generate.make import make
from windrow.generate.recipe import Recipe, scatter
from windrow.generate.rows import Ints, Rows
from windrow.generate.skew import Skew
from windrow.generate.stream import GeneratedStream

_MACHINES = 12_500
_EVENTS = np.cumsum([0.33, 0.32, 0.01, 0.01, 0.27, 0.06])[:-1]
"""Shares of submit, schedule, evict, fail, finish and kill, codes 0 to 5, close to those of the trace."""


def _fill(keys: Ints, rng: np.random.Generator) -> Rows:
    """What a task asks for depends on its job, as fractions of a machine."""
    rows = len(keys)
    level = (1 + scatter(keys, 64)) / 512
    return {
        "job": keys,
        "task": rng.geometric(0.005, rows) - 1,
        "machine": rng.integers(0, _MACHINES, rows),
        "event": np.searchsorted(_EVENTS, rng.random(rows), side="right"),
        "cpu": np.round(level * rng.uniform(0.5, 1.5, rows), 4),
        "ram": np.round(level * rng.uniform(0.2, 2.0, rows), 4),
    }


TASKS = Recipe(
    "tasks",
    (
        ("job", pa.int64()),
        ("task", pa.int64()),
        ("machine", pa.int64()),
        ("event", pa.int64()),
        ("cpu", pa.float64()),
        ("ram", pa.float64()),
        ("ts", pa.timestamp("us", "UTC")),
    ),
    "ts",
    _fill,
)


def tasks(
    rows: int,
    *,
    seed: int = 0,
    disorder: Disorder | str | None = None,
    sources: int = 1,
    keys: int = 240,
    skew: Skew | str = "uniform",
    rate: float = 100,
    start: datetime | str = "2024-01-01",
    punctuations: bool = False,
    every: Duration = "1 s",
    batch_rows: int = 1 << 17,
    lulls: Sequence[Lull] | None = None,
) -> GeneratedStream:
    """Task events: `job`, `task`, `machine`, `event`, `cpu`, `ram`, `ts`; `keys` is the number of jobs.

    The other settings are those of `trades`.
    """
    return make(
        TASKS,
        rows,
        seed=seed,
        disorder=disorder,
        sources=sources,
        keys=keys,
        skew=skew,
        rate=rate,
        start=start,
        punctuations=punctuations,
        every=every,
        batch_rows=batch_rows,
        lulls=lulls,
    )
