"""When a checkpoint is due."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.checkpoint import Draft
from windrow.engines.local.run import Runner
from windrow.engines.local.schedule import Schedule
from windrow.errors import ConfigurationError
from windrow.sinks.base import Sink
from windrow.sources.base import Sign


@pytest.mark.parametrize("every", ["10 s", "10000 ms", timedelta(seconds=10)])
def test_lengths_of_time(every: Any) -> None:
    assert (None, 10.0) == (Schedule.of(every).rows, Schedule.of(every).seconds)


@pytest.mark.parametrize("every", ["x", "10", "5 rows", "0 s", "-1 s", timedelta(0), timedelta(seconds=-1), ""])
def test_other_text_is_refused(every: Any, tmp_path: Path) -> None:
    expected = (
        r"^`checkpoint_every` must be a number of rows, or a length of time above 0, got .*Hint: write 1000000 for"
    )
    with pytest.raises(ConfigurationError, match=expected):
        LocalOptions(checkpoint=str(tmp_path), checkpoint_every=every).check()


def test_time_needs_a_folder() -> None:
    with pytest.raises(ConfigurationError, match=r"^`checkpoint` needs a folder\. Hint:"):
        LocalOptions(checkpoint_every="10 s").check()


def test_by_time_only_what_changed_is_due() -> None:
    now = [0.0]
    schedule = Schedule(seconds=10, clock=lambda: now[0])
    now[0] = 100.0
    assert not schedule.is_due(0, 0)
    assert schedule.is_due(1, 0)
    schedule.note(1, 0)
    now[0] = 109.9
    assert not schedule.is_due(2, 0)
    now[0] = 110.0
    assert schedule.is_due(2, 0)
    assert schedule.is_due(1, 1)
    assert not schedule.is_due(1, 0)


class Silent:
    """A reading that gives two batches, then nothing for some ticks, then ends."""

    schema = pa.schema([("ts", pa.int64())])
    position: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.polls = 0

    def poll(self, timeout: float | None = None) -> Any:
        self.polls += 1
        if self.polls < 3:
            return pa.record_batch([pa.array([self.polls])], schema=self.schema)
        assert timeout is not None
        return Sign.TICK if self.polls < 8 else Sign.END

    def close(self) -> None:
        pass


def test_a_checkpoint_comes_while_nothing_else_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = wr.stream(pa.table({"ts": [1]}), time="ts", progress=wr.ordered()).window(range=5).agg(n=wr.count())
    runner = Runner(query.plan, query.sources, LocalOptions(checkpoint=str(tmp_path), checkpoint_every="1 s"))
    polls = Silent()
    runner.readings["stream"].reader = polls
    runner.schedule.clock = lambda: 100.0 * (polls.polls > 4)
    runner.schedule.note(0, 0)
    taken: list[int] = []
    take = runner._taken

    def noted() -> Draft:
        taken.append(polls.polls)
        return take()

    monkeypatch.setattr(runner, "_taken", noted)
    assert runner.run().checkpoints == 2
    assert [5, 8] == taken, "one at a tick, none while nothing changes, and the last"


class Noting(Sink):
    """Notes which checkpoints it was told of, and how often the source had been asked by then."""

    def __init__(self, source: Silent) -> None:
        self.source = source
        self.settled: list[tuple[int, int]] = []

    def write(self, batch: pa.RecordBatch) -> None:
        pass

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass

    def settle(self, number: int) -> None:
        self.settled.append((number, self.source.polls))


@pytest.mark.usefixtures("every_checkpoint")
def test_outputs_give_what_they_kept_back_while_nothing_comes(tmp_path: Path) -> None:
    query = wr.stream(pa.table({"ts": [1]}), time="ts", progress=wr.ordered()).window(range=5).agg(n=wr.count())
    runner = Runner(query.plan, query.sources, LocalOptions(checkpoint=str(tmp_path), checkpoint_every=1))
    source = Silent()
    runner.readings["stream"].reader = source
    sink = Noting(source)
    assert runner.checkpoints is not None
    runner.checkpoints.go_on({"out": sink})
    runner.run()
    assert [(1, 2), (2, 3), (3, 8)] == sink.settled
