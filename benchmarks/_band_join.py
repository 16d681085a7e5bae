"""The band join of the handshake paper: two streams of random points, of which those close to each other join.

R(x int, y float, z text) and S(a int, b float, c double, d bool), uniform between 1 and 10,000; a pair joins when x is
within 10 of a and y within 10 of b: one in 250,000.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.aggregates.kinds.arrays import arrow
from windrow.aggregates.kinds.base import Integers
from windrow.operators.base import Batch, Element
from windrow.operators.handshake.driver import MakeLocal
from windrow.operators.handshake.operator import HandshakeJoin
from windrow.operators.handshake.scanning import Scan
from windrow.physical.rules.choose_joins import choose_join, shapes_below
from windrow.plan.checks.joins import joined_names
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Join, JoinStrategy, Stream
from windrow.semantics.joins import LEFT, RIGHT, Between, JoinKind
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

SECOND = 1_000_000
_R: dict[str, pa.DataType] = {"ts": pa.int64(), "x": pa.int32(), "y": pa.float32(), "z": pa.string()}
_S: dict[str, pa.DataType] = {"ts": pa.int64(), "a": pa.int32(), "b": pa.float32(), "c": pa.float64(), "d": pa.bool_()}
R, S = pa.schema(_R), pa.schema(_S)
SIDES = (LEFT, RIGHT)


def near(value: str, center: str) -> Expression:
    """`value BETWEEN center - 10 AND center + 10`."""
    least, most = (Call(sign, (Column(center), Literal(10))) for sign in ("-", "+"))
    return Call("and", (Call(">=", (Column(value), least)), Call("<=", (Column(value), most))))


def band_join(minutes: int) -> Join:
    """The join, with windows of so many minutes."""
    streams = Stream("r", R, "ts"), Stream("s", S, "ts")
    window = Between.of_ranges(minutes * 60 * SECOND, minutes * 60 * SECOND)
    on = Call("and", (near("x", "a"), near("y", "b")))
    names = joined_names((R, S), ("r", "s"))
    return Join(*streams, JoinKind.INNER, window, on, names, ("r", "s"), strategy=JoinStrategy.HANDSHAKE)


def points(side: int, rows: int, times: Integers, seed: int) -> Batch:
    """Rows of one side at these times."""
    random = np.random.default_rng((seed, side))
    whole, real = random.integers(1, 10_001, rows, np.int32), random.uniform(1, 10_000, rows).astype(np.float32)
    arrays: list[Any] = [arrow(times), arrow(whole), arrow(real)]
    if side == LEFT:
        arrays.append(pa.repeat("twenty characters...", rows))
    else:
        arrays += [arrow(random.uniform(size=rows)), arrow(random.random(rows) < 0.5)]
    return Batch(pa.record_batch(arrays, schema=(R, S)[side]), times, None, "rs"[side])


def spaced(start: int, rate: float, rows: int) -> Integers:
    """The times of so many rows a second from `start` on."""
    return start + (np.arange(rows) * (SECOND / rate)).astype(np.int64)


def full_windows(minutes: int, rate: float, threads: int, local: MakeLocal = Scan) -> HandshakeJoin:
    """A join whose windows hold all that came in so many minutes; pairs among it have met."""
    node = band_join(minutes)
    conditions = choose_join(node).conditions
    operator = HandshakeJoin(node, shapes_below(node), shape_of(node), conditions, threads=threads, local=local)
    rows = int(minutes * 60 * rate)
    for side in SIDES:
        batch = points(side, rows, spaced(-minutes * 60 * SECOND, rate, rows), seed=1)
        data = operator.columns.renamed(batch.data, side)
        encoded = operator.encoders[side].encode(data, batch.times)
        operator.adopt(side, encoded, operator.columns.pick(data, batch.times, side), np.zeros(rows, np.bool_))
    return operator


def stream(rate: float, seconds: float, step: float) -> Iterator[list[Batch]]:
    """Rows of both sides that come within each `step` of a second."""
    rows = max(1, round(rate * step))
    for place in range(round(seconds / step)):
        times = spaced(round(place * step * SECOND), rate, rows)
        yield [points(side, rows, times, seed=2 + place) for side in SIDES]


@dataclass(frozen=True)
class Measured:
    """What a run took, and what it did."""

    seconds: float
    processor: float
    comparisons: int
    results: int


def measured(operator: HandshakeJoin, rate: float, seconds: float, step: float = 0.5) -> Measured:
    """Push so many seconds of both streams through a join, after a first step that is not measured."""
    first, *batches = stream(rate, seconds + step, step)
    push(operator, first)
    compared = sum(scan.comparisons for scan in operator.driver.scans)
    started, worked = time.perf_counter(), time.process_time()
    results = sum(push(operator, pair) for pair in batches)
    taken = time.perf_counter() - started, time.process_time() - worked
    return Measured(*taken, sum(scan.comparisons for scan in operator.driver.scans) - compared, results)


def push(operator: HandshakeJoin, pair: list[Batch]) -> int:
    """Rows of both sides, then promises up to the last of them, before which all results are out; how many."""
    given: list[Element] = []
    for side, batch in enumerate(pair):
        given += operator.process(batch, side)
    for side in SIDES:
        given += operator.punctuate(Punctuation(int(pair[side].times[-1])), side)
    return sum(len(element) for element in given if isinstance(element, Batch))


def sustained(
    minutes: int, threads: int, seconds: float, *, low: float, high: float, steps: int, local: MakeLocal = Scan
) -> float:
    """The highest rate, rows a second of each stream, at which a second of both streams takes at most a second.

    By bisection between `low` and `high`, whose ratio is what is halved.
    """
    for _ in range(steps):
        rate = (low * high) ** 0.5
        run = measured(full_windows(minutes, rate, threads, local), rate, seconds)
        low, high = (rate, high) if run.seconds <= seconds else (low, rate)
    return low
