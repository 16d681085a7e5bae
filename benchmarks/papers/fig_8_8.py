"""Memory of a count over the union of two sources, one of which lags: Merge, which keeps order, against Meld.

In shape figure 8-8: query 8-2 counts the packets of pairs of addresses a minute over two links of the same rate, and
the second arrives up to 40 seconds behind the first. Rate and pairs are an eleventh of the thesis' 110,000 a second
and 65,536, so that they stand in the same ratio. Merge holds the rows of the first until the second has
come as far; Meld lets them pass into the windows. The recorded stream is an exchange's feed, one half of its symbols as
one source and the rest as the other. Time is that of the processor.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from _figures import amount, duration
from _harness import Settings, begin, table
from _in_order import Held, in_order, out_of_order, recorded, skewed, units, weighed
from _pictures import Panel, save

import windrow as wr
from windrow.generate import packets
from windrow.plan.nodes import Node

RATE, SECONDS, ADDRESSES = 10_000, 150, 24
SKEWS = (0, 5, 10, 20, 30, 40)
STRETCH = 500_000
"""Microseconds of arrival that are pushed at a time."""


def links(rows: int) -> dict[str, pa.Table]:
    """Two links with 24 x 256 pairs of addresses."""
    keep = ["srcIP", "destIP", "ts"]
    return {f"m{i}": packets(rows, seed=i, keys=ADDRESSES, rate=RATE).table().select(keep) for i in (1, 2)}


def halves(feed: pa.Table) -> dict[str, pa.Table]:
    """A recorded feed as two sources, each in order of time."""
    symbols = feed["symbol"].to_numpy()
    first = np.isin(symbols, np.unique(symbols)[::2])
    parts = feed.filter(pa.array(first)), feed.filter(pa.array(~first))
    return {f"half{i}": part.select(["symbol", "stream", "ts"]).sort_by("ts") for i, part in enumerate(parts, 1)}


def query(sources: dict[str, pa.Table], keys: tuple[str, ...], window: str) -> Node:
    first, *rest = (wr.stream(data, time="ts", progress=wr.ordered(), name=name) for name, data in sources.items())
    return first.union(*rest).group_by(*keys).window(range=window).agg(packets=wr.count()).plan


def measured(sources: dict[str, pa.Table], plan: Node, skews: tuple[int, ...]) -> dict[int, tuple[Held, Held]]:
    """By skew in seconds: Merge, then Meld. Their answers must be as many."""
    found = {}
    for skew in skews:
        lags = [0, *[skew * 1_000_000] * (len(sources) - 1)]
        arrivals = {name: (data, units(data) + lag) for (name, data), lag in zip(sources.items(), lags, strict=True)}
        merge = weighed(in_order(plan), skewed(arrivals, STRETCH))
        meld = weighed(out_of_order(plan), skewed(arrivals, STRETCH))
        if merge.results != meld.results:
            raise SystemExit(f"the answers differ at {skew} s: {merge.results} and {meld.results}")
        found[skew] = merge, meld
    return found


def report(title: str, found: dict[int, tuple[Held, Held]]) -> Panel:
    rows = [
        [f"{skew} s", f"{amount(merge.peak)}B", f"{amount(meld.peak)}B", f"{merge.peak / meld.peak:.2f}",
         duration(merge.seconds), duration(meld.seconds)]
        for skew, (merge, meld) in found.items()
    ]  # fmt: skip
    table(title, ["skew", "Merge", "Meld", "Merge / Meld", "time of Merge", "time of Meld"], rows)
    lines = {
        "in order (Merge)": [(float(skew), merge.peak / 1e6) for skew, (merge, _) in found.items()],
        "out of order (Meld)": [(float(skew), meld.peak / 1e6) for skew, (_, meld) in found.items()],
    }
    return Panel(title, "skew of arrival, s", "peak state, MB", lines)


def main(settings: Settings) -> None:
    sources = links(settings.rows(RATE * SECONDS))
    panels = [report("Q8-2, generated", measured(sources, query(sources, ("srcIP", "destIP"), "1 min"), SKEWS))]
    feed = recorded("exchange_feed")
    if feed is not None:
        sources = halves(feed)
        panels.append(report("exchange feed", measured(sources, query(sources, ("symbol", "stream"), "1 min"), SKEWS)))
    save(panels)


if __name__ == "__main__":
    main(begin(__doc__))
