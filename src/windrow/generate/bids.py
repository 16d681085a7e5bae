"""Bids in auctions, as in the auction data of the thesis' first experiments."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.generate.make import Maker
from windrow.generate.recipe import Recipe, scatter
from windrow.generate.rows import Ints, Rows

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

bids = Maker(BIDS, keys=1000, rate=1000)
"""Bids: `auction`, `bidder`, `bid_price`, `ts`; `keys` is the number of auctions."""
