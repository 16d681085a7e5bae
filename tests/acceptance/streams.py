"""Seeded disordered streams, and runs in a shape that compares with the oracle."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

import windrow as wr
from tests.strategies import comparable
from windrow.semantics.progress.policies import END, START, Policy, Punctuation, bounds

KINDS: dict[str, pa.DataType] = {"ts": pa.int64(), "k": pa.string(), "x": pa.int64()}
SCHEMA = pa.schema(KINDS)
CUTS = (1, 2, 7, 64, 1 << 17)
"""Rows a batch: each alone, few, many, all at once."""
COUNTED = (
    "rows_in",
    "rows_used",
    "rows_late",
    "rows_early",
    "rows_filtered",
    "results",
    "low_watermark",
    "high_watermark",
)


def rows(seed: int, size: int = 300, *, disorder: int = 40, step: int = 3) -> list[dict[str, Any]]:
    """Rows that advance by about `step` each and lie up to `disorder` behind, with ties, lulls and NULLs."""
    chance = random.Random(seed)
    now, found = chance.randrange(-500, 500), []
    for _ in range(size):
        now += chance.choice((0, 1, step, 2 * step, 60 if chance.random() < 0.05 else 0))
        back = chance.randrange(disorder + 1) if chance.random() < 0.4 else 0
        k, x = chance.choice(("a", "b", "c", None)), chance.choice((None, *range(-9, 10)))
        found.append({"ts": now - back, "k": k, "x": x})
    return found


def in_order(given: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(given, key=lambda row: row["ts"])


def promised(given: Sequence[dict[str, Any]], policy: Policy, slack: int = 0) -> Iterator[Any]:
    """Every row after the punctuation that the rows before it imply."""
    told: int | None = None
    for bound, row in zip(bounds([row["ts"] for row in given], policy, slack), given, strict=True):
        if told is None or bound > told:
            yield Punctuation(bound)
            told = bound
        yield row


def table(given: Sequence[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.Table:
    return pa.Table.from_pylist(list(given), schema)


def outcome(query: wr.Query, **options: Any) -> dict[str, Any]:
    """Everything a run gives that must not depend on how it was run."""
    result = query.run(**options)
    return {
        "results": comparable(result.table.to_pylist()),
        "late": comparable(result.late.to_pylist()),
        "metrics": {name: getattr(result.metrics, name) for name in COUNTED},
    }


def melded(
    streams: Sequence[Sequence[dict[str, Any]]],
    pace: int,
    policy: Policy,
    slack: int,
    idle: int | None = None,
    time: str = "ts",
) -> list[Any]:
    """The rows of all streams as they are read, each after the promise that then holds of their union."""
    ports = [
        list(zip(stream, promises_after([row[time] for row in stream], policy, slack), strict=True))
        for stream in streams
    ]
    progress, bound = [START] * len(ports), START
    arrived: list[Any] = []
    while any(ports):
        place = min((i for i, port in enumerate(ports) if port), key=lambda i: ports[i][0][0][time] // pace)
        row, progress[place] = ports[place].pop(0)
        arrived.append(row)
        if min(counted(progress, idle)) > bound:
            bound = min(counted(progress, idle))
            arrived.append(Punctuation(bound))
        if not ports[place]:
            progress[place] = END
    return arrived


def promises_after(times: Sequence[int], policy: Policy, slack: int) -> list[int]:
    return [*bounds([*times, 0], policy, slack)][1:]


def counted(progress: Sequence[int], idle: int | None) -> list[int]:
    """What each stream counts with: one that lags more than `idle` behind the furthest other is moved up."""
    found = []
    for i, own in enumerate(progress):
        others = [other for j, other in enumerate(progress) if j != i and other not in (START, END)]
        found.append(max(own, max(others) - idle) if idle is not None and others else own)
    return found
