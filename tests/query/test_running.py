from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr
from tests.fake_engine import FakeEngine, Options
from tests.fake_engine import engine as engine
from windrow.errors import ConfigurationError, DataError
from windrow.operators.late.judging import late_columns
from windrow.plan.nodes import Stream
from windrow.plan.types.kinds import in_order
from windrow.query.running import gather

TABLE = pa.table({"seq": [3, 1, 2, 1], "key": pa.array(["a", "b", "c", "a"]).dictionary_encode()})


def query() -> wr.Query:
    return wr.stream(TABLE, time="seq")


def test_answers_are_sorted_and_their_dictionaries_plain(engine: FakeEngine) -> None:
    assert pa.table({"seq": [1, 1, 2, 3], "key": ["a", "b", "c", "a"]}) == query().collect()


def test_a_run_keeps_late_rows_and_metrics(engine: FakeEngine) -> None:
    engine.late = [pa.record_batch({"key": pa.array(["a"]).dictionary_encode()})]
    result = query().run()
    assert pa.table({"key": ["a"]}) == result.late
    assert (4, 10) == (result.metrics.results, result.metrics.rows_in)


def test_without_late_rows_there_are_still_their_columns(engine: FakeEngine) -> None:
    assert 0 == query().run().late.num_columns
    windows = query().window(range=10).agg(n=wr.count()).late("side")
    named = ["seq", "key", "late_by", "late_windows", "late_from", "late_until", "late_source"]
    assert named == late_columns(windows.plan).names


def test_options_reach_the_engine(engine: FakeEngine) -> None:
    query().collect(threads=2, checkpoint="state", checkpoint_every=1000, restore=True)
    assert [Options(threads=2, checkpoint="state", checkpoint_every=1000, restore=True)] == engine.asked


def test_progress_is_reported(engine: FakeEngine) -> None:
    seen: list[int] = []
    query().run(on_progress=lambda metrics: seen.append(metrics.results))
    assert [1, 2, 3, 4] == seen


def test_batches_come_in_the_order_of_the_engine(engine: FakeEngine) -> None:
    assert [[3], [1], [2], [1]] == [batch["seq"].to_pylist() for batch in query().batches()]


def test_an_error_of_the_run_reaches_the_reader_of_batches(engine: FakeEngine) -> None:
    engine.error = DataError("is broken", parameter="source")
    batches = query().batches()
    assert [3, 1, 2, 1] == [next(batches)["seq"][0].as_py() for _ in range(4)]
    with pytest.raises(DataError, match=r"\A`source` is broken\.\Z"):
        next(batches)


def test_a_reader_that_stops_early_ends_the_run(engine: FakeEngine) -> None:
    many = wr.stream(pa.table({"seq": list(range(1000))}), time="seq").batches()
    assert [0] == next(many)["seq"].to_pylist()
    many.close()  # type: ignore[attr-defined]
    assert engine.handed_over < 1000


def test_a_stream_without_data_is_refused(engine: FakeEngine) -> None:
    message = r"\A`trades` has no data\. Hint: say FROM 'path' in CREATE STREAM, or give data as trades=\.\.\.\.\Z"
    with pytest.raises(ConfigurationError, match=message):
        gather([Stream("trades", TABLE.schema, "seq")], [{}])
    assert [] == engine.plans


def test_columns_without_an_order_are_left_out_of_the_sort() -> None:
    table = pa.table({"tags": [["b"], ["a"]], "time": [2, 1]})
    assert [1, 2] == in_order(table, "time")["time"].to_pylist()
    assert [["b"], ["a"]] == in_order(table.select(["tags"]), None)["tags"].to_pylist()


def test_frames(engine: FakeEngine) -> None:
    assert [1, 1, 2, 3] == query().to_pandas()["seq"].tolist()
    assert [1, 1, 2, 3] == query().to_polars()["seq"].to_list()


def test_a_frame_of_a_package_that_is_not_there(engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ConfigurationError, match=r"\A`polars` is not installed\. Hint: pip install windrow\[polars\], .*\Z"
    ):
        query().to_polars()
