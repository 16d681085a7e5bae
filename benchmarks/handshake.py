"""Handshake join: the paper's band join over windows of fifteen minutes, all pairs tried.

Bars: 1,400 rows/s of each stream on two threads (the paper's eight cores; goal 3,290, its 44 cores); a worker of the
chain compares at least 0.8 of what a plain loop over the same columns does; two threads compare 1.6 times as much as
one. Comparisons a second of processor time stand beside those of the clock, as neighbours on the machine only change
the latter.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _band_join import full_windows, measured, points, spaced, sustained
from _figures import Figure, Unit
from _handshake_simulation import balance
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.aggregates.kinds.arrays import tabled
from windrow.aggregates.kinds.base import Integers
from windrow.engines.local import LocalOptions, Receiver, run
from windrow.operators.handshake.blocks import BlockRows
from windrow.operators.handshake.operator import HandshakeJoin
from windrow.operators.handshake.scanning import PROBES, coded_bounds
from windrow.operators.kernels.joins import scan as kernels
from windrow.semantics.joins import LEFT, RIGHT

MINUTES = 15
RATE = 2_000
BAR, GOAL = 1_400, 3_290
LOOP_BAR, SCALING_BAR = 0.8, 1.6
_scan: Any = kernels.scan_two


def highest_rate(settings: Settings) -> None:
    seconds, steps = (1.0, 3) if settings.quick else (3.0, 6)
    rows = []
    for threads in (1, 2):
        rate = sustained(MINUTES, threads, seconds, low=700, high=7_000, steps=steps)
        judged = [verdict(rate, BAR), verdict(rate, GOAL)] if threads == 2 else ["", ""]
        rows.append([threads, Figure.once(rate, Unit.RATE), *judged])
    headers = ("threads", "rows/s of each stream", f"bar {BAR:,}", f"goal {GOAL:,}")
    title = f"the highest rate that a second of both streams keeps up with, windows of {MINUTES} minutes"
    settings.report(title, headers, rows)


def workers_and_loop(settings: Settings) -> None:
    """The same rows through chains of one and two workers, and through a plain loop."""
    seconds = 1.0 if settings.quick else 4.0
    figures: dict[str, tuple[float, float]] = {}
    for threads in (1, 2):
        runs = []
        for _ in range(min(3, settings.repeats)):
            run = measured(full_windows(MINUTES, RATE, threads), RATE, seconds)
            runs.append((run.comparisons / run.seconds, run.comparisons / run.processor))
        figures[f"chain, {threads} thread{'s' * (threads > 1)}"] = max(runs)
    figures["plain loop"] = max(plain_loop(RATE) for _ in range(settings.repeats))
    rows = [[name, *(Figure.once(rate, Unit.RATE) for rate in best)] for name, best in figures.items()]
    settings.report("comparisons, the best of the repeats", ("", "a second", "a second of a core"), rows)
    one, two, loop = figures.values()
    share, scaling = one[1] / loop[1], two[0] / one[0]
    verdicts = [
        ["a worker's comparisons over the loop's", Figure.once(share, Unit.GAIN), verdict(share, LOOP_BAR)],
        ["two threads over one", Figure.once(scaling, Unit.GAIN), verdict(scaling, SCALING_BAR)],
    ]
    settings.report("bars", ("", "ratio", f"bar {LOOP_BAR} and {SCALING_BAR}"), verdicts)


def plain_loop(rate: int) -> tuple[float, float]:
    """Half a second of rows against a whole window that lies in one piece: comparisons a second, and of a core."""
    operator = full_windows(MINUTES, rate, 1)
    probing = probes_of(operator, LEFT, points(LEFT, rate // 2, spaced(0, rate, rate // 2), seed=9))
    held = operator.driver.scans[0].held[RIGHT]
    codes, times = held.coded(0, len(held), probing), held.part(0, len(held))[1]
    started, worked = time.perf_counter(), time.process_time()
    for first in range(0, len(probing), PROBES):
        scan_all(codes, times, probing.take(slice(first, first + PROBES)), held.shifts)
    comparisons = len(probing) * len(held)
    return comparisons / (time.perf_counter() - started), comparisons / (time.process_time() - worked)


def scan_all(codes: list[Any], times: Integers, probing: BlockRows, shifts: list[int]) -> int:
    places = np.empty(1 << 16, np.int64), np.empty(1 << 16, np.int64)
    bounds: list[Any] = []
    for code, low, width, shift in zip(codes, probing.lows, probing.widths, shifts, strict=True):
        bounds += [code, *coded_bounds(low, width, shift)]
    at, found = np.zeros(2, np.int64), 0
    while at[0] < len(times):
        found += _scan(*bounds, times, probing.firsts, probing.lasts, at, *places)
    return found


def probes_of(operator: HandshakeJoin, side: int, batch: Any) -> BlockRows:
    encoder = operator.encoders[side]
    encoded = encoder.encode(operator.columns.renamed(batch.data, side), batch.times)
    return BlockRows.of(np.arange(len(batch)), encoded, encoder.probes(encoded, operator.window))


PREDICATES = {"(a.k + b.k) % 1000 = 1": 40_000, "a.x * b.x < 0.001": 40_000, "none": 20_000}
"""With the rows of each stream that it is tried on; a tenth of them is in the window on either side."""


def any_predicate(settings: Settings) -> None:
    """What cannot be looked up, tried by the workers of a chain, and by all threads batch by batch."""
    rows = []
    for predicate, count in PREDICATES.items():
        works = {way: tried(predicate, settings.rows(count), way) for way in ("scan", "handshake")}
        spreads = side_by_side(works, min(3, settings.repeats), same=lambda answers: len(set(answers)) == 1)
        scan, chain = spreads["scan"], spreads["handshake"]
        figures = scan.time(), chain.time({"scan": scan.median / chain.median})
        rows.append([predicate, *figures, f"{chain.median / scan.median:.1f}"])
    settings.report("any predicate, two threads", ("predicate", "scan", "handshake", "handshake / scan"), rows)


def tried(predicate: str, rows: int, way: str) -> Callable[[], int]:
    random = np.random.default_rng(3)
    sides = {
        name: wr.stream(
            tabled(ts=np.arange(rows), k=random.integers(0, 1_000_000, rows), x=random.random(rows)),
            time="ts",
            progress=wr.ordered(),
            name=name,
        )
        for name in "ab"
    }
    near = f"b.ts BETWEEN a.ts - {rows // 10} AND a.ts + {rows // 10}"
    on = near if predicate == "none" else f"{near} AND {predicate}"
    query = wr.sql(f"SELECT a.k AS one, b.k AS other, a.ts FROM a JOIN b ON {on} STRATEGY {way}", **sides)
    return lambda: run([query.plan], query.sources, Receiver.of_one(lambda _: None), LocalOptions(threads=2))[1].results


def long_chains(settings: Settings) -> None:
    """Simulated: how evenly workers share comparisons, what they send, and how long queues become."""
    shapes = {1: (16, 16), 2: (16, 16), 8: (16, 16), 32: (8, 16), 128: (4, 8), 512: (2, 1)}
    rows = []
    for cores, (window, blocks) in list(shapes.items())[: 4 if settings.quick else None]:
        found = balance(cores, blocks=blocks * cores, window=window * cores, seed=cores)
        figures = found.busiest_over_mean, found.most_rows_over_mean, found.messages
        rows.append([cores, window, *(f"{figure:.2f}" for figure in figures), found.longest_queue])
    headers = ("cores", "blocks a core", "busiest/mean", "most rows/mean", "messages a core and block", "longest queue")
    settings.report("simulated chains under a random schedule", headers, rows)


def main(settings: Settings) -> None:
    measured(full_windows(1, 500, 2), 500, 1.0)  # compiles the loops
    workers_and_loop(settings)
    highest_rate(settings)
    any_predicate(settings)
    long_chains(settings)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
