"""Task events of a compute cluster, in the shape of Google's cluster trace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.generate.make import Maker
from windrow.generate.recipe import Recipe, scatter
from windrow.generate.rows import Ints, Rows

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

tasks = Maker(TASKS, keys=240, rate=100)
"""Task events: `job`, `task`, `machine`, `event`, `cpu`, `ram`, `ts`; `keys` is the number of jobs."""
