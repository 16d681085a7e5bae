"""The ledger: everything that a streaming run gave, in Parquet files that Spark's own file sink writes exactly once.

Its files are handed over as micro-batches end, each once. A folder of the user's keeps them, so that a restored run
begins by handing over what was given before, and its answer is the whole one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from windrow.durable.manifests import damaged
from windrow.engines.spark.query.frames import Frames
from windrow.engines.spark.running.checkpoint import GIVEN, SPARK, whole
from windrow.engines.spark.running.logs import check_sums, forget, given_files
from windrow.operators.input.times import to_units
from windrow.operators.kernels.input import span
from windrow.plan.nodes import OrderedOutput
from windrow.plan.types.kinds import in_order
from windrow.sharded.shard import Job
from windrow.sharded.wire import COUNTS, RESULT, batches_of, opened

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

pc: Any = pyarrow.compute  # the stubs know fewer argument types than the functions take
Deliver: TypeAlias = Callable[[pa.RecordBatch], None]
Reading: TypeAlias = Callable[[int], Iterable[Any]]
"""The rows of the ledger that are of one query, by its place."""
_SCHEMA = "query int, kind int, time bigint, body binary"
_HERE = 1 << 26
"""Bytes of files that are read right here; more is put in order by Spark, which need not have all of it in memory."""


class SparkLedger:
    """The ledger of one run, in its folder."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        made: Sequence[Frames],
        deliveries: Sequence[Mapping[int, Deliver]],
        *,
        keep: bool,
    ) -> None:
        """What need not be kept is removed once it was handed over, and from Spark's log after a day."""
        self.spark = spark
        self.folder = folder
        self.made = made
        self.keep = keep
        self.deliveries: list[dict[int, Deliver]] = [
            {**given, RESULT: partial(self._count, query, given[RESULT])} for query, given in enumerate(deliveries)
        ]
        self.results = [0] * len(made)
        """How many of each query were handed over."""
        self.handed: set[Path] = set()

    def _count(self, query: int, deliver: Deliver, batch: pa.RecordBatch) -> None:
        self.results[query] += batch.num_rows
        deliver(batch)

    def writer(self, outcomes: DataFrame) -> DataStreamWriter:
        """The ledger as a sink of what the queries give."""
        given = outcomes.filter(f"kind <> {COUNTS}").select("query", "kind", "time", "body")
        return (
            given.writeStream.format("parquet")
            .outputMode("append")
            .options(**({} if self.keep else {"retention": "1d"}))
            .option("path", str(self.folder / GIVEN))
            .option("checkpointLocation", str(self.folder / SPARK))
        )

    def hand_over(self) -> None:
        """What is in files that were not handed over yet."""
        with whole(self.folder):
            found = given_files(self.folder / GIVEN, but=self.handed)
        new = [path for path in found if path not in self.handed]
        if new:
            self._deliver(self._reading(new))
        self.handed = set(found)
        for path in () if self.keep else new:
            forget(path)

    def hand_over_from_afar(self) -> None:
        """All of it, where its folder is not on this machine but on that of Spark."""
        if not (self.folder / GIVEN).exists():
            self._deliver(self._reading_by_spark([self.folder / GIVEN]))

    def _deliver(self, reading: Reading) -> None:
        for frame, given in zip(self.made, self.deliveries, strict=True):
            deliver_in_order(reading(frame.query), given, frame.job.time, ties=has_ties(frame.job))

    def _reading(self, files: Sequence[Path]) -> Reading:
        """What one query gave, by time; of equal times, what came first."""
        if sum(path.stat().st_size for path in files) > _HERE:
            return self._reading_by_spark(files)
        with whole(self.folder):
            for path in files:
                check_sums(path)  # Arrow does not promise to survive bytes that it did not write
        return partial(_rows, pa.concat_tables(map(_read, files)))

    def _reading_by_spark(self, files: Sequence[Path]) -> Reading:
        ledger = self.spark.read.schema(_SCHEMA).parquet(*map(str, files))
        return lambda query: ledger.filter(f"query = {query}").orderBy("time").toLocalIterator(prefetchPartitions=True)

    def check(self, results: Sequence[int]) -> None:
        """Refuse a ledger that does not have as many results of each query as it gave."""
        for counted, known in zip(self.results, results, strict=True):
            if counted != known:
                raise damaged(f"its ledger has {counted:,} of {known:,} results")


def _rows(table: pa.Table, query: int) -> Iterator[Any]:
    table = table.filter(pc.equal(table["query"], query))
    for place in pc.sort_indices(table["time"]).to_pylist():
        yield {name: table[name][place].as_py() for name in ("query", "kind", "time", "body")}


def _read(path: Path) -> pa.Table:
    try:
        return pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise damaged(f"{path} cannot be read") from error


def has_ties(job: Job) -> bool:
    """Whether results of equal time have an order, too."""
    return isinstance(job.divided.asked, OrderedOutput)


def deliver_in_order(
    rows: Iterable[Any], deliveries: Mapping[int, Deliver], time: str | None, *, ties: bool = False
) -> None:
    """Bodies that come in order of their first time, with the rows of those that overlap in order of theirs.

    A micro-batch gives later results than the one before, so no more than what one of them gave is held.
    """
    held: list[pa.RecordBatch] = []
    last: Any = None
    for row in rows:
        name = row["kind"], row["query"], row["time"]
        batches = list(batches_of(opened(bytes(row["body"]), name, "a result in its ledger")))
        if row["kind"] != RESULT or time is None:
            _hand_on(batches, deliveries[row["kind"]])
            continue
        if held and row["time"] > last:
            _hand_on(_sorted(held, time, ties), deliveries[RESULT])
            held = []
        held += batches
        last = max(int(span(to_units(batch.column(time)))[1]) for batch in held)
    _hand_on(_sorted(held, time, ties), deliveries[RESULT])


def _hand_on(batches: Iterable[pa.RecordBatch], deliver: Deliver) -> None:
    for batch in batches:
        deliver(batch)


def _sorted(batches: list[pa.RecordBatch], time: str | None, ties: bool) -> list[pa.RecordBatch]:
    if len(batches) < 2 or time is None:
        return batches
    table = pa.Table.from_batches(batches)
    return (in_order(table, time) if ties else table.sort_by(time)).combine_chunks().to_batches()
