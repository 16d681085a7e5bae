"""Checkpoints write what changed; together the files hold all of the state, and no more files stay than are needed."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.engines.local.answers.test_oracle import SCHEMA, STREAM
from tests.saved import whole_tables
from tests.sharded.kept_chunks import tiny_chunks
from tests.sharded.test_cell_chunks import story, wide
from tests.strategies import comparable
from windrow.durable.sealed_files import read_json
from windrow.engines.local import state_files
from windrow.engines.local.checkpoint import Checkpoints
from windrow.errors import ConfigurationError
from windrow.operators.base import Batch
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline
from windrow.plan.nodes import Distinct, Node, WindowAggregate
from windrow.semantics.progress.policies import Punctuation
from windrow.semantics.windows.kinds import Landmark, Session, Sliding

SLIDING = wide(Sliding("ts", 40, 10))
PLANS: dict[str, Node] = {
    "sliding": SLIDING,
    "landmark": wide(Landmark("ts", 20)),
    "sessions": WindowAggregate(STREAM, Session("ts", 5), SLIDING.keys, SLIDING.aggregates),
    "distinct": Distinct(STREAM),
}


@pytest.fixture(autouse=True)
def _soon_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr("windrow.operators.state.groups.COMPACT_ABOVE", 4)


def content(pipeline: Pipeline) -> list[Any]:
    return [
        (stage.label, asdict(stage.operator.counters), name, comparable(table.to_pylist()))
        for stage in pipeline.stages
        for name, table in whole_tables(stage.operator.state()).items()
    ]


def push(pipeline: Pipeline, piece: Any) -> None:
    pipeline.push("s", piece if isinstance(piece, Punctuation) else Batch.unread(piece))


def restored(folder: Path, plan: Node) -> list[Any]:
    pipeline = build(plan)
    Checkpoints(str(folder), [plan]).restore(pipeline)
    return content(pipeline)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("most", [2, 5])
def test_each_checkpoint_is_all_of_the_state(
    plan: Node, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "MOST_FILES", most)
    monkeypatch.setattr(state_files, "_PAGE", 0)
    with tiny_chunks():
        pipeline, checkpoints = build(plan), Checkpoints(str(tmp_path), [plan])
        before: list[Any] = []
        for turn, piece in enumerate(story()):
            push(pipeline, piece)
            checkpoints.save(pipeline, {"s": turn}, {})
            now = content(pipeline)
            assert now == restored(tmp_path, plan)
            if turn:  # the one before stays
                moved = (tmp_path / str(turn + 1)).rename(tmp_path / "aside")
                assert before == restored(tmp_path, plan)
                moved.rename(tmp_path / str(turn + 1))
            before = now
            needed = {
                int(file)
                for number in (turn, turn + 1)
                if number
                for file in read_json(tmp_path / str(number) / "manifest.json")["state"]["files"]
            }
            assert needed == {int(path.stem.partition("-")[2]) for path in tmp_path.glob("state-*.chunks")}
            assert len(needed) <= most + 1


def test_a_run_goes_on_with_the_files_that_it_found(tmp_path: Path) -> None:
    """A restored run writes only what changed since."""
    folder, plan = tmp_path / "state", wide(Sliding("ts", 30, 30))
    pipeline, checkpoints = build(plan), Checkpoints(str(folder), [plan])
    push(pipeline, many(np.arange(30_000)))
    checkpoints.save(pipeline, {"s": 1}, {})
    again = build(plan)
    other = Checkpoints(str(folder), [plan])
    other.restore(again)
    for number in (2, 3):
        push(again, many(np.arange(10)))
        other.save(again, {"s": number}, {})
    sizes = {path.name: path.stat().st_size for path in folder.glob("state-*")}
    assert {"state-1.chunks", "state-2.chunks", "state-3.chunks"} == set(sizes)
    assert 10 * sizes["state-3.chunks"] < sizes["state-1.chunks"]
    assert content(again) == restored(folder, plan)


def test_a_save_that_fails_leaves_what_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = PLANS["sliding"]
    with tiny_chunks():
        pipeline, checkpoints = build(plan), Checkpoints(str(tmp_path), [plan])
        for turn, piece in enumerate(story()):
            push(pipeline, piece)
            with monkeypatch.context() as patch:
                patch.setattr(state_files, "_directory", full)
                with pytest.raises(ConfigurationError, match=r"\A`checkpoint` must be a folder that can be written"):
                    checkpoints.save(pipeline, {"s": turn}, {})
            assert not (tmp_path / f"state-{turn + 1}.chunks").exists()
            checkpoints.save(pipeline, {"s": turn}, {})
            assert content(pipeline) == restored(tmp_path, plan)


def full(places: Any) -> Any:
    raise OSError(28, "No space left on device")


def many(groups: Any) -> pa.RecordBatch:
    size = len(groups)
    columns: dict[str, Any] = {"ts": [5] * size, "k": ["a"] * size, "g": groups, "x": [1] * size, "y": [0.0] * size}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)
