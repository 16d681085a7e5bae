"""Memory, latency and time of three joins under a count, by the length of their windows: figures 7-6 and 7-7.

Query 7-2 counts, minute by minute, the pairs of packets of one flow in opposite directions on two links that are at
most n seconds apart. OA-Join gives pairs as it finds them. OPOB-Join sorts them by the time of the first packet
before the count may have them; OPIB-Join holds packets of the first link until all of their partners are there, and
so gives pairs in order without holding any. 4,000 packets a second and link, 4,000 flows, links in order and in step.
Latency is from the arrival that ends a minute to its count. Time is that of the processor.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))
from _figures import amount, duration
from _flows import SAME_FLOW, Flows
from _harness import Settings, begin, table
from _in_order import feed, in_order, out_of_order, skewed, units
from _pictures import Panel, save

import windrow as wr
from windrow.pipeline.graph import Pipeline, state_bytes
from windrow.plan.nodes import Node

RATE, SECONDS, FLOWS = 4_000, 130, 4_000
WINDOWS = (1, 3, 5, 7, 9)
STRETCH = 100_000
"""Microseconds of arrival that are pushed at a time."""
JOINS = "OA-Join", "OPOB-Join", "OPIB-Join"


@dataclass(frozen=True)
class Run:
    """The most bytes of state, the median seconds from an arrival to its count, all seconds, the counts."""

    peak: int
    latency: float
    seconds: float
    answers: list[int]


def query(links: dict[str, pa.Table], length: int, strategy: str = "") -> Node:
    """Query 7-2 over links whose times are in microseconds."""
    window = f"[RANGE {length * 1_000_000}, WA ts]"
    text = f"""
        SELECT count(*) [RANGE 60000000, SLIDE 60000000, WA M1.ts] AS pairs
        FROM M1 {window}, M2 {window} WHERE {SAME_FLOW.format("M1", "M2")}{strategy}"""
    streams = {name: wr.stream(link, time="ts", progress=wr.ordered(), name=name) for name, link in links.items()}
    return wr.sql(text, **streams).plan


def measured(pipeline: Pipeline, links: dict[str, pa.Table]) -> Run:
    waits: list[float] = []
    answers: list[int] = []
    peak, begun, started = 0, 0.0, time.process_time()

    def note(batch: pa.RecordBatch) -> None:
        waits.extend([time.process_time() - begun] * len(batch))
        answers.extend(batch.column("pairs").to_numpy().tolist())

    pipeline.ends[0].on_result = note
    begun = time.process_time()
    for _ in feed(pipeline, skewed({name: (link, units(link)) for name, link in links.items()}, STRETCH)):
        peak = max(peak, state_bytes(pipeline.stages))
        begun = time.process_time()
    return Run(peak, statistics.median(waits), time.process_time() - started, answers)


def compared(links: dict[str, pa.Table], length: int) -> dict[str, Run]:
    plan = query(links, length)
    runs = {
        "OA-Join": measured(out_of_order(plan), links),
        "OPOB-Join": measured(in_order(plan), links),
        "OPIB-Join": measured(out_of_order(query(links, length, " STRATEGY opib")), links),
    }
    if len({str(run.answers) for run in runs.values()}) != 1:
        raise SystemExit(f"the counts differ at {length} s")
    return runs


def main(settings: Settings) -> None:
    flows = Flows(FLOWS)
    seconds = settings.rows(SECONDS)
    links = {"M1": flows.packets(seconds, RATE, seed=2), "M2": flows.packets(seconds, RATE, seed=3, back=True)}
    compared({name: link.slice(0, 20_000) for name, link in links.items()}, 1)  # warms up
    found = {length: compared(links, length) for length in WINDOWS}
    rows = [
        [f"{length} s", amount(sum(runs["OA-Join"].answers)), *(f"{amount(run.peak)}B" for run in runs.values()),
         *(duration(run.latency) for run in runs.values()), *(duration(run.seconds) for run in runs.values())]
        for length, runs in found.items()
    ]  # fmt: skip
    headings = [f"{what} {name.removesuffix('-Join')}" for what in ("state", "latency", "time") for name in JOINS]
    table("Q7-2", ["window", "pairs", *headings], rows)
    save([drawn(label, found) for label in MEASURES])


MEASURES: dict[str, tuple[str, Callable[[Run], float]]] = {
    "peak state": ("MB", lambda run: run.peak / 1e6),
    "latency": ("ms", lambda run: 1e3 * run.latency),
    "time": ("s", lambda run: run.seconds),
}


def drawn(label: str, found: dict[int, dict[str, Run]]) -> Panel:
    unit, value = MEASURES[label]
    lines = {name: [(float(length), value(runs[name])) for length, runs in found.items()] for name in JOINS}
    return Panel(label, "window, s", f"{label}, {unit}", lines)


if __name__ == "__main__":
    main(begin(__doc__))
