"""What a run on Spark hands over, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from windrow.engines.spark.running.ledger import deliver_in_order
from windrow.engines.spark.running.options import Options
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


@pytest.mark.parametrize("name", ["batch_rows", "shards", "rate"])
def test_options_must_be_positive(name: str) -> None:
    options: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigurationError, match=rf"\A`{name}` must be at least 1, got 0\.\Z"):
        Options(**options).check()


def test_a_restore_needs_a_folder() -> None:
    with pytest.raises(ConfigurationError, match=r"\A`checkpoint` needs a folder\. Hint: give checkpoint='folder'\.\Z"):
        Options(restore=True).check()
