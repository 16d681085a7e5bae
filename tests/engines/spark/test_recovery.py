"""What breaks a query on Spark is told clearly; once mended, it goes on from its checkpoint to the whole answer."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.acceptance.streams import KINDS
from tests.strategies import comparable
from windrow.durable.folder_lock import CheckpointLock
from windrow.engines.spark.session.faults import explained
from windrow.errors import ConfigurationError, SourceError, WindrowError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH_ROWS = 50
ROWS = [{"ts": 3 * i - i % 7, "k": "abc"[i % 3], "x": i} for i in range(200)]
TRAPPED = 110
"""The value at which things go wrong: it comes in the third micro-batch of four."""
DIED = (
    "`Spark` lost a Python worker, which crashed or was killed, most often for lack of memory. Hint: take fewer rows "
    "in a micro-batch, fewer cores, or a machine with more memory; spark.python.worker.faulthandler.enabled=true shows "
    "where a crash was."
)


def trapped_sum(name: str, trap: Path, spring: Callable[[], None]) -> str:
    """An aggregate, a sum, that springs a trap when it meets `TRAPPED` while the trap is set."""

    class TrappedSum(wr.UserAggregate):  # defined in here so that it travels by value
        result = pa.int64()

        def lift(self, values: Any) -> Any:
            if (np.asarray(values) == TRAPPED).any() and trap.exists():
                trap.unlink()
                spring()
            return (np.asarray(values, np.int64),)

        def combine(self, left: Any, right: Any) -> Any:
            return (left[0] + right[0],)

        def finish(self, state: Any, parameters: tuple[Any, ...]) -> Any:
            return state[0]

    TrappedSum.name = name
    wr.register(TrappedSum())
    return name


def dying(trap: Path, cause: Path) -> Callable[[], None]:
    """The end of a worker; while the cause is there, that of whoever takes its place, too."""

    def die() -> None:
        if cause.exists():
            trap.touch()
        os.kill(os.getpid(), signal.SIGKILL)

    return die


def failing(trap: Path) -> Callable[[], None]:
    """An error each time it is tried; a worker survives it, so that trying again is quick."""

    def fail() -> None:
        trap.touch()
        raise OSError("the disk of the aggregate is full")

    return fail


def query(aggregate: str, data: Any = None, window: int = 60) -> wr.Query:
    given = pa.Table.from_pylist(ROWS, pa.schema(KINDS)) if data is None else data
    stream = wr.stream(given, time="ts", progress=wr.slack(7), name="s")
    spec = {"n": wr.count(), "total": wr.aggregate(aggregate, "x")}
    return stream.group_by("k").window(range=window, slide=20).agg(**spec)


def refused(kind: type[WindrowError], message: str) -> Any:
    return pytest.raises(kind, match=f"^{re.escape(message)}$")


def answer(given: wr.Query, **options: Any) -> list[tuple[Any, ...]]:
    return comparable(given.collect(**options).to_pylist())


def on_spark(spark: SparkSession, folder: Path, state: str = "state") -> dict[str, Any]:
    return {
        "engine": "spark",
        "spark": spark,
        "batch_rows": BATCH_ROWS,
        "checkpoint": str(folder / state),
        "restore": True,
    }


def test_a_worker_that_dies(spark: SparkSession, tmp_path: Path) -> None:
    """Once, it is done again; each time, it is told, and the run goes on from its checkpoint when that is mended.

    It does so wherever the checkpoint is now, but not with a part missing, nor while another run has it.
    """
    trap, cause = tmp_path / "trap", tmp_path / "cause"
    given = query(trapped_sum("sum_dying", trap, dying(trap, cause)))
    expected = answer(given)
    trap.touch()
    assert expected == answer(given, engine="spark", spark=spark, batch_rows=BATCH_ROWS)
    assert not trap.exists()
    for path in (trap, cause):
        path.touch()
    with refused(ConfigurationError, DIED):
        given.run(**on_spark(spark, tmp_path))
    for path in (trap, cause):
        path.unlink()
    copied, half = (on_spark(spark, tmp_path, name) for name in ("copied", "half"))
    for options in (copied, half):
        shutil.copytree(tmp_path / "state", options["checkpoint"])
    shutil.rmtree(tmp_path / "state")
    assert expected == answer(given, **copied)
    lost = tmp_path / "half/spark/state/0/1/2.changelog"
    lost.unlink()
    with CheckpointLock(half["checkpoint"]), pytest.raises(ConfigurationError, match=r"^`checkpoint` must be used by "):
        given.run(**half)
    with pytest.raises(ConfigurationError, match=rf"^`checkpoint` .*{lost}"):
        given.run(**half)
    again = given.run(**copied)  # nothing is left to do, and all of it is told
    assert expected == comparable(again.table.to_pylist())
    assert (len(ROWS), len(ROWS)) == (again.metrics.rows_in, again.metrics.rows_used)
    assert again.table.num_rows == again.metrics.results


def test_a_damaged_file_in_the_middle(spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for number, start in enumerate(range(0, len(ROWS), 50)):
        rows = pa.Table.from_pylist(ROWS[start : start + 50], pa.schema(KINDS))
        parquet.write_table(rows, data / f"{number}.parquet")
    given = query("sum", str(data / "*.parquet"))
    expected = answer(given)
    damaged = data / "2.parquet"
    sound = damaged.read_bytes()
    footer = 8 + int.from_bytes(sound[-8:-4], "little")
    damaged.write_bytes(b"PAR1" + bytes(len(sound) - footer - 4) + sound[-footer:])
    message = (
        f"`s` must be a readable Parquet file (row group 0 of 1 is damaged, counted from 0), got {damaged}. "
        "Hint: write the file again from where it came."
    )
    with refused(SourceError, message):
        given.run(**on_spark(spark, tmp_path))
    damaged.write_bytes(sound)
    assert expected == answer(given, **on_spark(spark, tmp_path))


def test_an_output_that_cannot_be_written(spark: SparkSession, tmp_path: Path) -> None:
    """In the place of the folder that results are written to there is suddenly a file."""
    trap, output, aside = tmp_path / "trap", tmp_path / "state" / "given", tmp_path / "aside"

    def block() -> None:
        output.rename(aside)
        output.touch()

    given = query(trapped_sum("sum_blocking", trap, block))
    expected = answer(given)
    trap.touch()
    message = (
        f"`output` cannot be written, got {output}. Hint: check that its disk has room and that the folder may be "
        "written to, then go on from the checkpoint."
    )
    with refused(ConfigurationError, message):
        given.run(**on_spark(spark, tmp_path))
    output.unlink()
    aside.rename(output)
    assert expected == answer(given, **on_spark(spark, tmp_path))


def test_state_of_another_query_is_refused_by_the_workers(spark: SparkSession, tmp_path: Path) -> None:
    """A frame's checkpoint is Spark's own: what it holds is found out where the state is read."""
    trap = tmp_path / "trap"
    given = query(trapped_sum("sum_leaving", trap, failing(trap)))
    expected = answer(given)
    trap.touch()
    with pytest.raises(Exception, match="the disk of the aggregate is full"):
        write(given, spark, tmp_path)
    trap.unlink()
    line = "RANGE {} SLIDE 20 on ts, each row in up to {} windows by (k string) of count(*), sum_leaving(x) "
    line += "on (int64) emit nonempty generous strategy panes"
    other = (
        f"`checkpoint` must be of a query that keeps the same state; this one has {line.format(80, 4)}, "
        f"got {line.format(60, 3)}. "
        "Hint: begin with an empty checkpoint folder; what may change is listed in docs/spark.md."
    )
    with refused(ConfigurationError, other):
        write(query("sum_leaving", window=80), spark, tmp_path)
    more = spark.newSession()
    more.conf.set("spark.sql.shuffle.partitions", "3")
    shards = (
        "`checkpoint` must have as many shards as this run (3), got 2 shards. "
        "Hint: set spark.sql.shuffle.partitions to 2, or begin with an empty checkpoint folder."
    )
    with refused(ConfigurationError, shards):
        write(given, more, tmp_path)
    write(given, spark, tmp_path)
    assert expected == comparable(spark.read.parquet(str(tmp_path / "out")).toArrow().to_pylist())


def write(given: wr.Query, spark: SparkSession, folder: Path) -> None:
    """Let the frame's own sink write it, as users do."""
    writer = given.to_spark(spark, batch_rows=BATCH_ROWS).writeStream.format("parquet")
    located = writer.option("checkpointLocation", str(folder / "state")).option("path", str(folder / "out"))
    started = located.trigger(availableNow=True).start()
    try:
        started.awaitTermination()
    except Exception as error:
        raise explained(error) from error
