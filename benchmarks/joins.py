"""Window joins in process: an equality by hash, the band join of the handshake paper by index, and what they keep.

Equality: two streams whose rows have about one partner within a second, by the number of keys; the same join by
DuckDB and polars over the whole tables for comparison. Bar: 3 M rows/s, those of both streams counted.
Band: R(x int, y float) and S(a int, b float), uniform in 1..10,000, `x BETWEEN a - 10 AND a + 10` and the same for y,
windows of 15 minutes. Bisection on the highest rate that is sustained: both windows are filled, then seconds of the
streams must take no longer than they last. Bar: 100,000 rows/s a stream (the paper's 44 cores: 3,290), on two
threads.
Memory: rows kept over rows that a row to come can still meet, while streams run out of order. Bar: 1.2.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from _figures import Figure, Unit, amount, ratios
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.aggregates.kinds.arrays import tabled
from windrow.engines.local import LocalOptions, Receiver, run
from windrow.operators.base import Batch
from windrow.operators.joins.operator import JoinOperator
from windrow.physical.how import How
from windrow.pipeline.build import build
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Node
from windrow.semantics.progress.policies import Punctuation

SECOND = 1_000_000
ROWS, KEYS = 2_000_000, (1_000, 100_000, 1_000_000)
BAR, BAND_BAR, MEMORY_BAR = 3e6, 100_000, 1.2
MINUTES, DOMAIN, WIDTH = 15, 10_000, 10
NAMES = {"R": ("x", "y"), "S": ("a", "b")}


# An equality

RIVALS = ("duckdb", "polars")
MOST_PAIRS = 100_000_000
"""Pairs of equal keys, at any distance in time, that are not too many for those that look at all of them."""


def keyed(rows: int, keys: int, seed: int) -> pa.Table:
    """Rows in order of arrival, up to 50 ms out of order, at a rate that gives about one partner within a second."""
    random = np.random.default_rng(seed)
    due = np.sort(random.integers(0, rows * SECOND // keys, rows))
    return tabled(k=random.integers(0, keys, rows), ts=due - random.integers(0, SECOND // 20, rows), v=due)


def equality(keys: int, rows: int) -> tuple[dict[str, pa.Table], wr.Query]:
    sides = {"a": keyed(rows, keys, 1), "b": keyed(rows, keys, 2)}
    slack = wr.slack(SECOND // 20)
    streams = {name: wr.stream(data, time="ts", progress=slack, name=name) for name, data in sides.items()}
    text = "SELECT a.k, a.ts AS one, b.ts AS other, a.v AS u, b.v AS v FROM a, b WHERE a.k = b.k AND " + APART
    return sides, wr.sql(text, **streams)


APART = f"a.ts BETWEEN b.ts - {SECOND // 2} AND b.ts + {SECOND // 2}"


def answered(query: wr.Query, threads: int = 1) -> int:
    found = 0

    def note(batch: pa.RecordBatch) -> None:
        nonlocal found
        found += len(batch)

    run([query.plan], query.sources, Receiver.of_one(note), LocalOptions(threads=threads))
    return found


def by_duckdb(sides: dict[str, pa.Table], threads: int) -> int:
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    for name, data in sides.items():
        connection.register(name, data)
    columns = "a.k, a.ts AS one, b.ts AS other, a.v AS u, b.v AS v"
    return len(connection.sql(f"SELECT {columns} FROM a JOIN b ON a.k = b.k AND {APART}").to_arrow_table())


def by_polars(sides: dict[str, pa.Table]) -> int:
    a, b = (pl.from_arrow(data) for data in sides.values())
    assert isinstance(a, pl.DataFrame)
    assert isinstance(b, pl.DataFrame)
    joined = a.lazy().join(b.lazy(), on="k", suffix="_b")
    return joined.filter((pl.col("ts") - pl.col("ts_b")).abs() <= SECOND // 2).collect().height


def equalities(settings: Settings) -> None:
    rows, lines = settings.rows(ROWS), []
    for keys in KEYS:
        sides, query = equality(keys, rows)
        found = answered(query)
        works = {"windrow": partial(answered, query), "windrow 2 threads": partial(answered, query, 2)}
        if rows * rows // keys <= MOST_PAIRS:
            works |= {"duckdb": partial(by_duckdb, sides, 1), "polars": partial(by_polars, sides)}
        spreads = side_by_side(works, settings.repeats, same=lambda answers: len(set(answers)) == 1)
        over = {name: ratio for name, ratio in ratios(spreads, "windrow").items() if name in RIVALS}
        ours = spreads["windrow"].rate(2 * rows, over), spreads["windrow 2 threads"].rate(2 * rows)
        others = [str(spreads[name].rate(2 * rows)) if name in spreads else "-" for name in RIVALS]
        met = verdict(2 * rows / spreads["windrow"].median, BAR)
        lines.append([amount(keys), f"{found / rows:.2f}", *ours, *others, met])
    headings = ["keys", "partners a row", "windrow", "2 threads", "duckdb, whole tables", "polars, whole tables"]
    settings.report(f"Equality within {SECOND // 2:,} us, rows/s", [*headings, f"bar {amount(BAR)}"], lines)


# The band join of the paper


@dataclass(frozen=True)
class BandJoin:
    """Both streams at a rate, for as long as their windows and some seconds more."""

    rate: int
    seconds: float
    threads: int = 2

    def plan(self) -> Node:
        """A count above the join, so that every pair leaves it."""
        window = f"[RANGE {MINUTES * 60 * SECOND}, WA ts]"
        text = f"""
            SELECT count(*) [RANGE {SECOND}, SLIDE {SECOND}, WA R.ts] AS pairs FROM R {window}, S {window}
            WHERE R.x BETWEEN S.a - {WIDTH} AND S.a + {WIDTH} AND R.y BETWEEN S.b - {WIDTH}.0 AND S.b + {WIDTH}.0"""
        streams = {
            name: wr.stream(_points(*names, 0, 1, 0, 0), time="ts", progress=wr.ordered(), name=name)
            for name, names in NAMES.items()
        }
        return prune_together([wr.sql(text, **streams).plan])[0]

    def sustained(self) -> tuple[float, int]:
        """Seconds of the clock for each second of the streams, and the pairs found in them."""
        pipeline = build(self.plan(), how=How(threads=self.threads))
        (join,) = (s.operator for s in pipeline.stages if isinstance(s.operator, JoinOperator))
        start = MINUTES * 60 * SECOND
        for side, (name, names) in enumerate(NAMES.items()):
            fill(join, side, names, self.rate)
            pipeline.push(name, Punctuation(start))
        batches = [
            (name, _points(*names, start + second * SECOND, SECOND, self.rate, second).to_batches()[0])
            for second in range(int(self.seconds))
            for name, names in NAMES.items()
        ]
        began = time.perf_counter()
        for name, batch in batches:
            pipeline.push(name, Batch.unread(batch))
        return (time.perf_counter() - began) / self.seconds, join.counters.results


def _points(one: str, other: str, start: int, length: int, rows: int, seed: int) -> pa.Table:
    random = np.random.default_rng([seed, ord(one)])
    whole, real = random.integers(1, DOMAIN + 1, rows, np.int32), random.uniform(1, DOMAIN, rows).astype(np.float32)
    return tabled(**{one: whole, other: real, "ts": start + np.arange(rows) * length // max(rows, 1)})


def fill(join: JoinOperator, side: int, names: tuple[str, str], rate: int) -> None:
    """Keep what a stream at this rate has brought in the length of a window; pairs among it are not looked for."""
    for second in range(MINUTES * 60):
        data = _points(*names, second * SECOND, SECOND, rate, second)
        times = data["ts"].to_numpy()
        batch = join.columns.renamed(data.to_batches()[0], side)
        rows, picked = join.encoders[side].encode(batch, times), join.columns.pick(batch, times, side)
        join.held[side].add(rows, picked.data, int(times.min()))


def bisected(low: int, high: int, seconds: float, tries: int) -> list[list[object]]:
    """Rates tried, until the highest sustained one is known to within a twentieth or so."""
    lines: list[list[object]] = []
    for _ in range(tries):
        rate = (low + high) // 2
        factor, found = BandJoin(rate, seconds).sustained()
        figures = amount(rate), f"{1 / factor:.2f}", amount(found / seconds)
        lines.append(["tried", *figures, "yes" if factor <= 1 else "no"])
        low, high = (rate, high) if factor <= 1 else (low, rate)
    return [*lines, ["highest", Figure.once(low, Unit.RATE), "", "", verdict(low, BAND_BAR)]]


def bands(settings: Settings) -> None:
    BandJoin(2_000, 1).sustained()  # warms up
    low, high = (2_000, 20_000) if settings.quick else (80_000, 160_000)
    lines = bisected(low, high, 4, 3 if settings.quick else 4)
    columns = ["", "rows/s a stream", "seconds of the streams a second", "pairs/s"]
    headings = [*columns, f"sustained, bar {amount(BAND_BAR)}"]
    settings.report("The paper's band join by index, 15-minute windows, two threads", headings, lines)


# What is kept


def memory(settings: Settings) -> None:
    """Rows kept over rows that can still meet one to come, at their worst once the windows are full."""
    lines = []
    for name, disorder, skew in (("in order", 0, 0), ("up to 1 s out of order", SECOND, 0), ("b 5 s behind", 0, 5)):
        worst, state = kept(400_000 if settings.quick else 1_000_000, disorder, skew)
        figures = Figure.once(worst, Unit.COST), Figure.once(state, Unit.BYTES)
        lines.append([name, *figures, verdict(worst, MEMORY_BAR, at_most=True)])
    headings = ["streams", "kept / can still meet", "peak state", f"bar {MEMORY_BAR}"]
    settings.report("What a join of windows of 10 s keeps, 10,000 rows/s a stream", headings, lines)


def kept(rows: int, disorder: int, skew: int) -> tuple[float, int]:
    random, rate, length = np.random.default_rng(3), 10_000, 10 * SECOND
    due = np.arange(rows) * (SECOND // rate)
    sides = {
        name: tabled(k=random.integers(0, 100_000, rows), ts=due - random.integers(0, disorder + 1, rows))
        for name in "ab"
    }
    streams = {name: wr.stream(data, time="ts", progress=wr.slack(disorder), name=name) for name, data in sides.items()}
    text = f"SELECT a.k FROM a [RANGE {length}, WA ts], b [RANGE {length}, WA ts] WHERE a.k = b.k"
    pipeline = build(prune_together([wr.sql(text, **streams).plan])[0])
    (join,) = (s.operator for s in pipeline.stages if isinstance(s.operator, JoinOperator))
    worst, state, step = 0.0, 0, rate // 10
    for place in range(0, rows + skew * rate, step):
        for name, lag in (("a", 0), ("b", skew * rate)):
            start = place - lag
            if 0 <= start < rows:
                pipeline.push(name, Batch.unread(sides[name].slice(start, step).combine_chunks().to_batches()[0]))
        if place > 3 * length // SECOND * rate and place < rows:
            needed = sum(
                int((sides[name]["ts"].to_numpy()[: max(0, place + step - lag)] > join.bounds[1 - side] - length).sum())
                for side, (name, lag) in enumerate((("a", 0), ("b", skew * rate)))
            )
            worst, state = max(worst, join.stored_rows / needed), max(state, join.state_bytes)
    return worst, state


def main(settings: Settings) -> None:
    equalities(settings)
    bands(settings)
    memory(settings)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
