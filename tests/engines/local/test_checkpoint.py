"""A run that breaks off and goes on from its last checkpoint gives, with what it had committed, the whole answer."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.acceptance.streams import COUNTED, SCHEMA, rows, table
from tests.soak.broken_off import every_checkpoint
from tests.strategies import comparable
from windrow.durable.sealed_files import read_json
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Position, Reader, Sign
from windrow.sources.base import Delivery, Given

pytestmark = pytest.mark.usefixtures("every_checkpoint")


class Broken(Exception):
    """The power went off."""


class GeometricMean(wr.UserAggregate):
    """Logarithms are rounded to multiples of 2^-20, so that sums are exact in any order."""

    name = "test_checkpoint_geomean"
    result = pa.float64()

    def lift(self, values: Any) -> Any:
        return np.round(np.log(np.abs(values) + 1.0) * 2**20), np.ones(len(values), np.int64)

    def combine(self, left: Any, right: Any) -> Any:
        return left[0] + right[0], left[1] + right[1]

    def finish(self, state: Any, parameters: tuple[Any, ...]) -> Any:
        return np.exp(state[0] / state[1] / 2**20)


wr.register(GeometricMean())


@dataclass(frozen=True)
class Breaking:
    """A source that breaks after some elements."""

    source: Any
    after: int
    schema: pa.Schema
    is_live: bool = False
    is_endless: bool = False
    delivery: Delivery = Delivery.EXACTLY_ONCE

    def select(self, columns: Any) -> Breaking:
        source = self.source.select(columns)
        return replace(self, source=source, schema=source.schema)

    def open(self, position: Position | None = None, **how: Any) -> Reader:
        return BreakingReader(self.source.open(position, **how), self.after)


@dataclass
class BreakingReader:
    """Breaks when it is asked for one more element."""

    reader: Reader
    left: int

    @property
    def position(self) -> Position:
        return self.reader.position

    def poll(self, timeout: float | None = None) -> Given | Sign:
        if self.left == 0:
            raise Broken
        self.left -= 1
        return self.reader.poll(timeout)

    def close(self) -> None:
        self.reader.close()


class Collected:
    """Results and late rows of one run, one row after the other."""

    def __init__(self, runner: Runner) -> None:
        self.results: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []
        runner.pipeline.ends[0].on_result = lambda batch: self.results.extend(batch.to_pylist())
        runner.pipeline.ends[0].on_late = lambda batch: self.late.extend(batch.to_pylist())


def uninterrupted(query: wr.Query, batch_rows: int) -> tuple[list[Any], list[Any], dict[str, Any]]:
    runner = Runner(query.plan, query.sources, LocalOptions(batch_rows=batch_rows))
    found = Collected(runner)
    metrics = runner.run()
    return comparable(found.results), comparable(found.late), {name: getattr(metrics, name) for name in COUNTED}


def interrupted(
    query: wr.Query, batch_rows: int, folder: Path, breaks: list[int]
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """The same run, broken off after so many elements, again and again; every element is followed by a checkpoint."""
    options = LocalOptions(batch_rows=batch_rows, checkpoint=str(folder), checkpoint_every=1, restore=True)
    results: list[Any] = []
    late: list[Any] = []
    for after in [*breaks, 1 << 60]:
        sources: dict[str, Any] = {
            name: Breaking(source, after, source.schema) for name, source in query.sources.items()
        }
        runner = Runner(query.plan, sources, options)
        assert len(results) == runner.pipeline.results
        found = Collected(runner)
        with every_checkpoint(), suppress(Broken):
            metrics = runner.run()
        results += found.results
        late += found.late
    return comparable(results), comparable(late), {name: getattr(metrics, name) for name in COUNTED}


BOUNDED = {"n": wr.count(), "total": wr.sum("x"), "mean": wr.avg("y"), "most": wr.max("y"), "last": wr.last("k")}
BOUNDED["about"] = wr.approx_distinct("k", 0.1)
HOLISTIC = {"middle": wr.median("y"), "usual": wr.mode("k"), "all": wr.collect("x"), "kinds": wr.count_distinct("k")}
USER = {"geo": wr.aggregate("test_checkpoint_geomean", "x"), "n": wr.count("x")}
AGGREGATES = {"bounded": BOUNDED, "holistic": HOLISTIC, "user": USER}
WINDOWS: dict[str, dict[str, Any]] = {
    "tumbling": {"range": 10},
    "sliding": {"range": 30, "slide": 10},
    "uneven": {"range": 25, "slide": 10, "origin": 3},
    "landmark": {"range": "unbounded", "slide": 50},
    "session": {"gap": 8},
}
WIDE = SCHEMA.append(pa.field("y", pa.float64()))


def stream(seed: int, size: int = 90, **settings: Any) -> wr.Query:
    chance = random.Random(seed)
    given = [{**row, "y": chance.choice((None, chance.uniform(-1, 1), 1e300, 0.1))} for row in rows(seed, size)]
    return wr.stream(table(given, WIDE), time="ts", **{"progress": wr.slack(12), **settings})


def check(query: wr.Query, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    batch_rows = chance.choice([5, 8, 13, 21])
    breaks = [chance.randrange(1, 6) for _ in range(3)]
    assert uninterrupted(query, batch_rows) == interrupted(query, batch_rows, folder, breaks)


@pytest.mark.parametrize("aggregates", AGGREGATES)
@pytest.mark.parametrize("window", WINDOWS)
def test_every_window_and_aggregate_goes_on(window: str, aggregates: str, tmp_path: Path) -> None:
    seed = list(WINDOWS).index(window)
    late = ("side", "revise")[(seed + list(AGGREGATES).index(aggregates)) % 2]
    if late == "revise" and window == "landmark":
        late = "drop"
    query = stream(seed).where("x IS NULL OR x <> 3").group_by("k").window(**WINDOWS[window])
    within = 40 if late == "revise" else None
    check(query.agg(**AGGREGATES[aggregates]).late(late, within=within), tmp_path, seed)


@pytest.mark.parametrize("strategy", ["panes", "wid", "adaptive", "buffer"])
@pytest.mark.parametrize("aggregates", AGGREGATES)
def test_every_strategy_goes_on(strategy: str, aggregates: str, tmp_path: Path) -> None:
    query = stream(7).group_by("k").window(**WINDOWS["uneven"]).agg(**AGGREGATES[aggregates])
    check(query.late("side").lateness("consistent").strategy(strategy), tmp_path, 7)


@pytest.mark.parametrize("emit", ["empty", "complete"])
def test_which_windows_were_reported_is_remembered(emit: str, tmp_path: Path) -> None:
    check(stream(8).group_by("k").window(range=10).agg(**BOUNDED).emit(emit), tmp_path, 8)


@pytest.mark.parametrize("policy", [wr.ordered(), wr.slack("5 rows"), wr.at_end(), wr.slack(0)], ids=repr)
def test_every_policy_goes_on(policy: Any, tmp_path: Path) -> None:
    query = stream(9, progress=policy).group_by("k").window(**WINDOWS["sliding"]).agg(**BOUNDED).late("side")
    check(query, tmp_path, 9)


def test_punctuations_of_the_data_go_on(tmp_path: Path) -> None:
    given: list[Any] = []
    for i, row in enumerate(rows(10, 150)):
        given.append(row)
        if i % 9 == 0:
            given.append(Punctuation(-600 + 8 * i))
    query = wr.stream(given, time="ts", progress=wr.punctuated(), schema=SCHEMA)
    check(query.window(range=30, slide=10).agg(n=wr.count(), m=wr.median("x")).late("side"), tmp_path, 10)


def test_unions_windows_over_windows_and_distinct_rows_go_on(tmp_path: Path) -> None:
    both = stream(11, 60, idle=20).union(stream(12, 90, idle=20))
    inner = both.group_by("k").window(range=20, slide=10).agg(**BOUNDED)
    check(inner.window(range=40, slide=20).agg(n=wr.sum("n"), m=wr.median("mean")), tmp_path / "nested", 11)
    check(stream(13).select("ts", "k").distinct(), tmp_path / "distinct", 13)


def test_the_newest_whole_checkpoint_counts(tmp_path: Path) -> None:
    query = stream(14).window(range=10).agg(n=wr.count())
    expected = uninterrupted(query, 10)
    interrupted(query, 10, tmp_path, [3])
    (tmp_path / "99.draft").mkdir()
    (tmp_path / "\N{SUPERSCRIPT TWO}").mkdir()  # a digit, but no number
    runner = Runner(query.plan, query.sources, LocalOptions(checkpoint=str(tmp_path), restore=True))
    assert len(expected[0]) == runner.pipeline.results


def test_a_restored_run_may_read_in_batches_of_another_size(tmp_path: Path) -> None:
    """Of two streams, a batch is taken piece by piece: a checkpoint may lie in the middle of one."""
    both = stream(16, 80, idle=20).union(stream(17, 120, idle=20))
    query = both.group_by("k").window(range=20, slide=10).agg(**BOUNDED).late("side")
    expected = uninterrupted(query, 1000)
    sizes = [50, 7, 1, 33, 1000]
    results: list[Any] = []
    for number, batch_rows in enumerate(sizes):
        is_last = number == len(sizes) - 1
        sources: dict[str, Any] = {
            name: Breaking(source, 1 << 60 if is_last else 3, source.schema) for name, source in query.sources.items()
        }
        options = LocalOptions(batch_rows=batch_rows, checkpoint=str(tmp_path), checkpoint_every=1, restore=True)
        runner = Runner(query.plan, sources, options)
        found = Collected(runner)
        with suppress(Broken):
            runner.run()
        results += found.results
    assert expected[0] == comparable(results)


def test_positions_of_files_are_kept_and_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    data, folder = tmp_path / "rows.parquet", tmp_path / "state"
    parquet.write_table(table(rows(18, 100), SCHEMA), data, row_group_size=30)
    query = wr.stream(data, time="ts", progress=wr.slack(12)).window(range=10).agg(n=wr.count()).late("drop")
    options = LocalOptions(batch_rows=20, checkpoint=str(folder), checkpoint_every=20)
    broken: dict[str, Any] = {name: Breaking(source, 3, source.schema) for name, source in query.sources.items()}
    runner = Runner(query.plan, broken, options)
    runner.deliver(lambda _: None, None)
    with pytest.raises(Broken):
        runner.run()
    kept = read_json(max(folder.glob("*/manifest.json")))
    ((name, position),) = kept["positions"].items()
    assert (50, 0, "rows.parquet", 50) == (
        kept["read"][name],
        position["done"],
        *map(position["at"].get, ("file", "row")),
    )
    assert query.collect().equals(query.collect(checkpoint=str(folder), restore=True))
    os.utime(data, ns=(1, 1))
    with pytest.raises(
        wr.SourceError, match=r"\A`\w+` must still be the data .*, got .*/rows\.parquet \(written again "
    ):
        query.collect(checkpoint=str(folder), restore=True)


CHILD = """
import json, os, signal, sys
import pyarrow.parquet as parquet
import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner

