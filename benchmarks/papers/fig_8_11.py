"""Memory of a sliding count over two full sources and an almost empty one that lags: in order against out of order.

In shape figure 8-11: query 8-5 counts the packets of three links, RANGE 5 minutes, SLIDE 1 minute; the links M1 and M2
have 4,000 rows a second, C has one in two seconds and comes up to 10 seconds late. In order, all rows wait for C; with
`buffer` the window keeps them once more until they leave it. The recorded stream is an exchange's feed, of which every
thousandth row is the source that lags. Time is that of the processor.
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

RATE, CONTROL, SECONDS = 4_000, 0.5, 420
DELAYS = (0, 2, 4, 6, 8, 10)
STRETCH = 250_000
WAYS = ("in order, buffer", "in order, panes", "out of order, panes")


def links(rows: int) -> dict[str, pa.Table]:
    """M1 and M2 with so many rows each, and C over the same time."""
    full = {f"m{i}": packets(rows, seed=i, rate=RATE).table().select(["ts"]) for i in (1, 2)}
    return {**full, "c": packets(int(rows / RATE * CONTROL), seed=3, rate=CONTROL).table().select(["ts"])}


def parts(feed: pa.Table) -> dict[str, pa.Table]:
    """A recorded feed as two full sources and a sparse one, each in order of time."""
    ts, place = feed.select(["ts"]).sort_by("ts"), np.arange(len(feed))
    shares = {"m1": place % 2 == 0, "m2": (place % 2 == 1) & (place % 1000 != 1), "c": place % 1000 == 1}
    return {name: ts.filter(pa.array(share)) for name, share in shares.items()}


def query(sources: dict[str, pa.Table], range: str, slide: str, strategy: str) -> Node:
    first, *rest = (wr.stream(data, time="ts", progress=wr.ordered(), name=name) for name, data in sources.items())
    asked = first.union(*rest).window(range=range, slide=slide)
    return asked.strategy(strategy).agg(packets=wr.count()).plan


def measured(sources: dict[str, pa.Table], range: str, slide: str) -> dict[int, dict[str, Held]]:
    """By the delay of the last source in seconds. The answers must be as many."""
    buffer, panes = (query(sources, range, slide, strategy) for strategy in ("buffer", "panes"))
    found = {}
    for delay in DELAYS:
        lags = [0, 0, delay * 1_000_000]
        arrivals = {name: (data, units(data) + lag) for (name, data), lag in zip(sources.items(), lags, strict=True)}
        pipelines = in_order(buffer), in_order(panes), out_of_order(panes)
        runs = [weighed(pipeline, skewed(arrivals, STRETCH)) for pipeline in pipelines]
        if len({run.results for run in runs}) > 1:
            raise SystemExit(f"the answers differ at {delay} s: {[run.results for run in runs]}")
        found[delay] = dict(zip(WAYS, runs, strict=True))
    return found


def report(title: str, found: dict[int, dict[str, Held]]) -> Panel:
    rows = [
        [f"{delay} s", *(f"{amount(run.peak)}B, {duration(run.seconds)}" for run in runs.values())]
        for delay, runs in found.items()
    ]
    table(f"{title}: peak state, time", ["delay of C", *WAYS], rows)
    lines = {way: [(float(delay), runs[way].peak / 1e3) for delay, runs in found.items()] for way in WAYS}
    return Panel(title, "delay of C, s", "peak state, kB", lines, log_y=True)


def main(settings: Settings) -> None:
    rows = RATE * (SECONDS // 4 if settings.quick else SECONDS)
    panels = [report("Q8-5, generated", measured(links(rows), "5 min", "1 min"))]
    feed = recorded("exchange_feed")
    if feed is not None:
        panels.append(report("exchange feed, RANGE 1 min SLIDE 10 s", measured(parts(feed), "1 min", "10 s")))
    save(panels)


if __name__ == "__main__":
    main(begin(__doc__))
