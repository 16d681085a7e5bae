"""Rows that joins keep: bytes of their payload and the time it costs to keep it small, by mode and kind of join.

Trades (`../shared/data/trades.parquet`, else ones like them), again and again, each time later, joined with themselves:
by symbol and price within some minutes, as of the last trade of a symbol while the left side is minutes behind, and
by a chain of handshakes. `COMPRESS off`, `auto` and `blocks` run side by side; their answers are compared first.
Bytes a kept row are the most that were held at once; of those of an index join, the index takes its part in any mode.
Bar: `auto` takes at most 1.15 times as long as `off`.
A saved row: all rows as chunks of a checkpoint, then what the next save writes after a sixteenth more came.
Keys that are asked for again and again: blocks that are looked into with a cache and without.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _figures import Figure, Unit
from _harness import ROOT, Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.aggregates.kinds.arrays import tabled
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.operators.joins.asof_rows import AsOfRows
from windrow.operators.joins.base import AnyJoin
from windrow.operators.joins.runs import SortedRun
from windrow.operators.joins.store import JoinStore
from windrow.operators.state.changes import nested
from windrow.operators.store.sealed_rows import SealedRows
from windrow.operators.store.spilled_column import SpilledColumn
from windrow.sharded import chunks

TRADES = ROOT.parent / "shared" / "data" / "trades.parquet"
MODES = ("off", "auto", "blocks")
BAR = 1.15
ROWS, BATCH = 400_000, 1 << 14
SECOND, MINUTE = 1_000_000, 60_000_000
COLUMNS = "a.ts AS at, a.symbol AS symbol, a.price AS price, a.quantity AS had, b.quantity AS met, b.received_ns AS got"
CASES = {
    "equality": f"SELECT {COLUMNS} FROM a, b WHERE a.symbol = b.symbol AND a.price = b.price "
    f"AND a.quantity <> b.quantity AND b.ts BETWEEN a.ts - INTERVAL '5' MINUTE AND a.ts",
    "as of": f"SELECT {COLUMNS} FROM a ASOF JOIN b ON a.symbol = b.symbol AND a.ts >= b.ts",
    "handshake": f"SELECT {COLUMNS} FROM a, b WHERE a.symbol = b.symbol AND a.price = b.price "
    f"AND a.quantity <> b.quantity AND b.ts BETWEEN a.ts - INTERVAL '1' MINUTE AND a.ts",
}
BEHIND = {"as of": "30 min"}
"""How far the left side may be behind, where it is not as far as the right one."""


# Rows


def trades(rows: int) -> pa.Table:
    """So many trades: those there are, again and again, each time later than before."""
    known = pq.read_table(TRADES) if TRADES.exists() else made_up(50_000)
    times = np.asarray(known["ts"].cast(pa.int64()))
    span = int(times.max() - times.min()) + SECOND
    parts = []
    for turn in range(-(-rows // len(known))):
        part = known.set_column(0, "ts", pa.array(times + turn * span, pa.timestamp("us", "UTC")))
        received = pa.array(np.asarray(part["received_ns"]) + 1000 * turn * span)
        parts.append(part.set_column(part.schema.get_field_index("received_ns"), "received_ns", received))
    return pa.concat_tables(parts).slice(0, rows).combine_chunks()


def made_up(rows: int) -> pa.Table:
    """Seeded trades of six symbols, up to 0.2 s out of order."""
    chance = np.random.default_rng(7)
    symbol = chance.integers(0, 6, rows)
    walk = np.round(100 * 4.0**symbol + np.cumsum(chance.integers(-1, 2, rows)) / 10, 2)
    due = np.cumsum(chance.integers(0, 12_000, rows)) + 1_723_161_254_000_000
    columns: dict[str, Any] = {
        "ts": pa.array(due - chance.integers(0, SECOND // 5, rows), pa.timestamp("us", "UTC")),
        "symbol": pa.array([f"spot:{'ABCDEF'[place]}USDT" for place in symbol]),
        "price": pa.array(walk),
        "quantity": pa.array(np.round(chance.exponential(0.1, rows), 4)),
        "received_ns": pa.array(1000 * due + chance.integers(0, 1000, rows)),
    }
    return pa.table(columns)


# Runs


@dataclass(frozen=True)
class Held:
    """What was there when most rows were kept."""

    rows: int = 0
    bytes: int = 0
    payload: int = 0
    results: int = 0


def runner_of(case: str, data: pa.Table, mode: str) -> Runner:
    slacks = {"a": wr.slack(BEHIND.get(case, "1 s")), "b": wr.slack("1 s")}
    streams = {name: wr.stream(data, time="ts", progress=slack, name=name) for name, slack in slacks.items()}
    suffix = "STRATEGY handshake " if case == "handshake" else ""
    query = wr.sql(f"{CASES[case]} {suffix}COMPRESS {mode}", **streams)
    return Runner(query.plan, query.sources, LocalOptions())


def fed(runner: Runner, data: pa.Table) -> Iterator[int]:
    """Batches of both streams in turn; gives how many rows of each are in."""
    done = 0
    for batch in data.to_batches(max_chunksize=BATCH):
        for name in "ab":
            runner.feed(name, batch)
        yield (done := done + len(batch))


def held(case: str, data: pa.Table, mode: str) -> Held:
    """With a look at the state after every batch."""
    runner, most = runner_of(case, data, mode), Held()
    for _ in fed(runner, data):
        found = runner.metrics()
        if found.rows_stored >= most.rows:
            most = Held(found.rows_stored, found.state_bytes, payload_bytes(runner), found.results)
    return most


def joins(runner: Runner) -> list[AnyJoin]:
    return [stage.operator for stage in runner.pipeline.stages if isinstance(stage.operator, AnyJoin)]


def payload_bytes(runner: Runner) -> int:
    """Bytes of whole rows alone."""
    found = 0
    for operator in joins(runner):
        for rows in operator.held:
            if isinstance(rows, JoinStore):
                blocks: list[Any] = [run.payload for runs in rows.segments.values() for run in runs]
            else:
                blocks = [block.data for block in (rows.store if isinstance(rows, AsOfRows) else rows).blocks]
            found += sum(block.nbytes for block in blocks if block is not None)
    return found


def results(case: str, data: pa.Table, mode: str) -> int:
    runner = runner_of(case, data, mode)
    for _ in fed(runner, data):
        pass
    return runner.metrics().results


def saved(case: str, data: pa.Table, mode: str) -> tuple[float, float]:
    """Bytes a kept row of a whole save, and of the next one."""
    runner = runner_of(case, data, mode)
    written = [0.0, 0.0]
    known: chunks.Known = {}
    bodies = Written()
    marks = (15 * len(data) // 16, len(data))
    turn = 0
    for done in fed(runner, data):
        if turn < 2 and done >= marks[turn]:
            bodies.bytes = 0
            tables = nested({f"{i}/": operator.state() for i, operator in enumerate(joins(runner))})
            known = chunks.save(tables, known, bodies)
            written[turn] = bodies.bytes / max(1, runner.metrics().rows_stored)
            turn += 1
    return written[0], written[1]


class Written(dict[chunks.Key, bytes]):
    """Chunks in memory, and how many bytes were written."""

    bytes = 0

    def __setitem__(self, key: chunks.Key, body: Any) -> None:
        self.bytes += len(body)
        super().__setitem__(key, body)


# Tables


def by_case(settings: Settings) -> None:
    data, lines = trades(settings.rows(ROWS)), []
    for case in settings.chosen(CASES):
        part = data.slice(0, len(data) // 4) if case == "handshake" else data
        works = {mode: lambda case=case, part=part, mode=mode: results(case, part, mode) for mode in MODES}
        times = side_by_side(works, settings.repeats, lambda answers: len(set(answers)) == 1)
        plain = held(case, part, "off")
        for mode in MODES:
            kept, slower = held(case, part, mode), times[mode].median / times["off"].median
            whole, after = saved(case, part, mode)
            each = [kept.bytes / kept.rows, kept.payload / kept.rows, whole, after]
            bar = verdict(slower, BAR, at_most=True) if mode == "auto" else ""
            figures = [Figure.once(value, Unit.BYTES) for value in each]
            lines.append([case, mode, f"{kept.rows:,}", *figures, times[mode].time(), f"{slower:.2f}", bar])
            assert kept.results == plain.results
    headers = ["join", "mode", "rows kept", "B a row", "payload", "saved", "saved next", "time", "x off", "bar 1.15"]
    settings.report(f"{len(data):,} trades a side", headers, lines, labels=2)


# Keys that are asked for again and again

HOT, LOOKS, PROBES = 3, 200, 64
"""Keys that are asked for, and how often so many rows ask for them."""


def hot_rows(rows: int, memory: int | None) -> tuple[Runner, list[pa.RecordBatch]]:
    """A join that holds so many rows in blocks, and rows that look for partners of a few keys among them."""
    chance = np.random.default_rng(3)
    kept = tabled(
        ts=np.arange(rows),
        k=chance.integers(0, rows // 20, rows),
        v=chance.integers(0, 1 << 20, rows),
        w=np.arange(rows),
    )
    asking = pa.schema([("ts", pa.int64()), ("k", pa.int64())])
    streams = {
        "a": wr.stream([], time="ts", progress=wr.slack(0), name="a", schema=kept.schema),
        "b": wr.stream([], time="ts", progress=wr.slack(rows), name="b", schema=asking),
    }
    text = f"SELECT a.v AS v, a.w AS w, a.ts AS at FROM a, b WHERE a.k = b.k AND a.ts BETWEEN b.ts - {rows} AND b.ts"
    query = wr.sql(f"{text} COMPRESS blocks", **streams)
    runner = Runner(query.plan, query.sources, LocalOptions(memory=memory))
    for batch in kept.to_batches(max_chunksize=BATCH):
        runner.feed("a", batch)
    looks = [tabled(ts=np.full(PROBES, rows - 2), k=chance.integers(0, HOT, PROBES)) for _ in range(LOOKS)]
    return runner, [look.to_batches()[0] for look in looks]


def without_cache(runner: Runner) -> Runner:
    """The same, where each look reads its blocks."""
    for operator in joins(runner):
        for held in operator.held:
            assert isinstance(held, JoinStore)
            for runs in held.segments.values():
                runs[:] = [uncached(run) for run in runs]
    return runner


def uncached(run: SortedRun) -> SortedRun:
    if not isinstance(run.payload, SealedRows):
        return run
    plain = run.payload.spilled(lambda c: replace(c, cache=None) if isinstance(c, SpilledColumn) else c)
    return replace(run, payload=replace(plain, cache=None))


def looked_up(runner: Runner, looks: list[pa.RecordBatch]) -> int:
    before = runner.metrics().results
    for look in looks:
        runner.feed("b", look)
    return runner.metrics().results - before


def asked_again(settings: Settings) -> None:
    rows = settings.rows(1_000_000)
    lines = []
    for where, memory in (("in memory", None), ("on the disk", 16 * rows)):
        (cached, looks), (plain, _) = hot_rows(rows, memory), hot_rows(rows, memory)
        works = {
            "with": partial(looked_up, cached, looks),
            "without": partial(looked_up, without_cache(plain), looks),
        }
        times = side_by_side(works, settings.repeats, lambda answers: answers[0] == answers[1] > 0)
        found = cached.metrics()
        looked = found.cache_hits + found.cache_misses
        share = f"{found.cache_hits / looked:.1%} of {looked:,}"
        gain = f"{times['without'].median / times['with'].median:.2f}x"
        lines.append([where, times["with"].time(), times["without"].time(), gain, share])
    title = f"{LOOKS} batches of {PROBES} rows ask for {HOT} keys of {rows:,} rows in blocks"
    settings.report(title, ["blocks", "with a cache", "without", "gain", "blocks that were there"], lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        if not settings.only:
            asked_again(settings)
        by_case(settings)
