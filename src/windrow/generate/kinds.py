"""Streams like those of the papers: trades, network packets, bids in auctions, tasks of a cluster."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa

from windrow.generate.rows import TEXT, Ints, Recipe, Rows, scatter
from windrow.generate.stream import Maker

_INT: pa.DataType = pa.int64()
_FLOAT: pa.DataType = pa.float64()
_HOSTS = 256
_SERVICES = np.array([22, 25, 53, 80, 123, 443, 3306, 8080])
_SIZES = np.array([40, 52, 576, 1500])
_BIDDERS = 10_000
_MACHINES = 12_500
_EVENTS = np.cumsum([0.33, 0.32, 0.01, 0.01, 0.27, 0.06])[:-1]
"""Shares of submit, schedule, evict, fail, finish and kill, codes 0 to 5, close to those of Google's trace."""


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


def _trades(keys: Ints, rng: np.random.Generator) -> Rows:
    """Prices scatter around a level of each symbol; volumes are mostly small, in lots of 100."""
    rows = len(keys)
    price = 50 + scatter(keys, 450) + rng.integers(-20, 20, rows, endpoint=True)
    return {"symbol": keys, "price": price, "volume": 100 * rng.geometric(0.1, rows)}


_TRADES = {"symbol": TEXT, "price": _INT, "volume": _INT}
trades = Maker(Recipe("trades", _TRADES, "time", _trades, {"symbol": symbol}), keys=100, rate=1000)
"""Trades on a stock market: `symbol`, `price`, `volume`, `time`; `keys` is the number of symbols."""


def address(network: int, key: int) -> str:
    """The address of a number in a network.

    >>> address(10, 258)
    '10.0.1.2'
    """
    return f"{network + (key >> 24)}.{key >> 16 & 255}.{key >> 8 & 255}.{key & 255}"


def _packets(keys: Ints, rng: np.random.Generator) -> Rows:
    """Clients on high ports send to few hosts on known ports; sizes have the usual peaks."""
    rows = len(keys)
    return {
        "srcIP": keys,
        "srcPort": rng.integers(32_768, 61_000, rows),
        "destIP": rng.integers(0, _HOSTS, rows),
        "destPort": _SERVICES[rng.integers(0, len(_SERVICES), rows)],
        "len": np.where(rng.random(rows) < 0.7, _SIZES[rng.integers(0, 4, rows)], rng.integers(40, 1501, rows)),
    }


_PACKETS = {"srcIP": TEXT, "srcPort": _INT, "destIP": TEXT, "destPort": _INT, "len": _INT}
_SPELLED = {"srcIP": partial(address, 10), "destIP": partial(address, 172)}
packets = Maker(Recipe("packets", _PACKETS, "ts", _packets, _SPELLED), keys=1000, rate=4000)
"""Packet headers: `srcIP`, `srcPort`, `destIP`, `destPort`, `len`, `ts`; `keys` is the number of source addresses.

`skew="groups 5"` gives the thesis' data set DS3.
"""


def _bids(keys: Ints, rng: np.random.Generator) -> Rows:
    """Each auction has its level; bids lie above it, most of them not far."""
    rows = len(keys)
    bid_price = 10 + scatter(keys, 990) + rng.geometric(0.02, rows)
    return {"auction": keys, "bidder": rng.integers(0, _BIDDERS, rows), "bid_price": bid_price}


_BIDS = dict.fromkeys(("auction", "bidder", "bid_price"), _INT)
bids = Maker(Recipe("bids", _BIDS, "ts", _bids), keys=1000, rate=1000)
"""Bids: `auction`, `bidder`, `bid_price`, `ts`; `keys` is the number of auctions."""


def _tasks(keys: Ints, rng: np.random.Generator) -> Rows:
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


_TASKS = {"job": _INT, "task": _INT, "machine": _INT, "event": _INT, "cpu": _FLOAT, "ram": _FLOAT}
tasks = Maker(Recipe("tasks", _TASKS, "ts", _tasks), keys=240, rate=100)
"""Task events of a cluster: `job`, `task`, `machine`, `event`, `cpu`, `ram`, `ts`; `keys` is the number of jobs."""
