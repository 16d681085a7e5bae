"""Runs one query on Spark, from its checkpoint where there is one, to its end: `victim.py CASE WAY FOLDER SHARDS`.

The answer appears in the folder when all is done, as two files that are never half written.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as parquet

from tests.soak.queries import CASES, MEMORY, batch_rows
from windrow.cli.exits import Interrupted, clear_endings
from windrow.engines.spark.session.sessions import embedded

if TYPE_CHECKING:
    import windrow as wr

STATE = "state"
WAYS = {"run": f"{STATE}/spark/commits", "frame": f"{STATE}/commits"}
"""How a query is run, and where Spark notes the micro-batches that are done."""
ANSWERS = ("late.parquet", "results.parquet")
"""Written in this order: with the second all is there."""


def main(case: str, way: str, folder: Path, shards: int) -> None:
    spark = embedded(shards=shards, memory="1g", **{"spark.master": "local[2,4]"})
    one = {one.__name__: one for one in CASES}[case]
    work = _run if way == "run" else _frame
    tables = work(one(folder), batch_rows(one), spark, folder)
    for name, table in zip(ANSWERS, tables, strict=True):
        parquet.write_table(table, folder / "unfinished")
        (folder / "unfinished").rename(folder / name)


def _run(query: wr.Query, rows: int, spark: Any, folder: Path) -> tuple[pa.Table, pa.Table]:
    options = {"batch_rows": rows, "checkpoint": str(folder / STATE), "restore": True, "memory_budget": MEMORY}
    result = query.run(engine="spark", spark=spark, **options)
    return result.late, result.table


def _frame(query: wr.Query, rows: int, spark: Any, folder: Path) -> tuple[pa.Table, pa.Table]:
    """What a reader of the sink's folder sees: Spark's own log of it says which files count."""
    writer = query.to_spark(spark, batch_rows=rows, memory_budget=MEMORY).writeStream.format("parquet")
    located = writer.option("checkpointLocation", str(folder / STATE)).option("path", str(folder / "out"))
    located.trigger(availableNow=True).start().awaitTermination()
    return pa.table({}), spark.read.parquet(str(folder / "out")).toArrow()


if __name__ == "__main__":
    try:
        with clear_endings():
            main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))
    except Interrupted as interrupt:
        sys.exit(interrupt.exit_code)
