"""The longest stall: how long the input waits while a punctuation closes the windows of 1,000 to 1,000,000 groups.

count + sum over tumbling windows; every group is in every window. Batches of 4,096 rows come one after the other, and
what is timed is how long each element keeps the next one waiting, after three windows in which groups become known and
tables grow. Slow and lazy flush give answers between batches, at most two windows late. Bar: 10 ms at the most.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from _figures import Figure, Unit
from _harness import Settings, benchmark, piece, verdict

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.semantics.progress.policies import END

WINDOW = 1_000_000
BATCH_ROWS = 4_096
WARM, MEASURED = 3, 4
BAR = 10e-3
GROUPS = (1_000, 10_000, 100_000, 1_000_000)
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64(), "x": pa.int64()})


def elements(groups: int, windows: int) -> Iterator[pa.RecordBatch | wr.Punctuation]:
    """Each window has every group once and as many rows of random groups; times are in disorder within a window."""
    chance = np.random.default_rng(groups)
    rows = max(2 * groups, 64 * BATCH_ROWS)
    for window in range(windows):
        keys = chance.permutation(np.concatenate([np.arange(groups), chance.integers(0, groups, rows - groups)]))
        times = window * WINDOW + chance.integers(0, WINDOW, rows)
        batch = pa.record_batch([pa.array(c) for c in (times, keys, chance.integers(0, 100, rows))], schema=SCHEMA)
        yield from (batch.slice(start, BATCH_ROWS) for start in range(0, rows, BATCH_ROWS))
        yield wr.Punctuation((window + 1) * WINDOW)


def runner(flush: str) -> Runner:
    source = wr.stream([], time="ts", progress=wr.punctuated(), schema=SCHEMA)
    asked = source.group_by("k").window(range=WINDOW).agg(n=wr.count(), total=wr.sum("x"))
    return Runner(asked.plan, asked.sources, LocalOptions(flush=flush))


def stalls(groups: int, flush: str, windows: int) -> tuple[list[float], list[float]]:
    """Seconds for which each element kept the next one waiting, by the clock and of the processor."""
    running, results = runner(flush), 0

    def count(batch: pa.RecordBatch) -> None:
        nonlocal results
        results += len(batch)

    running.pipeline.ends[0].on_result = count
    clock, processor, closed = [], [], 0
    for element in elements(groups, WARM + windows):
        before, used = time.perf_counter(), time.process_time()
        running.feed("stream", element)
        clock.append(time.perf_counter() - before)
        processor.append(time.process_time() - used)
        closed += isinstance(element, wr.Punctuation)
        if closed == WARM and isinstance(element, wr.Punctuation):
            gc.collect()
            clock, processor = [], []
    running.feed("stream", wr.Punctuation(END))
    if results != groups * (WARM + windows):
        raise SystemExit(f"{flush}: {results} results instead of {groups * (WARM + windows)}")
    return clock, processor


def main(settings: Settings) -> None:
    lines = []
    for groups in GROUPS[:-1] if settings.quick else GROUPS:
        for flush in ("eager", "slow", "lazy"):
            work = partial(stalls, groups, flush, 2 if settings.quick else MEASURED)
            clock, processor = piece(f"{groups:,} groups, {flush}", work)
            p50, p99, most = np.quantile(clock, [0.5, 0.99, 1.0]).tolist()
            figures = [Figure.once(seconds, Unit.SECONDS) for seconds in (p50, p99, most, max(processor))]
            rate = Figure.once(len(clock) * BATCH_ROWS / sum(processor), Unit.RATE)
            lines.append([f"{groups:,}", flush, *figures, rate, verdict(most, BAR, at_most=True)])
    headers = ["groups", "flush", "p50", "p99", "max", "max of CPU", "rows/s of CPU", "max bar 10 ms"]
    title = f"how long an element keeps the next one waiting, batches of {BATCH_ROWS:,} rows"
    settings.report(title, headers, lines, labels=2)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
