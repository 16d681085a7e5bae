"""Trades on a stock market, as in the papers on window queries in hardware."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa

from windrow.generate.checks import Duration
from windrow.generate.disorder import Disorder, Lull
from windrow.generate.make import make
from windrow.generate.recipe import TEXT, Recipe, scatter
from windrow.generate.rows import Ints, Rows
from windrow.generate.skew import Skew
from windrow.generate.stream import GeneratedStream


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


def trades(
    rows: int,
    *,
    seed: int = 0,
    disorder: Disorder | str | None = None,
    sources: int = 1,
    keys: int = 100,
    skew: Skew | str = "uniform",
    rate: float = 1000,
    start: datetime | str = "2024-01-01",
    punctuations: bool = False,
    every: Duration = "1 s",
    batch_rows: int = 1 << 17,
    lulls: Sequence[Lull] | None = None,
) -> GeneratedStream:
    """Trades: `symbol`, `price`, `volume`, `time`.

    `keys` is the number of symbols, `rate` the rows a second. `punctuations` puts in exact ones `every` so long.

    >>> stream = trades(1000, seed=7, disorder="band 3 s")
    >>> stream.schema.names, stream.table().num_rows
    (['symbol', 'price', 'volume', 'time'], 1000)
    >>> print(stream.disorder)
    98.1 % of 1000 rows late, lateness p99 0.959 s / max 0.979 s
    """
    return make(
        TRADES,
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
