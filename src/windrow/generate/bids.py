"""Bids in auctions, as in the auction data of the thesis' first experiments."""

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

_BIDDERS = 10_000


def _fill(keys: Ints, rng: np.random.Generator) -> Rows:
    """Each auction has its level; bids lie above it, most of them not far."""
    rows = len(keys)
    bid_price = 10 + scatter(keys, 990) + rng.geometric(0.02, rows)
    return {"auction": keys, "bidder": rng.integers(0, _BIDDERS, rows), "bid_price": bid_price}


BIDS = Recipe(
    "bids",
    (
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("bid_price", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
    ),
    "ts",
    _fill,
)


def bids(
    rows: int,
    *,
    seed: int = 0,
    disorder: Disorder | str | None = None,
    sources: int = 1,
    keys: int = 1000,
    skew: Skew | str = "uniform",
    rate: float = 1000,
    start: datetime | str = "2024-01-01",
    punctuations: bool = False,
    every: Duration = "1 s",
    batch_rows: int = 1 << 17,
    lulls: Sequence[Lull] | None = None,
) -> GeneratedStream:
    """Bids: `auction`, `bidder`, `bid_price`, `ts`; `keys` is the number of auctions.

    The other settings are those of `trades`.
    """
    return make(
        BIDS,
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
