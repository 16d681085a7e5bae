"""Windrow on Spark against Spark's own stream-stream join by an equality in an interval of time, over the same files.

One embedded session on two cores with two shuffle partitions, RocksDB as the state store of both sides, pairs into
the `noop` sink. `files`: Windrow's own source reads. `frame`: Spark reads, rows reach Windrow through the JVM. A row
has about one partner. Bar for `files`: 1x Spark's own rows/s. A join by a band alone, which Spark refuses, is shown
without a rival, and so is one by any predicate at all.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from _figures import Figure, Spread, Unit, amount, duration
from _harness import Settings, benchmark, verdict
from _spark_streams import WARM_UP, drain, session
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import windrow as wr
from windrow.engines.spark.running.observing import metrics_of
from windrow.plan.checks.joins import joined_names
from windrow.plan.nodes import Join
from windrow.query import Query
from windrow.query.fluent import to_expression
from windrow.semantics.joins import Between, JoinKind

SECOND = 1_000_000
SLACK = SECOND
"""Rows are up to half of it out of order, so none is late."""
BEGIN = 1_700_000_000 * SECOND
BAR = 1.0
ROW_GROUPS = 4
"""Of a file, so that two tasks can share it."""
SCHEMA = pa.schema([("key", pa.int64()), ("x", pa.int64()), ("time", pa.timestamp("us", "UTC"))])
SIDES = ("left", "right")
HEADERS = ["case", "side", "rows a batch", "rows/s", "median batch", "pairs", "state", "x native", "bar"]


@dataclass(frozen=True)
class Load:
    """Two streams of so many rows a file, `seconds` long, and the join of them."""

    name: str
    on: str
    within: int
    """Seconds that partners are apart at most."""
    keys: int
    file_rows: int
    files: int
    seconds: int = 10
    has_rival: bool = True


def loads(quick: bool) -> list[Load]:
    """All of them; `quick` takes a tenth of the rows."""
    rows, files = (30_000, 6) if quick else (300_000, 8)
    equal = "a_key = b_key"
    near = "a_x >= b_x - 10 and a_x <= b_x + 10"
    return [
        Load("equality, a window of a batch", equal, 5, rows, rows, files),
        Load("equality, a window of 6 batches", equal, 30, 2 * rows, rows // 3, files + 6),
        Load("equality, 1000 keys", equal, 5, 1000, rows // 30, files),
        Load("band", near, 5, rows, rows, files, has_rival=False),
        Load("any predicate", "(a_key + b_key) % 1000 = 1", 5, rows // 30, rows // 30, files, has_rival=False),
    ]


@contextmanager
def written(load: Load) -> Iterator[Path]:
    """A folder with a folder for each stream; modification times tell Spark the order of their files."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as folder:
        for side in SIDES:
            (Path(folder) / side).mkdir()
            for number in range(load.files):
                path = Path(folder) / side / f"{number:04}.parquet"
                rows = _rows(load, 2 * number + SIDES.index(side), BEGIN + number * load.seconds * SECOND)
                pq.write_table(rows, path, row_group_size=-(-load.file_rows // ROW_GROUPS))
                os.utime(path, (BEGIN / 1e6 + number, BEGIN / 1e6 + number))
        yield Path(folder)


def _rows(load: Load, seed: int, start: int) -> pa.Table:
    """Rows evenly over the span of a file, each up to half the slack too early."""
    chance, rows = np.random.default_rng(seed), load.file_rows
    times = start + np.arange(rows) * load.seconds * SECOND // rows - chance.integers(0, SLACK // 2, rows)
    columns: list[Any] = [chance.integers(0, load.keys, rows), chance.integers(0, 20 * load.keys, rows), times]
    return pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


# The same question, asked in three ways


def native(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
    """Spark's own join; its columns as Windrow names them."""
    left, right = (
        _read(spark, folder / side)
        .withWatermark("time", f"{SLACK} microseconds")
        .select(*(sf.col(name).alias(f"{alias}_{name}") for name in SCHEMA.names))
        for side, alias in zip(SIDES, "ab", strict=True)
    )
    near = f"b_time >= a_time - interval {load.within} seconds and b_time <= a_time + interval {load.within} seconds"
    return left.join(right, sf.expr(f"{load.on} and {near}"))


def through_files(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
    """Windrow's own source reads the files."""
    return asked([f"{folder}/{side}/*.parquet" for side in SIDES], load).to_spark(spark, batch_rows=load.file_rows)


def through_frame(spark: SparkSession, folder: Path, load: Load) -> DataFrame:
    """Spark reads the files; their rows come to Windrow through the JVM."""
    return asked([_read(spark, folder / side) for side in SIDES], load).to_spark()


def _read(spark: SparkSession, folder: Path) -> DataFrame:
    columns = "key bigint, x bigint, time timestamp"
    return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(folder))


def asked(data: Sequence[Any], load: Load) -> Query:
    """The join of a load over paths or DataFrames."""
    left, right = (
        wr.stream(one, time="time", progress=wr.slack(f"{SLACK} us"), name=side)
        for one, side in zip(data, SIDES, strict=True)
    )
    names = joined_names([left.schema, right.schema], ("a", "b"))
    schema = pa.schema([(c.name, SCHEMA.field(c.source).type) for c in names])
    window = Between(-load.within * SECOND, load.within * SECOND)
    plan = Join(left.plan, right.plan, JoinKind.INNER, window, to_expression(load.on, schema), names, ("a", "b"))
    return Query(plan, {**left.sources, **right.sources})


Form = Callable[[SparkSession, Path, Load], DataFrame]
FORMS: dict[str, Form] = {"native": native, "files": through_files, "frame": through_frame}


# Running and measuring


@dataclass(frozen=True)
class Measured:
    """What the counted micro-batches of a stream took, and the state after the last of them."""

    seconds: list[float]
    pairs: int
    state: int


def measure(spark: SparkSession, form: Form, folder: Path, load: Load) -> Measured:
    """Run both streams to the end of their files, into nothing."""
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as checkpoint:
        progress = drain(form(spark, folder, load), checkpoint, format="noop")
    counted = [one for one in progress if WARM_UP <= one["batchId"] < load.files - 1]
    if len(counted) != load.files - 1 - WARM_UP:
        raise SystemExit(f"{len(counted)} micro-batches counted, {load.files - 1 - WARM_UP} expected")
    seconds = [one["durationMs"]["triggerExecution"] / 1000 for one in counted]
    own = metrics_of(counted[-1])
    state = own.state_bytes or sum(int(one["memoryUsedBytes"]) for one in counted[-1]["stateOperators"])
    return Measured(seconds, own.results, state)


def answer(spark: SparkSession, form: Form, folder: Path, load: Load) -> pa.Table:
    with tempfile.TemporaryDirectory(prefix="windrow-bench-") as kept:
        drain(form(spark, folder, load), f"{kept}/checkpoint", format="parquet", path=f"{kept}/answer")
        found = spark.read.parquet(f"{kept}/answer").toArrow()
    return found.sort_by([(name, "ascending") for name in found.column_names])


def check_answers(spark: SparkSession) -> None:
    """Figures of sides that give different answers would mean nothing."""
    load = replace(loads(True)[0], keys=500, file_rows=3_000, files=3)
    with written(load) as folder:
        answers = {side: answer(spark, form, folder, load) for side, form in FORMS.items()}
    for side, found in answers.items():
        if not found.num_rows or found.to_pydict() != answers["native"].to_pydict():
            raise SystemExit(f"the answers of {side} and native differ")
    print(f"answers of native, files and frame over the same small streams: the same {answers['files'].num_rows} pairs")


def show_refusal(spark: SparkSession, load: Load) -> None:
    """What Spark says to a join without an equality."""
    with written(replace(load, file_rows=100, files=2)) as folder:
        try:
            measure(spark, native, folder, replace(load, files=2))
        except StreamingQueryException as refused:
            why = next((line for line in str(refused).splitlines() if "not supported" in line), None)
            if why is None:
                raise
            print(f"{load.name}: Spark's own refuses: {why.rpartition('exception: ')[2].strip()}")
            return
    raise SystemExit(f"{load.name}: Spark took it, so it should be measured")


def measured(spark: SparkSession, load: Load) -> dict[str, Measured]:
    """Every side over short streams, not counted, then in full."""
    sides = [side for side in FORMS if side != "native" or load.has_rival]
    found: dict[str, Measured] = {}
    for one in (replace(load, files=WARM_UP + 2), load):
        with written(one) as folder:
            found |= {side: measure(spark, FORMS[side], folder, one) for side in sides}
    return found


def lines(load: Load, found: dict[str, Measured]) -> list[list[object]]:
    """A line for each side; rows are those of both streams."""
    rows, made = 2 * load.file_rows, list[list[object]]()
    rates = {side: rows / Spread.of(one.seconds).median for side, one in found.items()}
    for side, one in found.items():
        spread = Spread.of(one.seconds)
        times = rates[side] / rates["native"] if "native" in rates else None
        bar = f"{BAR:g}x {verdict(times, BAR)}" if times is not None and side == "files" else ""
        ratio = "-" if times is None else f"{times:.2f}x"
        rate = spread.rate(rows, {} if times is None else {"native": times})
        pairs = amount(one.pairs) if one.pairs else "-"
        figures = rate, duration(spread.median), pairs, Figure.once(one.state, Unit.BYTES)
        kept = map(str, figures) if side == "native" else figures  # of the rival only the ratio is kept
        made.append([load.name, side, f"{rows:,}", *kept, ratio, bar])
    return made


def main(settings: Settings) -> None:
    named = {load.name: load for load in loads(settings.quick)}
    wanted = [named[name] for name in settings.chosen(named)]
    spark = session()
    check_answers(spark)
    for load in wanted:
        if not load.has_rival:
            show_refusal(spark, load)
        counted = load.files - 1 - WARM_UP
        found = lines(load, measured(spark, load))
        settings.report(f"{load.name}: {counted} micro-batches", HEADERS, found, labels=2)
    spark.stop()


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
