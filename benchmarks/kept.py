"""Rows that windows keep: bytes a row in memory and in checkpoints, and the time of the same queries.

Windows so wide that all rows stay, over recorded streams where they are there, and generated trades. `off` keeps rows
as plain or packed columns, `auto` is the default, `blocks` seals as much as it can. Bars: 2.5 bytes a row for medians
over panes (goal 1.2), 12 for buffered rows and for windows of rows, checkpoints 2.0 (goal 1.0); time at most 1.15 of
`off`.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from _figures import Figure, Unit
from _harness import Settings, benchmark, side_by_side, verdict

import windrow as wr
from windrow.engines.local import Receiver, run
from windrow.engines.local.checkpoint import Checkpoints
from windrow.generate import trades
from windrow.operators.base import Batch
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline, kept_by, state_bytes
from windrow.query import Query
from windrow.query.fluent import GroupedQuery

DATA = Path(__file__).parents[2] / "shared" / "data"
MODES = "off", "auto", "blocks"
ROWS, BATCH = 1_000_000, 1 << 14
TIME_BAR = 1.15
CHECKPOINT_BAR, CHECKPOINT_GOAL = 2.0, 1.0


@dataclass(frozen=True)
class Rows:
    """A stream of prices, or what stands for them: `time` in microseconds, `key`, `value`."""

    name: str
    table: pa.Table
    slack: int

    @property
    def span(self) -> int:
        times = np.asarray(self.table["time"])
        return int(times.max() - times.min()) + 1


@dataclass(frozen=True)
class Case:
    name: str
    query: Callable[[Rows, int], Query]
    """By the stream and the RANGE of its windows."""
    bar: float | None = None
    goal: float | None = None
    ranges: int = 1
    """Of so many ranges the whole stream is as long, where time is measured."""


def _stream(rows: Rows) -> GroupedQuery:
    return wr.stream(rows.table, time="time", progress=wr.slack(rows.slack), name="rows").group_by("key")


def _sliding(strategy: str, **asked: Any) -> Callable[[Rows, int], Query]:
    def query(rows: Rows, span: int) -> Query:
        window = _stream(rows).window(range=span - span % 8, slide=span // 8)
        return window.strategy(strategy).agg(**asked)

    return query


def _sessions(rows: Rows, span: int) -> Query:
    return _stream(rows).window(gap=span).agg(m=wr.median("value"))


def _per_row(rows: Rows, span: int) -> Query:
    return _stream(rows).window(range=span, slide="1 row", partition="key").agg(m=wr.median("value"))


def _last_rows(rows: Rows, _: int) -> Query:
    return _stream(rows).window(range="4096 rows", slide="1 row", partition="key").agg(m=wr.median("value"))


def _tumbling(rows: Rows, span: int) -> Query:
    return _stream(rows).window(range=span, slide=span).agg(m=wr.median("value"))


CASES = (
    Case("panes: median", _tumbling, 2.5, 1.2, 4),
    Case("sliding panes: median", _sliding("panes", m=wr.median("value")), None, None, 4),
    Case(
        "buffer: count, sum, max",
        _sliding("buffer", n=wr.count(), s=wr.sum("value"), m=wr.max("value")),
        12.0,
        None,
        4,
    ),
    Case("buffer: median", _sliding("buffer", m=wr.median("value")), 12.0, None, 4),
    Case("adaptive: median", _sliding("adaptive", m=wr.median("value")), None, None, 4),
    Case("sessions: median", _sessions, None, None, 40),
    Case("window a row: median", _per_row, None, None, 40),
    Case("4096 rows: median", _last_rows, 12.0),
)


# Streams


def streams(rows: int) -> Iterator[Rows]:
    yield from _recorded("trades", "symbol", "price", 200_000)
    yield from _recorded("sensors", "series", "value", 0)
    yield from _recorded("flights", "origin", "delay", 100_000_000_000, rows)
    made = trades(rows, seed=5, disorder="band 30 s", keys=100, rate=1_000).table()
    yield Rows("generated trades", _named(made, "time", "symbol", "price"), 30_000_000)


def _recorded(file: str, key: str, value: str, slack: int, most: int = ROWS) -> Iterator[Rows]:
    path = DATA / f"{file}.parquet"
    if path.exists():
        yield Rows(file, _named(pq.read_table(path).slice(0, most), "ts", key, value), slack)


def _named(table: pa.Table, time: str, key: str, value: str) -> pa.Table:
    times = table[time].cast(pa.timestamp("us")).cast(pa.int64())
    keys: Any = table[key].dictionary_encode().combine_chunks()
    columns: dict[str, Any] = {"time": times, "key": keys.indices.cast(pa.int64()), "value": table[value]}
    named = pa.table(columns)
    return named.filter(pc.is_valid(named["value"])).combine_chunks()


# Memory and checkpoints


@dataclass(frozen=True)
class Held:
    """Bytes for each row that is kept."""

    state: float
    saved: float
    again: float
    """Written by a second checkpoint, a hundredth of the rows later."""
    kept: int
    """Rows in blocks or waiting for them."""


def held(case: Case, rows: Rows, mode: str) -> Held:
    query = case.query(rows, 4 * rows.span).compress(mode)
    pipeline = build(query.plan)
    batches = rows.table.to_batches(max_chunksize=BATCH)
    folder = Path(tempfile.mkdtemp())
    try:
        checkpoints = Checkpoints(str(folder), [query.plan])
        last = max(1, len(batches) // 100)
        for batch in batches[:-last]:
            _push(pipeline, batch)
        first = _saved(checkpoints, pipeline, folder)
        for batch in batches[-last:]:
            _push(pipeline, batch)
        again = _saved(checkpoints, pipeline, folder)
    finally:
        shutil.rmtree(folder)
    before = sum(len(batch) for batch in batches[:-last])
    after = _kept_rows(case, rows)
    return Held(
        state_bytes(pipeline.stages) / after,
        first / min(before, after),
        again / after,
        kept_by(pipeline.stages).rows,
    )


def _push(pipeline: Pipeline, batch: pa.RecordBatch) -> None:
    pipeline.push("rows", Batch.unread(batch))


def _kept_rows(case: Case, rows: Rows) -> int:
    if "4096" not in case.name:
        return rows.table.num_rows
    counts = rows.table.group_by("key").aggregate([("key", "count")])["key_count"]
    return int(pc.sum(pc.min_element_wise(counts, 4096)).as_py())


def _saved(checkpoints: Checkpoints, pipeline: Pipeline, folder: Path) -> int:
    before = set(folder.rglob("*"))
    checkpoints.save(pipeline, {"rows": 0}, {})
    return sum(path.stat().st_size for path in set(folder.rglob("*")) - before if path.is_file())


def memory(every: list[Rows], settings: Settings) -> None:
    lines = []
    for name in settings.chosen(case.name for case in CASES):
        case = next(case for case in CASES if case.name == name)
        for rows in every:
            found = {mode: held(case, rows, mode) for mode in MODES}
            sizes = [f"{found[mode].state:.2f}" for mode in MODES]
            saved = [f"{found[mode].saved:.2f}" for mode in MODES]
            judged = "" if case.bar is None else verdict(found["auto"].state, case.bar, at_most=True)
            goal = "" if case.goal is None else verdict(found["auto"].state, case.goal, at_most=True)
            again = [f"{found[mode].again:.3f}" for mode in ("off", "auto")]
            bar = verdict(found["auto"].saved, CHECKPOINT_BAR, at_most=True)
            lines.append([name, rows.name, *sizes, judged, goal, *saved, bar, *again])
    headers = ["bytes a kept row", "stream", *MODES, "bar", "goal", "saved off", "auto ", "blocks ", "bar 2.0"]
    settings.report("memory and checkpoints", [*headers, "again off", "again auto"], lines, labels=2)


# Time


def timed(case: Case, rows: Rows, settings: Settings) -> list[object]:
    def work(mode: str) -> Callable[[], pa.Table]:
        query = case.query(rows, rows.span // case.ranges).compress(mode)

        def answered() -> pa.Table:
            results: list[pa.RecordBatch] = []
            run([query.plan], query.sources, Receiver.of_one(results.append))
            return pa.Table.from_batches(results)

        return answered

    def same(answers: list[pa.Table]) -> bool:
        first, *others = (table.sort_by([(name, "ascending") for name in table.schema.names]) for table in answers)
        return all(first.equals(other) for other in others)

    spreads = side_by_side({mode: work(mode) for mode in MODES}, settings.repeats, same)
    over = [spreads[mode].median / spreads["off"].median for mode in MODES[1:]]
    rate = spreads["off"].rate(rows.table.num_rows)
    figures = [Figure.once(ratio, Unit.COST) for ratio in over]
    return [case.name, rows.name, rate, *figures, verdict(over[0], TIME_BAR, at_most=True)]


def main(settings: Settings) -> None:
    every = list(streams(settings.rows(ROWS)))
    memory(every, settings)
    lines = [
        timed(case, rows, settings)
        for case in CASES
        if case.name in settings.chosen(one.name for one in CASES)
        for rows in every
    ]
    settings.report(
        "time of the same query, off = 1", ["query", "stream", "off", "auto", "blocks", "bar 1.15"], lines, 2
    )


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
