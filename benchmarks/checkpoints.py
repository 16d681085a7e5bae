"""Checkpoints beside a run: for how long the input waits, with 1,000,000 groups of which some or all change in between.

Rows come in batches of 10,000, first one of every group, then of 1 % of them, or of all, between two checkpoints. A
stall is the time of one batch with what is taken of the state behind it: what the next batch waits for. The first
checkpoint, which holds everything, is reported on its own; the others hold what changed. Groups are counted, summed up
and their greatest value is kept, in one open pane, or in a sliding window of which four panes are closed. One that is
due while another is written is skipped, so here one follows the other.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np
import pyarrow as pa
from _figures import Figure, Spread, Unit
from _harness import Settings, benchmark, verdict
from checkpoint import PANE, SCHEMA, WINDOWS, plan_of, rows

from windrow.engines.local.options import LocalOptions
from windrow.engines.local.run import Runner
from windrow.plan.nodes import Node, Strategy
from windrow.semantics.windows.kinds import Sliding
from windrow.sources.memory import TableSource

GROUPS, BATCH = 1_000_000, 10_000
TURNS = {"1 %": 400, "all": 6}
"""So many checkpoints are due behind the first, by how much changes between two."""
CASES = {
    "one open pane": ("one open pane", Strategy.PANES),
    "four closed panes": ("four closed panes", Strategy.PANES),
    "rows kept by adaptive": ("one open pane", Strategy.ADAPTIVE),
}
"""The window and how it is computed."""
BAR = 0.020


@dataclass
class Stalls:
    """Seconds of the batches of a run."""

    filling: list[float] = field(default_factory=list)
    """While every group comes for the first time."""
    first: list[float] = field(default_factory=list)
    """While the first checkpoint is taken and written."""
    later: list[float] = field(default_factory=list)
    seconds: float = 0.0
    """Of all batches behind the first checkpoint."""
    written: list[tuple[float, int]] = field(default_factory=list)
    """Time and bytes of each checkpoint behind the first."""
    skipped: int = 0


def data(window: Sliding, changed: str, groups: int) -> pa.Table:
    """Rows in order of panes, then those that change groups of the last one."""
    chance = np.random.default_rng(7)
    panes = window.range // PANE
    filling = [rows(chance.permutation(groups), pane * PANE + 100, chance) for pane in range(panes)]
    size = groups if changed == "all" else groups // 100
    turns = range(TURNS[changed] + 1)
    later = [rows(chance.permutation(groups)[:size], (panes - 1) * PANE + 200, chance) for _ in turns]
    return pa.Table.from_batches([*filling, *later])


def stalls(plan: Node, table: pa.Table, every: int | None, first: int) -> Stalls:
    """A run with a checkpoint after the first rows and then every so many, or with none."""
    folder = tempfile.mkdtemp()
    options = LocalOptions(batch_rows=BATCH, checkpoint=folder if every else None)
    runner = Runner(plan, {"s": TableSource("s", SCHEMA, table)}, options)
    found, done, noted = Stalls(), 0, 0
    for name, element in runner._elements():
        if done >= len(table):
            break
        started = perf_counter()
        runner.feed(name, element)
        done += len(element) if isinstance(element, pa.RecordBatch) else 0
        if every and done >= first and (done - first) % every == 0 and runner.writer is not None:
            runner.writer.offer(runner._taken)
        taken = perf_counter() - started
        metrics = runner.writer.written if runner.writer is not None else None
        if done < first:
            found.filling.append(taken)
            continue
        found.seconds += taken
        (found.first if metrics is not None and metrics.count == 0 else found.later).append(taken)
        if metrics is not None and metrics.count > max(noted, 1):
            found.written.append((metrics.seconds or 0.0, metrics.bytes))
        noted = metrics.count if metrics is not None else 0
    if runner.writer is not None:
        runner.writer.settle()
        found.skipped = runner.writer.written.skipped
    shutil.rmtree(folder)
    return found


def report(settings: Settings) -> None:
    groups = settings.rows(GROUPS)
    lines = []
    for name in settings.chosen(CASES):
        window, strategy = WINDOWS[CASES[name][0]], CASES[name][1]
        for changed in TURNS:
            plan = replace(plan_of(window), strategy=strategy)
            table = data(window, changed, groups)
            first = groups * (window.range // PANE)
            every = groups if changed == "all" else groups // 100
            stalls(plan, table.slice(0, 4 * BATCH), BATCH, BATCH)  # compiles
            plain, saved = stalls(plan, table, None, first), stalls(plan, table, every, first)
            longest = max(saved.first + saved.later)
            lines.append(
                [
                    name,
                    changed,
                    Figure.once(max(plain.later), Unit.SECONDS),
                    Figure.once(max(saved.first), Unit.SECONDS),
                    Figure.once(max(saved.later, default=0.0), Unit.SECONDS),
                    Spread.of([seconds for seconds, _ in saved.written] or [0.0]).time(),
                    Figure.once(np.mean([size for _, size in saved.written] or [0]).item(), Unit.BYTES),
                    Figure.once(saved.seconds / plain.seconds, Unit.COST),
                    f"{len(saved.written) + 1} + {saved.skipped}",
                    verdict(longest, BAR, at_most=True),
                ]
            )
    headers = ["window", "changed", "stall without", "stall in the first", "stall later", "writing", "bytes"]
    headers += ["time of the run", "written + skipped", f"stalls of {BAR * 1e3:.0f} ms"]
    settings.report(f"checkpoints of {groups:,} groups, batches of {BATCH:,} rows", headers, lines, labels=2)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        report(settings)
