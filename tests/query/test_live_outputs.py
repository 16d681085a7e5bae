"""Outputs of streams that never end: over any crash each result is there once, and nothing that was given is kept."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pv
import pyarrow.parquet as pq
import pytest

import windrow as wr
from tests.strategies import comparable
from windrow.pipeline.metrics import Metrics

ROWS = 400
KINDS: dict[str, pa.DataType] = {"t": pa.int64(), "k": pa.string()}
SCHEMA = pa.schema(KINDS)


class Crash(Exception):
    """The process is gone."""


def query(data: Any) -> wr.Query:
    stream = wr.stream(data, time="t", progress=wr.slack(9), name="s", schema=SCHEMA)
    return stream.group_by("k").window(range=10, slide=5).agg(n=wr.count()).late("side")


def drawn(seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    late = (0, 0, 0, 0, 0, 0, 0, 0, 0, 50)
    return [{"t": i + draw.randrange(9) - draw.choice(late), "k": draw.choice("ab")} for i in range(ROWS)]


def json_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    return [row for part in sorted(path.glob("part-*")) for row in pq.read_table(part).to_pylist()]


def csv_rows(path: Path) -> list[dict[str, Any]]:
    return pv.read_csv(path).to_pylist()


OUTPUTS: dict[str, tuple[str, Callable[[Path], list[dict[str, Any]]]]] = {
    "answer.jsonl": ("{}/answer.jsonl", json_rows),
    "answer.csv": ("{}/answer.csv", csv_rows),
    "answers": ("parquet:{}/answers?rows=7", parquet_rows),
}


def crash_behind(rows: int) -> Callable[[Metrics], None]:
    def on_progress(metrics: Metrics) -> None:
        if metrics.rows_in >= rows:
            raise Crash

    return on_progress


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("seed", [1, 2])
def test_each_result_is_there_once(tmp_path: Path, output: str, seed: int) -> None:
    """A file is followed while it grows; the run crashes again and again, and the file is renamed in between."""
    draw, rows = random.Random(seed), drawn(seed)
    source, late, rejected = tmp_path / "rows.jsonl", tmp_path / "late.jsonl", tmp_path / "rejected.jsonl"
    spelled, read = OUTPUTS[output]
    target = spelled.format(tmp_path)
    settings: dict[str, Any] = {"late": late, "rejected": rejected, "checkpoint": str(tmp_path / "state")}
    sent = bad = 0
    for run in range(5):
        until = ROWS if run == 4 else draw.randrange(sent + 1, ROWS - 4 + run)
        with source.open("a") as file:
            for row in rows[sent:until]:
                file.write(json.dumps(row) + "\n")
                if draw.random() < 0.05:
                    bad += 1
                    file.write(f"bad {bad}\n")
        sent = until
        more: dict[str, Any] = {"checkpoint_every": draw.randrange(10, 60), "batch_rows": 16, "restore": run > 0}
        if run == 4:
            query(f"follow:{source}").write(target, **settings, **more)
            break
        with pytest.raises(Crash):
            query(f"follow:{source}").write(target, follow=True, on_progress=crash_behind(until), **settings, **more)
        if run == 2:
            source.rename(tmp_path / "rows.1")
    expected = query(rows).run()
    assert comparable(expected.table.to_pylist()) == comparable(read(tmp_path / output))
    assert comparable(expected.late.to_pylist()) == comparable(json_rows(late))
    assert [f"bad {i + 1}" for i in range(bad)] == [row["payload"] for row in json_rows(rejected)]
    assert not list((tmp_path / "state").glob("results*"))


def test_a_crash_leaves_what_was_given_behind_the_checkpoint(tmp_path: Path) -> None:
    """Without a restore nothing is taken back: it was given."""
    source, target = tmp_path / "rows.jsonl", tmp_path / "answer.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in drawn(3)))
    with pytest.raises(Crash):
        query(f"follow:{source}").write(target, follow=True, on_progress=crash_behind(ROWS))
    assert len(json_rows(target)) > 20


def test_a_file_that_cannot_grow_is_refused_with_a_checkpoint(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text('{"t": 1, "k": "a"}\n')
    with pytest.raises(wr.ConfigurationError, match=r"`output` must be a file that can grow .* parquet:answers"):
        query(f"follow:{source}").write(tmp_path / "a.parquet", checkpoint=str(tmp_path / "state"))


def test_a_function_takes_batches(tmp_path: Path) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in drawn(3)))
    seen: list[dict[str, Any]] = []
    metrics = query(f"follow:{source}").write(lambda batch: seen.extend(batch.to_pylist()))
    assert comparable(query(drawn(3)).run().table.to_pylist()) == comparable(seen)
    assert len(seen) == metrics.results
