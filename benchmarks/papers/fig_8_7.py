"""The highest rate that loses no row, against the number of groups, for three sizes of the low level's table.

In shape figure 8-7 and table 8-1, query 8-1: packets counted for each pair of addresses and each minute. Rows wait in a
buffer of fixed size while others are worked on; at too high a rate it overflows. IOP gives a window's results before it
takes in more rows, OOP lazily and OOP (sf) in slices between batches, both at most two windows late. The figure after
the name is the size of the low level's table, in groups. CPU usage is at the highest rate.

The rate is not searched by running at every one of them: the CPU time of each batch is measured, the less of two runs
counts, and the queue in front of it is computed from that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import numpy as np
import pyarrow as pa
from _figures import amount
from _harness import Settings, begin, table
from _pictures import Panel, save

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.pipeline.graph import Pipeline

GROUPS = (66_000, 130_000, 260_000, 520_000)
SIZES = {"1/2": 0.5, "1": 1.0, "2": 2.0}
FLUSHES = {"IOP": "slow", "OOP": "lazy", "OOP (sf)": "slow"}
WINDOW, ROWS = 60_000_000, 1_000_000
BATCH_ROWS, FLUSH_ROWS = 2_048, 4_096
BUFFER = 1 << 16
"""Rows for which there is room while they wait."""
WARM, MEASURED = 2, 2
SCHEMA = pa.schema({"ts": pa.int64(), "src": pa.int64(), "dst": pa.int64()})


def elements(groups: int, rows: int) -> list[pa.RecordBatch | wr.Punctuation]:
    """Packets of random pairs, in disorder within a minute, and a punctuation after each minute."""
    chance = np.random.default_rng(groups)
    found: list[pa.RecordBatch | wr.Punctuation] = []
    for window in range(WARM + MEASURED):
        pairs = chance.integers(0, groups, rows)
        times = window * WINDOW + chance.integers(0, WINDOW, rows)
        batch = pa.record_batch([pa.array(c) for c in (times, pairs // 512, pairs % 512)], schema=SCHEMA)
        found += [batch.slice(start, BATCH_ROWS) for start in range(0, rows, BATCH_ROWS)]
        found.append(wr.Punctuation((window + 1) * WINDOW))
    return found


def runner(flush: str, cells: int) -> Runner:
    source = wr.stream([], time="ts", progress=wr.punctuated(), schema=SCHEMA)
    asked = source.group_by("src", "dst").window(range=WINDOW).agg(packets=wr.count())
    return Runner(asked.plan, asked.sources, LocalOptions(flush=flush, flush_rows=FLUSH_ROWS, flush_cells=cells))


def drain(pipeline: Pipeline) -> None:
    """Give everything that waits, as a system must that keeps its output in order."""
    for stage in pipeline.stages:
        if isinstance(stage.operator, WindowAggregateOperator) and stage.operator.smoothing is not None:
            while stage.operator.smoothing.due:
                pipeline.resume()


def work(fed: list[pa.RecordBatch | wr.Punctuation], name: str, cells: int) -> list[float]:
    """CPU seconds of each batch, with those of the punctuation behind it."""
    running = runner(FLUSHES[name], cells)
    seconds: list[float] = []
    closed = 0
    for element in fed:
        before = time.process_time()
        running.feed("stream", element)
        if isinstance(element, pa.RecordBatch):
            seconds.append(time.process_time() - before)
            continue
        if name == "IOP":
            drain(running.pipeline)
        seconds[-1] += time.process_time() - before
        closed += 1
        if closed == WARM:
            seconds = [0.0]
    return seconds[1:]


def overflows(seconds: list[float], rate: float) -> bool:
    """Whether, at this rate, more rows wait at some time than there is room for."""
    end = 0.0
    for number, taken in enumerate(seconds, start=1):
        end = max(end, number * BATCH_ROWS / rate) + taken
        if end * rate - number * BATCH_ROWS > BUFFER:
            return True
    return False


def highest(seconds: list[float]) -> float:
    """The highest rate that loses no row, to a hundredth."""
    low, high = 1e3, 1e9
    while high > 1.01 * low:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if overflows(seconds, middle) else (middle, high)
    return low


def rates(rows: int, counts: tuple[int, ...]) -> Iterator[tuple[str, int, float, float]]:
    """Name, groups, highest rate and the share of time worked at that rate."""
    for groups in counts:
        fed = elements(groups, rows)
        for size, share in SIZES.items():
            for name in FLUSHES:
                runs = [work(fed, name, int(share * groups)) for _ in range(2)]
                seconds = np.min(runs, axis=0).tolist()
                rate = highest(seconds)
                yield f"{name}-{size}", groups, rate, min(1.0, sum(seconds) * rate / (len(seconds) * BATCH_ROWS))


def main(settings: Settings) -> None:
    counts = GROUPS[:2] if settings.quick else GROUPS
    found = {(name, groups): (rate, used) for name, groups, rate, used in rates(settings.rows(ROWS), counts)}
    names = list(dict.fromkeys(name for name, _ in found))
    headers = ["", *(f"{groups // 1000}K" for groups in counts)]
    rows = [[name, *(amount(found[name, groups][0]) for groups in counts)] for name in names]
    table("rows/s at most, by groups (figure 8-7)", headers, rows)
    usage = [[name, *(f"{found[name, groups][1]:.0%}" for groups in counts)] for name in names]
    table("CPU usage at that rate (table 8-1)", headers, usage)
    panels = []
    for size in SIZES:
        lines = {
            name: [(groups / 1000, found[f"{name}-{size}", groups][0] / 1e6) for groups in counts] for name in FLUSHES
        }
        panels.append(Panel(f"low table of {size} x groups", "thousand groups", "million rows/s", lines))
    save(panels)


if __name__ == "__main__":
    main(begin(__doc__))
