"""Queries from and to addresses of Spark's, and the command line on Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import windrow as wr
from windrow.cli import main
from windrow.durable.manifests import SPARK_MANIFEST
from windrow.engines.run import Receiver, Requests
from windrow.engines.spark.running.logs import last
from windrow.engines.spark.running.run import SparkOptions, run
from windrow.errors import ConfigurationError
from windrow.sinks.text import JsonLinesSink

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """CREATE STREAM trades FROM '{path}' PROGRESS ON second SLACK 5;
SELECT symbol, count(*) AS number, sum(price) AS total
FROM trades [RANGE 20 SLIDE 10 WATTR second] WHERE price > 0 GROUP BY symbol LATE SIDE"""


@pytest.fixture
def trades(tmp_path: Path) -> Path:
    """Ten micro-batches of ten rows; the last brings one that is late for all of its windows."""
    seconds = [i * 2 - 3 * (i % 3) for i in range(100)]
    seconds[95] = 1
    symbols = ["UBSN" if i % 3 else "NESN" for i in range(100)]
    path = tmp_path / "trades.parquet"
    pq.write_table(pa.table({"symbol": symbols, "second": seconds, "price": [i % 7 for i in range(100)]}), path)
    return path


def rows_of(folder: Path) -> list[str]:
    return sorted(json.dumps(row, default=str) for row in pq.read_table(folder).to_pylist())


def test_results_and_late_rows_go_to_folders_that_spark_writes(
    spark: SparkSession, trades: Path, tmp_path: Path
) -> None:
    query = wr.sql(SQL.format(path=trades))
    answer, late = tmp_path / "answer", tmp_path / "late"
    told: list[int] = []
    options = SparkOptions(spark=spark, batch_rows=10, checkpoint=str(tmp_path / "state"))
    _, metrics = run(
        [query.plan],
        query.sources,
        Receiver(lambda *_: None, on_progress=lambda metrics: told.append(metrics.rows_in)),
        replace(options, output=f"parquet:{answer}", late_output=f"parquet:{late}"),
        Requests(),
    )
    expected = query.run()
    assert sorted(json.dumps(row) for row in expected.table.to_pylist()) == rows_of(answer)
    assert [1] == pq.read_table(late)["second"].to_pylist()
    assert (100, 1) == (metrics.rows_in, metrics.rows_late)
    assert list(range(10, 101, 10)) == told
    again = SparkOptions(spark=spark, checkpoint=str(tmp_path / "state"), output="console:")
    with pytest.raises(ConfigurationError, match=r"\A`checkpoint` holds a run already, got .*\. Hint: go on from it"):
        run([query.plan], query.sources, Receiver(lambda *_: None), again, Requests())
    other = replace(options, checkpoint=str(tmp_path / "other"), output=f"parquet:{answer}")
    with pytest.raises(ConfigurationError, match=r"\A`output` must not hold the results of another run: "):
        run([query.plan], query.sources, Receiver(lambda *_: None), other, Requests())
    assert not (tmp_path / "other" / SPARK_MANIFEST).exists()


def test_windrow_run_is_on_spark_and_says_what_sparks_own_window_would_do(
    spark: SparkSession, trades: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.jsonl"
    arguments = ["run", "-e", SQL.format(path=trades), "--batch-rows", "50", "--json-lines", str(lines), "--limit", "1"]
    done = CliRunner().invoke(main, arguments)
    assert 0 == done.exit_code, done.stderr
    assert ["symbol", "window_start", "window_end", "number", "total"] == done.stdout.splitlines()[0].split()
    assert "rows in 100 = used 84 + late 1 + filtered 15;" in done.stderr
    copied = "Spark's own window() would have copied each row into 2 windows, 170 rows in place of 85"
    assert f"{copied} and dropped 1 late row unseen; here each row went into one pane\n" in done.stderr
    assert [50, 100] == [json.loads(line)["rows_in"] for line in lines.read_text().splitlines()]


def test_results_are_in_the_file_before_the_last_micro_batch_begins(
    spark: SparkSession, trades: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten micro-batches, begun one after the other; each that closes a window adds its lines."""
    state, answer = tmp_path / "state", tmp_path / "answer.jsonl"
    begun: list[int] = []
    put = JsonLinesSink.put

    def noted(sink: JsonLinesSink, batch: pa.RecordBatch) -> None:
        put(sink, batch)
        begun.append(last(state / "spark" / "offsets") + 1)

    monkeypatch.setattr(JsonLinesSink, "put", noted)
    flags = ["--batch-rows", "10", "--rate", "50", "--checkpoint", str(state), "--output", str(answer)]
    done = CliRunner().invoke(main, ["run", "-e", SQL.format(path=trades), *flags])
    assert 0 == done.exit_code, done.stderr
    assert begun[0] < begun[-1] == last(state / "spark" / "offsets") + 1
    assert len(set(begun)) > 4
    expected = wr.sql(SQL.format(path=trades)).run().table
    assert sorted(map(str, expected.to_pylist())) == sorted(
        str(json.loads(line)) for line in answer.read_text().splitlines()
    )
    first = answer.read_text()
    again = CliRunner().invoke(main, ["run", "-e", SQL.format(path=trades), *flags, "--restore"])
    assert 0 == again.exit_code, again.stderr
    assert first == answer.read_text()  # all of it, each result once


def test_a_stream_without_an_end_needs_a_place_for_its_results(spark: SparkSession) -> None:
    text = "CREATE STREAM ticks FROM 'rate:?rowsPerSecond=10' PROGRESS ON timestamp; SELECT value FROM ticks"
    done = CliRunner().invoke(main, ["run", "-e", text])
    assert 2 == done.exit_code
    assert "`--output` must be given, because the stream may never end. Hint: say console:" in done.stderr


@pytest.mark.parametrize("name", ["batch_rows", "shards", "rate"])
def test_options_must_be_positive(name: str) -> None:
    options: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigurationError, match=rf"\A`{name}` must be at least 1, got 0\.\Z"):
        SparkOptions(**options).check()


def test_a_restore_needs_a_folder() -> None:
    with pytest.raises(ConfigurationError, match=r"\A`checkpoint` needs a folder\. Hint: give checkpoint='folder'\.\Z"):
        SparkOptions(restore=True).check()
