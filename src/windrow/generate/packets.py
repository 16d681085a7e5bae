"""Packets on a network link, as in the thesis' queries over traffic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.generate.make import Maker
from windrow.generate.recipe import TEXT, Recipe, Spell
from windrow.generate.rows import Ints, Rows


def address(network: int) -> Spell:
    """How the addresses of a network are spelled.

    >>> address(10)(258)
    '10.0.1.2'
    """

    def spell(key: int) -> str:
        return f"{network + (key >> 24)}.{key >> 16 & 255}.{key >> 8 & 255}.{key & 255}"

    return spell


_HOSTS = 256
_SERVICES = np.array([22, 25, 53, 80, 123, 443, 3306, 8080])
_SIZES = np.array([40, 52, 576, 1500])


def _fill(keys: Ints, rng: np.random.Generator) -> Rows:
    """Clients on high ports speak to few hosts on known ports; sizes have the usual peaks."""
    rows = len(keys)
    return {
        "srcIP": keys,
        "srcPort": rng.integers(32_768, 61_000, rows),
        "destIP": rng.integers(0, _HOSTS, rows),
        "destPort": _SERVICES[rng.integers(0, len(_SERVICES), rows)],
        "len": np.where(rng.random(rows) < 0.7, _SIZES[rng.integers(0, 4, rows)], rng.integers(40, 1501, rows)),
    }


PACKETS = Recipe(
    "packets",
    (
        ("srcIP", TEXT),
        ("srcPort", pa.int64()),
        ("destIP", TEXT),
        ("destPort", pa.int64()),
        ("len", pa.int64()),
        ("ts", pa.timestamp("us", "UTC")),
    ),
    "ts",
    _fill,
    {"srcIP": address(10), "destIP": address(172)},
)

packets = Maker(PACKETS, keys=1000, rate=4000)
"""Packet headers: `srcIP`, `srcPort`, `destIP`, `destPort`, `len`, `ts`; `keys` is the number of source addresses.

`skew="groups 5"` gives the thesis' data set DS3.
"""
