"""What the ledger of a run on Spark hands over, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from windrow.engines.spark.running.ledger import SparkLedger, deliver_in_order
from windrow.errors import ConfigurationError
from windrow.sharded.wire import LATE, RESULT, pack, seal


def body(kind: int, key: str, ends: list[int]) -> dict[str, Any]:
    columns: dict[str, list[Any]] = {"key": [key] * len(ends), "window_end": ends}
    batch = pa.record_batch(columns)
    time = min(ends) if kind == RESULT else None
    sealed = seal(pack([batch], batch.schema), (kind, 0, time))
    return {"kind": kind, "query": 0, "time": time, "body": sealed}


def test_results_of_shards_side_by_side_are_put_in_order() -> None:
    rows = [
        body(LATE, "late", [1]),
        body(RESULT, "a", [10, 20, 30]),
        body(RESULT, "b", [10, 30]),
        body(RESULT, "a", [40, 50]),
    ]
    given: list[pa.RecordBatch] = []
    late: list[pa.RecordBatch] = []
    deliver_in_order(rows, {RESULT: given.append, LATE: late.append}, "window_end")
    table = pa.Table.from_batches(given)
    assert [10, 10, 20, 30, 30, 40, 50] == table["window_end"].to_pylist()
    assert ["a", "b", "a", "a", "b", "a", "a"] == table["key"].to_pylist()
    assert [{"key": "late", "window_end": 1}] == late[0].to_pylist()
    assert 2 == len(given)  # what the first micro-batch gave does not wait for the second


def test_ordered_output_settles_ties_across_shards() -> None:
    given: list[pa.RecordBatch] = []
    rows = [body(RESULT, "b", [10, 20]), body(RESULT, "a", [10, 30])]
    deliver_in_order(rows, {RESULT: given.append}, "window_end", ties=True)
    assert ["a", "b", "b", "a"] == pa.Table.from_batches(given)["key"].to_pylist()


class Folder:
    """A ledger as Spark's file sink writes it: a file of bodies for each micro-batch, and a log that names them."""

    def __init__(self, path: Path, *, keep: bool = True) -> None:
        self.path = path
        self.log = path / "given" / "_spark_metadata"
        self.log.mkdir(parents=True)
        self.results: list[Any] = []
        self.late: list[Any] = []
        frame: Any = SimpleNamespace(
            query=0, job=SimpleNamespace(time="window_end", divided=SimpleNamespace(asked=None))
        )
        spark: Any = None
        given = {RESULT: self._take(self.results), LATE: self._take(self.late)}
        self.ledger = SparkLedger(spark, path, [frame], [given], keep=keep)

    @staticmethod
    def _take(into: list[Any]) -> Callable[[pa.RecordBatch], None]:
        return lambda batch: into.extend(batch["window_end"].to_pylist())

    def add(self, number: int, *bodies: dict[str, Any]) -> Path:
        path = self.path / "given" / f"part-{number}.parquet"
        types: dict[str, pa.DataType] = {
            "query": pa.int32(),
            "kind": pa.int32(),
            "time": pa.int64(),
            "body": pa.binary(),
        }
        pq.write_table(pa.Table.from_pylist(list(bodies), pa.schema(types)), path)
        entry = {"path": f"file:///elsewhere/given/{path.name}", "size": path.stat().st_size}
        (self.log / str(number)).write_text(f"v1\n{json.dumps(entry)}\n")
        return path


@pytest.mark.parametrize("keep", [True, False])
def test_each_micro_batch_is_handed_over_once(tmp_path: Path, keep: bool) -> None:
    folder = Folder(tmp_path, keep=keep)
    folder.ledger.hand_over()
    first = folder.add(0, body(RESULT, "b", [10, 30]), body(RESULT, "a", [10, 20]), body(LATE, "late", [1]))
    folder.ledger.hand_over()
    assert ([10, 10, 20, 30], [1]) == (folder.results, folder.late)
    folder.add(1, body(RESULT, "a", [40]))
    folder.ledger.hand_over()
    folder.ledger.hand_over()
    assert ([10, 10, 20, 30, 40], [1]) == (folder.results, folder.late)
    assert keep == first.exists()
    folder.ledger.check([5])
    with pytest.raises(ConfigurationError, match=r"its ledger has 5 of 6 results"):
        folder.ledger.check([6])


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    path = folder.add(0, body(RESULT, "a", [10, 20]))
    content = bytearray(path.read_bytes())
    path.write_bytes(b"PAR2" + content[4:-4] + b"PAR2")
    with pytest.raises(ConfigurationError, match=rf"{path} cannot be read"):
        folder.ledger.hand_over()
    assert [] == folder.results