data, folder, out, kill_after = sys.argv[1:4] + [int(sys.argv[4])]
query = wr.stream(data, time="ts", progress=wr.slack(12)).group_by("k").window(range=30, slide=10)
query = query.agg(n=wr.count(), total=wr.sum("x"), middle=wr.median("y"))
options = LocalOptions(batch_rows=7, checkpoint=folder, checkpoint_every=40, restore=True)
runner = Runner(query.plan, query.sources, options)
fed = 0
with open(out, "a") as file:
    if runner.pipeline.results == 0:
        file.truncate(0)
    def write(batch):
        for row in batch.to_pylist():
            file.write(json.dumps(row) + "\\n")
        file.flush()
    def feed(name, element, feed=runner.feed):
        global fed
        feed(name, element)
        fed += 1
        if fed == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)
    runner.pipeline.ends[0].on_result = write
    runner.feed = feed
    runner.run()
print(runner.pipeline.results)
"""


def test_a_killed_process_loses_nothing(tmp_path: Path) -> None:
    """Results written after the last checkpoint are cut off on restart; nothing is lost, nothing comes twice."""
    chance = random.Random(15)
    given = [{**row, "y": chance.uniform(-1, 1)} for row in rows(15, 300)]
    data, folder, out = tmp_path / "rows.parquet", tmp_path / "checkpoints", tmp_path / "out.jsonl"
    parquet.write_table(table(given, WIDE), data)
    for kill_after in (17, 9, 0):
        _cut_to_committed(folder, out)
        arguments = [str(data), str(folder), str(out), str(kill_after)]
        done = subprocess.run([sys.executable, "-c", CHILD, *arguments], env={**os.environ}, check=False)
        assert (-signal.SIGKILL if kill_after else 0) == done.returncode
    query = wr.stream(data, time="ts", progress=wr.slack(12)).group_by("k").window(range=30, slide=10)
    expected = query.agg(n=wr.count(), total=wr.sum("x"), middle=wr.median("y")).collect()
    assert comparable(expected.to_pylist()) == comparable(json.loads(line) for line in out.read_text().splitlines())


def _cut_to_committed(folder: Path, out: Path) -> None:
    """Keep of the output what the newest checkpoint says was given before it."""
    whole = [path for path in folder.glob("*/manifest.json") if path.parent.name.isdigit()] if folder.exists() else []
    if whole:
        newest = max(whole, key=lambda path: int(path.parent.name))
        committed = read_json(newest)["results"][0]
        out.write_text("".join(out.read_text().splitlines(keepends=True)[:committed]))
