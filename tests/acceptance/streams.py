"""Seeded disordered streams, and runs in a shape that compares with the oracle."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa

import windrow as wr
from tests.strategies import comparable
from windrow.semantics.progress import Policy, Punctuation, bounds

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("x", pa.int64())])
CUTS = (1, 2, 7, 64, 1 << 17)
"""Rows a batch: each alone, few, many, all at once."""
COUNTED = ("rows_in", "rows_used", "rows_late", "rows_filtered", "results", "low_watermark", "high_watermark")


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
