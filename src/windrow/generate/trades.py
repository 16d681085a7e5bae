"""Trades on a stock market, as in the papers on window queries in hardware."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.generate.make import Maker
from windrow.generate.recipe import TEXT, Recipe, scatter
from windrow.generate.rows import Ints, Rows


def symbol(key: int) -> str:
    """Four letters for each key: `UBSN` first, then made-up ones that never repeat.

    >>> [symbol(0), symbol(1), symbol(2), symbol(27)]
    ['UBSN', 'AAAA', 'AAAB', 'AABA']
    """
    if key == 0:
        return "UBSN"
    number, letters = key - 1, ""
    while number or len(letters) < 4:
        number, digit = divmod(number, 26)
        letters = chr(65 + digit) + letters
    return letters if letters != "UBSN" else "UBSN1"


def _fill(keys: Ints, rng: np.random.Generator) -> Rows:
    """Prices scatter around a level of each symbol; volumes are mostly small, in lots of 100."""
    rows = len(keys)
    price = 50 + scatter(keys, 450) + rng.integers(-20, 20, rows, endpoint=True)
    return {"symbol": keys, "price": price, "volume": 100 * rng.geometric(0.1, rows)}


TRADES = Recipe(
    "trades",
    (("symbol", TEXT), ("price", pa.int64()), ("volume", pa.int64()), ("time", pa.timestamp("us", "UTC"))),
    "time",
    _fill,
    {"symbol": symbol},
)

trades = Maker(TRADES, keys=100, rate=1000)
"""Trades: `symbol`, `price`, `volume`, `time`; `keys` is the number of symbols."""
