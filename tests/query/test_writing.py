from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import windrow as wr
from tests.fake_engine import FakeEngine
from tests.fake_engine import engine as engine
from windrow.errors import ConfigurationError, DataError
from windrow.query.writing import open_outputs

QUERY_TABLE = pa.table({"seq": [3, 1, 2]})


def query() -> wr.Query:
    return wr.stream(QUERY_TABLE, time="seq")


def test_results_go_to_a_file_as_they_come(engine: FakeEngine, tmp_path: Path) -> None:
    metrics = query().write(tmp_path / "answer.parquet")
    assert QUERY_TABLE == parquet.read_table(tmp_path / "answer.parquet")
    assert 3 == metrics.results


def test_late_rows_go_to_a_file_of_their_own(engine: FakeEngine, tmp_path: Path) -> None:
    engine.late = [pa.record_batch({"seq": [9]}), pa.record_batch({"seq": [8]})]
    query().write(tmp_path / "answer.parquet", late=tmp_path / "late.csv")
    assert '"seq"\n9\n8\n'.replace('"', "") == (tmp_path / "late.csv").read_text().replace('"', "")


def test_a_run_that_fails_leaves_only_what_can_grow(engine: FakeEngine, tmp_path: Path) -> None:
    engine.late = [pa.record_batch({"seq": [9]})]
    engine.error = DataError("is broken", parameter="source")
    with pytest.raises(DataError) as caught:
        query().write(tmp_path / "answer.parquet", late=tmp_path / "late.csv")
    assert "`source` is broken." == str(caught.value)
    assert [f"{tmp_path / 'late.csv'} holds what was given up to there."] == caught.value.__notes__
    assert [tmp_path / "late.csv"] == list(tmp_path.iterdir())
    assert "seq\n9\n" == (tmp_path / "late.csv").read_text()


def test_without_late_rows_the_file_is_there_all_the_same(engine: FakeEngine, tmp_path: Path) -> None:
    with open_outputs(query().window(range=10).agg(n=wr.count()).late("side").plan, "-", tmp_path / "late.parquet"):
        pass
    assert "late_by" in parquet.read_schema(tmp_path / "late.parquet").names


@pytest.mark.parametrize("name", ["answer.parquet", "answer.csv", "answer.jsonl"])
def test_early_results_do_not_go_to_files(engine: FakeEngine, tmp_path: Path, name: str) -> None:
    early = query().window(range=10).agg(n=wr.count()).early(5)
    pattern = (
        r"\A`output` must be a place that early results can be taken back from; .*\. Hint: leave EMIT EARLY out, .*\Z"
    )
    with pytest.raises(ConfigurationError, match=pattern):
        early.write(tmp_path / name)
    assert [] == engine.plans
    assert [] == list(tmp_path.iterdir())


def test_a_late_file_that_cannot_be_written_is_found_out_before_the_run(engine: FakeEngine, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\A`late` must be a file that can be written .*\Z"):
        query().write(tmp_path / "answer.parquet", late=tmp_path / "no" / "late.csv")
    assert [] == engine.plans
