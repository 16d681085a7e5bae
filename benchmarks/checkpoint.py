"""Checkpoints: bytes and time of saving 1,000,000 groups of which 1 % change between two saves.

Groups are counted, summed up and their greatest value is kept, in a tumbling window of one open pane, and in a
sliding one of which four panes are closed. Between two saves come rows of groups chosen by chance, or of neighbours.
A shard saves into a dict, as it does into Spark's state; the local engine writes checkpoints on the disk. Each saves
96 times, so that the means hold what tidying up costs. Nothing of Spark runs.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from _figures import Figure, Spread, Unit
from _harness import Settings, benchmark

from windrow.engines.local.checkpoint import Checkpoints
from windrow.operators.base import Batch
from windrow.pipeline.build import build
from windrow.plan.nodes import AggregateCall, Node, Stream, WindowAggregate
from windrow.semantics.progress.policies import Slack
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.scalars.expressions import Column
from windrow.semantics.windows.kinds import Sliding
from windrow.sharded import chunks
from windrow.sharded.bundle import Shards, bundled
from windrow.sharded.pre_aggregate import bodies_of

GROUPS, CHANGED, SAVES = 1_000_000, 0.01, 96
PANE = 1_000
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("x", pa.int64())])
STREAM = Stream("s", SCHEMA, "ts", Slack(Amount(Fraction(10))))
WINDOWS = {"one open pane": Sliding("ts", PANE, PANE), "four closed panes": Sliding("ts", 5 * PANE, PANE)}

Work = Callable[[pa.RecordBatch], tuple[float, int]]
"""Takes rows in and saves; gives the seconds and the bytes of the save."""


def plan_of(window: Sliding) -> WindowAggregate:
    calls = AggregateCall("n", "count"), AggregateCall("s", "sum", Column("x")), AggregateCall("m", "max", Column("x"))
    return WindowAggregate(STREAM, window, (("k", Column("k")),), calls)


def rows(groups: npt.NDArray[np.int64], time: int, chance: np.random.Generator) -> pa.RecordBatch:
    times = np.full(len(groups), time) + chance.integers(0, 10, len(groups))
    columns: list[Any] = [pa.array(column) for column in (times, groups, chance.integers(0, 1_000_000, len(groups)))]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


class _Sizes(dict[chunks.Key, bytes]):
    """Chunks in memory, and how many bytes were written."""

    written = 0

    def __setitem__(self, key: chunks.Key, body: bytes) -> None:
        super().__setitem__(key, body)
        self.written += len(body)


def shard_save(plan: Node) -> Work:
    """One shard with all groups, as inside Spark, and a dict in place of its state."""
    bundle, readings = bundled([plan], (0,))
    shard, store = Shards(bundle, 0), _Sizes()
    known = chunks.load(iter(()))[1]

    def work(batch: pa.RecordBatch) -> tuple[float, int]:
        nonlocal known
        sent = bodies_of(readings[0], [batch], order=0, ends=False)
        list(shard.run([row["body"] for one in sent for row in one.to_pylist()]))
        before, started = store.written, perf_counter()
        known = chunks.save(shard.tables(), known, store)
        chunks.digest(known)
        return perf_counter() - started, store.written - before

    return work


def local_save(plan: Node, folder: Path) -> Work:
    """The local engine's checkpoints in a folder."""
    pipeline, checkpoints = build(plan), Checkpoints(str(folder), [plan])

    def work(batch: pa.RecordBatch) -> tuple[float, int]:
        pipeline.push("s", Batch.unread(batch))
        before, started = set(folder.rglob("*")), perf_counter()
        checkpoints.save(pipeline, {"s": 0}, {})
        seconds = perf_counter() - started
        return seconds, sum(path.stat().st_size for path in set(folder.rglob("*")) - before if path.is_file())

    return work


def measure(work: Work, window: Sliding, groups: int, *, scattered: bool, saves: int) -> tuple[list[float], list[int]]:
    """Seconds and bytes of the saves after the first."""
    chance = np.random.default_rng(7)
    everything = np.arange(groups)
    for pane in range(window.range // PANE):
        work(rows(chance.permutation(everything), pane * PANE + 100, chance))
    seconds, sizes = [], []
    size, time = int(groups * CHANGED), window.range - PANE + 200
    for number in range(saves):
        chosen = chance.choice(groups, size, replace=False) if scattered else everything[number * size :][:size]
        taken, written = work(rows(chosen, time, chance))
        seconds.append(taken)
        sizes.append(written)
    return seconds, sizes


def report(settings: Settings) -> None:
    groups = settings.rows(GROUPS)
    lines = []
    for place, make in (("shard", shard_save), ("local", local_save)):
        for name, window in WINDOWS.items():
            for scattered in (True, False):
                folder = Path(tempfile.mkdtemp())
                work = make(plan_of(window), *([folder] if place == "local" else []))
                seconds, sizes = measure(work, window, groups, scattered=scattered, saves=SAVES)
                shutil.rmtree(folder)
                order = "by chance" if scattered else "neighbours"
                written = Figure(sum(sizes) / SAVES, min(sizes), max(sizes), Unit.BYTES)
                lines.append([place, name, order, Spread.of(seconds).time(), written])
    headers = ["who", "window", "changed", "time", "bytes"]
    settings.report(f"a save of {groups:,} groups of which {CHANGED:.0%} changed", headers, lines, labels=3)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        report(settings)
