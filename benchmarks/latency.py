"""Latency: a punctuation in to its last result out, 1000 groups, count + sum + max, RANGE/SLIDE 10 and 60.

Every punctuation closes one window of all groups. Batches come in between and are not timed. Bar: 1 ms at p99, goal
0.1 ms.
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
from windrow.generate import trades

SLIDE = 1_000_000
RATE = 10_000
"""Rows a second of event time: ten rows a group and window slide."""
WARM, MEASURED = 100, 600
BAR, GOAL = 1e-3, 0.1e-3
BATCH_ROWS = RATE // 4


def elements(punctuations: int) -> Iterator[pa.RecordBatch | int]:
    """Batches with, between them, the promises (whole seconds) that hold, whatever the 2 seconds of disorder do."""
    rows = (punctuations + 5) * RATE
    stream = trades(rows, seed=2, disorder="band 2 s", keys=1000, rate=RATE, batch_rows=BATCH_ROWS)
    promised: int | None = None
    for batch in stream.batches():
        yield batch
        high = np.asarray(batch.column("time").cast(pa.int64())).max()
        bound = (int(high) - 2_000_000) // SLIDE * SLIDE
        if promised is not None and bound > promised:
            yield bound
        promised = bound if promised is None else max(promised, bound)


def runner(ratio: int, schema: pa.Schema) -> Runner:
    """A query over an external stream, driven by hand."""
    source = wr.stream([], time="time", progress=wr.punctuated(), schema=schema)
    asked = (
        source.group_by("symbol")
        .window(range=f"{ratio * SLIDE} us", slide=f"{SLIDE} us")
        .agg(number=wr.count(), volume=wr.sum("volume"), price=wr.max("price"))
    )
    return Runner(asked.plan, asked.sources, LocalOptions())


def latencies(ratio: int, fed: list[pa.RecordBatch | int]) -> tuple[list[float], float]:
    """Seconds of each punctuation after the warm-up, and results per punctuation."""
    schema = next(e.schema for e in fed if isinstance(e, pa.RecordBatch))
    running = runner(ratio, schema)
    results: list[pa.RecordBatch] = []
    running.pipeline.ends[0].on_result = results.append
    seconds: list[float] = []
    gc.collect()
    for element in fed:
        if isinstance(element, pa.RecordBatch):
            running.feed("stream", element)
            continue
        before = time.perf_counter()
        running.feed("stream", wr.Punctuation(element))
        seconds.append(time.perf_counter() - before)
    return seconds[WARM:], sum(map(len, results)) / len(seconds)


def main(settings: Settings) -> None:
    fed = list(elements(settings.rows(MEASURED) + WARM))
    lines = []
    for ratio in (10, 60):
        latencies(ratio, fed[: len(fed) // 4])
        seconds, results = piece(f"RANGE/SLIDE {ratio}", partial(latencies, ratio, fed))
        p50, p99, most = np.quantile(seconds, [0.5, 0.99, 1.0]).tolist()
        verdicts = verdict(p99, BAR, at_most=True), verdict(p99, GOAL, at_most=True)
        figures = [Figure.once(found, Unit.SECONDS) for found in (min(seconds), p50, p99, most)]
        lines.append([ratio, len(seconds), f"{results:.0f}", *figures, *verdicts])
    headers = ["RANGE/SLIDE", "times", "results each", "least", "p50", "p99", "max", "p99 bar 1 ms", "goal 0.1 ms"]
    settings.report("punctuation in to last result out, 1000 groups", headers, lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
