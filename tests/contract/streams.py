"""Disordered streams with everything that is hard about them, seeded; and all aggregates at once."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

import windrow as wr
from windrow.functions import AggregateSpec
from windrow.semantics.progress.policies import Punctuation

SIZE = 24
"""Rows of a stream in a micro-batch."""
KINDS: Mapping[str, pa.DataType] = {
    "ts": pa.int64(),
    "k": pa.string(),
    "g": pa.int64(),
    "at": pa.timestamp("us", "UTC"),
    "x": pa.int64(),
    "y": pa.float64(),
}
SCHEMA = pa.schema(KINDS)
TIMED = SCHEMA.set(0, pa.field("ts", pa.timestamp("us", "UTC")))
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FLOATS = (math.nan, math.inf, -0.0, 0.0, 0.1, 1e300, -1.5, 0.25, 0.25, 2.0, None)


def row(draw: random.Random, ts: int) -> dict[str, Any]:
    moment = EPOCH + timedelta(microseconds=draw.choice((-7, 0, 1_700_000_000_000_000)))
    return {
        "ts": ts,
        "k": draw.choice(("a", "b", "c", "d", "", "ß", None)),
        "g": draw.choice((0, 1, -(1 << 62), None)),
        "at": draw.choice((moment, moment, None)),
        "x": draw.choice((draw.randrange(-5, 6), 1, None, (1 << 53) + 1)),
        "y": draw.choice(FLOATS),
    }


def rows(seed: int, base: int, *, batches: int = 3, step: int = 40, spread: int = 90) -> list[dict[str, Any]]:
    """Rows in micro-batches of `SIZE` whose times advance by `step` and lie within `spread`, with ties."""
    draw = random.Random(seed)
    starts = [base + step * (i // SIZE) for i in range(SIZE * batches)]
    return [row(draw, start + draw.randrange(0, spread, draw.choice((1, 1, 5)))) for start in starts]


def punctuated(seed: int, base: int, *, step: int = 40, ahead: int = 75, **more: int) -> list[Any]:
    """The rows with a punctuation at the end of each micro-batch, so far ahead that later rows are late."""
    found: list[Any] = []
    for i, one in enumerate(rows(seed, base, step=step, **more)):
        found.append(one)
        if i % SIZE == SIZE - 1:
            found.append(Punctuation(base + step * (i // SIZE) + ahead))
    return found


def punctuated_by_group(seed: int, base: int, *, step: int = 40, ahead: int = 75, **more: int) -> list[Any]:
    """The rows with promises at the end of each micro-batch: some groups of `k` are far ahead of the rest."""
    found: list[Any] = []
    for element in punctuated(seed, base, step=step, ahead=ahead, **more):
        if isinstance(element, Punctuation):
            found += [Punctuation(element.value, (k,)) for k in ("a", "", None)]
            found.append(Punctuation(element.value + step, ("b",)))
            element = Punctuation(element.value - 60)
        found.append(element)
    return found


def timed(elements: list[Any]) -> list[Any]:
    """The same with seconds since the epoch as moments."""
    return [
        Punctuation(one.value * 1_000_000)
        if isinstance(one, Punctuation)
        else {**one, "ts": EPOCH + timedelta(seconds=one["ts"])}
        for one in elements
    ]


BOUNDED: Mapping[str, AggregateSpec] = {
    "n": wr.count(),
    "nx": wr.count("x"),
    "sx": wr.sum("x"),
    "sy": wr.sum("y"),
    "ax": wr.avg("x"),
    "ay": wr.avg("y"),
    "lo": wr.min("y"),
    "hi": wr.max("y"),
    "least": wr.min("k"),
    "var": wr.variance("x"),
    "varp": wr.var_pop("y"),
    "dev": wr.stddev("y"),
    "devp": wr.stddev_pop("x"),
    "fst": wr.first("x"),
    "lst": wr.last("k"),
    "twice": wr.sum("x * 2 + 1"),
    "about": wr.approx_distinct("k", 0.1),
}
"""Aggregates whose state has a fixed size: panes are made before the shuffle."""
ALL: Mapping[str, AggregateSpec] = {
    **BOUNDED,
    "kinds": wr.count_distinct("k"),
    "med": wr.median("y"),
    "low": wr.quantile("x", 0.25),
    "often": wr.mode("k"),
    "top": wr.top_k("x", 2),
    "heavy": wr.heavy_hitters("k", 0.3),
    "every": wr.collect("x"),
}
"""All of them."""
