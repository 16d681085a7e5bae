"""When a count above a join can tell its groups: with individual and with joint punctuation. Figure 7-5.

Query 7-1 counts pairs of packets of one connection on two links for each pair of times (S0.ts, S1.ts), which lie at
most n minutes apart. A promise about S1.ts alone covers a slab: no pair with a smaller S1.ts comes, whatever its
S0.ts, so it waits until S0 is n minutes further. A joint promise covers a box, both times below what both links have
promised, and does not depend on n. Shown is how long after the later of its two times a group is told, by the clock
of arrival. Times are in minutes, 200 packets a minute and link; the second link arrives up to two minutes behind the
first.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from _harness import Settings, begin, table
from _in_order import Arrival, feed, out_of_order
from _pictures import Panel, save

import windrow as wr
from windrow.aggregates.kinds.arrays import tabled
from windrow.plan.nodes import Node

MINUTES, RATE, CONNECTIONS = 300, 200, 50
WINDOWS = (1, 2, 5, 10, 20, 40)
LAG = 2


def link(seed: int, minutes: int) -> pa.Table:
    random = np.random.default_rng(seed)
    times = np.repeat(np.arange(minutes), RATE)
    return tabled(connection=random.integers(0, CONNECTIONS, len(times)), ts=times)


def query(links: dict[str, pa.Table], length: int, joint: bool) -> Node:
    """Grouped by an expression, the second time is none that a promise is about: the count waits for the slab."""
    window = f"[RANGE {length + 1}, WA ts]"
    second = "S1.ts" if joint else "S1.ts + 0"
    text = f"""
        SELECT S0.ts AS first, {second} AS second, count(*) AS pairs FROM S0 {window}, S1 {window}
        WHERE S0.connection = S1.connection GROUP BY S0.ts, {second}"""
    streams = {name: wr.stream(data, time="ts", progress=wr.ordered(), name=name) for name, data in links.items()}
    return wr.sql(text, **streams).plan


def waits(plan: Node, links: dict[str, pa.Table], minutes: int) -> list[int]:
    """For each group that is told before the end: minutes of arrival after the later of its times."""
    told: list[int] = []
    pipeline = out_of_order(plan)
    clock = 0

    def note(batch: pa.RecordBatch) -> None:
        later = np.maximum(batch.column("first").to_numpy(), batch.column("second").to_numpy())
        told.extend((clock - later).tolist())

    pipeline.ends[0].on_result = note
    arrivals: list[tuple[int, Arrival]] = []
    for minute in range(minutes):
        for (name, data), lag in zip(links.items(), (0, LAG), strict=True):
            if minute >= lag:
                piece = data.slice((minute - lag) * RATE, RATE).combine_chunks().to_batches()[0]
                arrivals.append((minute, (name, piece)))
    steps = feed(pipeline, (arrival for _, arrival in arrivals))
    for clock, _ in arrivals:  # noqa: B007 - `note` reads it
        next(steps)
    return told


def main(settings: Settings) -> None:
    minutes = settings.rows(MINUTES) if not settings.quick else 100
    links = {name: link(seed, minutes) for seed, name in enumerate(("S0", "S1"), start=1)}
    found = {n: [waits(query(links, n, joint), links, minutes) for joint in (False, True)] for n in WINDOWS}
    middle = {n: [statistics.mean(told) for told in both] for n, both in found.items()}
    most = {n: [max(told) for told in both] for n, both in found.items()}
    rows = [
        [f"{n} min", *(f"{wait:.1f} min" for wait in (*middle[n], alone - joint)), *(f"{wait} min" for wait in most[n])]
        for n, (alone, joint) in middle.items()
    ]
    headings = ["window", "individual", "joint", "sooner by", "individual, at most", "joint, at most"]
    table("Q7-1: a group is told after", headings, rows)
    lines = {
        name: [(float(n), both[place]) for n, both in middle.items()]
        for place, name in enumerate(("individual punctuation", "joint punctuation"))
    }
    save([Panel("a group is told", "window, min", "after the later of its times, min", lines)])


if __name__ == "__main__":
    main(begin(__doc__))
