"""Checkpoints that are written beside the run: what they hold, what is skipped, and what an error does."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from tests.engines.local.test_checkpoint import Broken, Collected
from windrow.engines.local.background import BackgroundWriter
from windrow.engines.local.checkpoint import Checkpoints, Draft
from windrow.engines.local.options import LocalOptions
from windrow.engines.local.run import Runner
from windrow.errors import ConfigurationError

KINDS: dict[str, pa.DataType] = {"ts": pa.int64(), "k": pa.string(), "x": pa.int64()}
SCHEMA = pa.schema(KINDS)
ROWS = 600


def batches(seed: int, size: int = ROWS) -> list[pa.RecordBatch]:
    chance = random.Random(seed)
    rows = [{"ts": i + chance.randint(-9, 0), "k": chance.choice("abcdef"), "x": i} for i in range(size)]
    return pa.Table.from_pylist(rows, SCHEMA).to_batches(max_chunksize=20)


def query(seed: int) -> wr.Query:
    data = pa.Table.from_batches(batches(seed))
    stream = wr.stream(data, time="ts", progress=wr.slack(9))
    return stream.group_by("k").window(range=60, slide=20).agg(n=wr.count(), total=wr.sum("x"), all=wr.collect("x"))


def runner_of(seed: int, **options: Any) -> tuple[Runner, Collected]:
    asked = query(seed)
    runner = Runner(asked.plan, asked.sources, LocalOptions(batch_rows=20, **options))
    return runner, Collected(runner)


def whole(seed: int) -> list[dict[str, Any]]:
    runner, found = runner_of(seed)
    runner.run()
    return found.results


class Gate:
    """Holds back whoever writes, until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.reached = Event(), Event()
        write = Checkpoints.write

        def late(checkpoints: Checkpoints, draft: Draft) -> Path:
            self.reached.set()
            assert self.open.wait(60)
            return write(checkpoints, draft)

        monkeypatch.setattr(Checkpoints, "write", late)


def fed(runner: Runner) -> Generator[int, None, None]:
    """After each element, its number; the checkpoints that are due are begun."""
    for number, (name, element) in enumerate(runner._elements()):
        runner.feed(name, element)
        runner._save_if_due()
        yield number


@pytest.mark.parametrize("seed", range(3))
def test_a_checkpoint_holds_what_was_there_when_it_was_taken(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    runner, found = runner_of(seed, checkpoint=str(tmp_path), checkpoint_every=200)
    for _ in zip(fed(runner), range(25), strict=False):
        pass
    assert runner.writer is not None
    assert gate.reached.is_set()
    assert runner.read["stream"] > 400
    assert runner.metrics().checkpoints == 0
    gate.open.set()
    runner.writer.settle()
    assert (1, 1) == (runner.metrics().checkpoints, runner.metrics().checkpoints_skipped)
    again, rest = runner_of(seed, checkpoint=str(tmp_path), restore=True)
    assert 200 == again.read["stream"]
    given = found.results[: again.pipeline.results]
    again.run()
    assert whole(seed) == given + rest.results


def test_one_is_under_way_at_most_and_the_next_is_taken_when_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    runner, _ = runner_of(1, checkpoint=str(tmp_path), checkpoint_every=40)
    elements = fed(runner)
    for _ in zip(elements, range(15), strict=False):
        pass
    writer = runner.writer
    assert writer is not None
    assert writer.is_busy
    assert 1 == writer.written.skipped
    gate.open.set()
    writer.wait()
    next(elements)
    writer.wait()
    assert 2 == writer.written.count
    elements.close()


def test_an_error_of_the_writer_ends_the_run_at_the_next_element(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, _ = runner_of(2, checkpoint=str(tmp_path), checkpoint_every=100)
    elements = fed(runner)
    next(elements)
    for _ in zip(elements, range(5), strict=False):
        pass
    assert runner.writer is not None
    runner.writer.settle()
    monkeypatch.setattr("windrow.engines.local.checkpoint.make_durable", full)
    waits = runner.writer.wait
    with pytest.raises(ConfigurationError, match=r"^`checkpoint` .*no space left on device"):
        deque(map(lambda _: waits(), elements))  # noqa: C417
    monkeypatch.undo()
    assert ["1"] == [path.name for path in tmp_path.iterdir() if path.is_dir()]


def full(folder: Path, *_: object) -> None:
    raise OSError(28, "No space left on device", str(folder))


def test_what_a_failed_checkpoint_held_is_in_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, found = runner_of(3, checkpoint=str(tmp_path))
    elements = fed(runner)
    for number in elements:
        with monkeypatch.context() as patch, suppress(ConfigurationError):
            if number % 3:
                patch.setattr("windrow.engines.local.checkpoint.write_json", full)
            runner.save()
        if number == 21:
            break
    elements.close()
    again, rest = runner_of(3, checkpoint=str(tmp_path), restore=True)
    given = found.results[: again.pipeline.results]
    again.run()
    assert whole(3) == given + rest.results


def test_results_of_a_failed_checkpoint_are_in_the_ledger_of_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = query(4)
    runner = Runner(asked.plan, asked.sources, LocalOptions(batch_rows=20, checkpoint=str(tmp_path)))
    given: list[pa.RecordBatch] = []
    runner.deliver(given.append, None)
    elements = fed(runner)
    for number in elements:
        with monkeypatch.context() as patch, suppress(ConfigurationError):
            if number % 4 != 3:
                patch.setattr("windrow.engines.local.checkpoint.write_json", full)
            runner.save()
        if number == 23:
            break
    elements.close()
    again = Runner(asked.plan, asked.sources, LocalOptions(checkpoint=str(tmp_path), restore=True))
    replayed: list[pa.RecordBatch] = []
    again.deliver(replayed.append, None)
    assert given
    assert given == replayed


def test_the_one_under_way_is_waited_for_when_a_run_breaks_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch)
    runner, _ = runner_of(5, checkpoint=str(tmp_path), checkpoint_every=100)
    feed = runner.feed

    def breaks(name: str, element: Any) -> None:
        if gate.reached.is_set():
            gate.open.set()
            raise Broken
        feed(name, element)

    monkeypatch.setattr(runner, "feed", breaks)
    with pytest.raises(Broken):
        runner.run()
    assert runner.writer is not None
    assert (False, 1) == (runner.writer.is_busy, runner.writer.written.count)
    assert ["1"] == [path.name for path in tmp_path.iterdir() if path.is_dir()]


def test_metrics_tell_of_checkpoints(tmp_path: Path) -> None:
    metrics = query(6).run(checkpoint=str(tmp_path), batch_rows=20).metrics
    assert (1, 0) == (metrics.checkpoints, metrics.checkpoints_skipped)
    assert metrics.checkpoint_seconds is not None
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "windrow.lock"]
    assert metrics.checkpoint_bytes == sum(path.stat().st_size for path in files)
    assert metrics == type(metrics).from_dict(metrics.to_dict())
    assert 0 == query(6).run().metrics.checkpoints


def test_a_writer_that_failed_can_be_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, _ = runner_of(7, checkpoint=str(tmp_path))
    assert runner.checkpoints is not None
    writer = BackgroundWriter(runner.checkpoints)
    with monkeypatch.context() as patch:
        patch.setattr("windrow.engines.local.checkpoint.make_durable", full)
        assert writer.offer(runner._taken)
        with pytest.raises(ConfigurationError):
            writer.settle()
    assert writer.offer(runner._taken)
    writer.settle()
    assert 1 == writer.written.count
