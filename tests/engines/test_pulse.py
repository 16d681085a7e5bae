"""Leaving a run: its engine ends where it is, with a last checkpoint, and another run goes on from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.base import engine_named
from windrow.engines.local.options import LocalOptions
from windrow.engines.local.reading import Reading
from windrow.engines.local.reporting import awaited
from windrow.engines.run import Receiver, Requests
from windrow.operators.input.input import Input
from windrow.semantics.progress.policies import Ordered
from windrow.sources.base import Sign

SCHEMA = pa.schema([("t", pa.int64())])


def run(stream: Any, requests: Requests, folder: Path, *, restore: bool, threads: int = 1) -> tuple[list[Any], Any]:
    query = wr.stream(stream, time="t", progress=wr.ordered(), name="s", schema=SCHEMA)
    query = query.window(range=10).agg(n=wr.count())
    given: list[Any] = []
    told: list[Any] = []
    into = Receiver(lambda _, batch: given.extend(batch["n"].to_pylist()), on_progress=told.append)
    options = LocalOptions(threads=threads, checkpoint=str(folder), restore=restore, batch_wait="1 ms")
    engine = engine_named("local")
    _, metrics = engine.run([query.plan], query.sources, into, options, requests)
    return given, metrics


class Leaving:
    """Rows that come until the run is asked to leave; with `lull`, nothing comes from then on."""

    def __init__(self, requests: Requests, after: int, *, lull: bool) -> None:
        self.requests, self.after, self.lull = requests, after, lull

    def __iter__(self) -> Iterator[dict[str, int]]:
        for number in range(100):
            if number == self.after:
                self.requests.leave.set()
                while self.lull and not self.requests.left:
                    self.requests.close.wait(0.01)
                if self.lull:
                    return
            yield {"t": number}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("lull", [False, True])
def test_a_run_that_is_left_goes_on_elsewhere(lull: bool, threads: int, tmp_path: Path) -> None:
    """Between elements, and while nothing comes."""
    requests = Requests()
    before, metrics = run(Leaving(requests, 37, lull=lull), requests, tmp_path, restore=False, threads=threads)
    assert requests.left
    assert metrics.rows_in == 37 if lull else metrics.rows_in >= 1
    assert len(before) == max(metrics.rows_in - 1, 0) // 10  # no window closed before its time
    rest, last = run([{"t": number} for number in range(100)], Requests(), tmp_path, restore=True)
    assert ([10] * 10, 100) == (rest, last.rows_in)


def test_the_pulse_beats_while_nothing_comes(tmp_path: Path) -> None:
    requests = Requests()
    assert not requests.pulse.is_ready
    run(Leaving(requests, 0, lull=True), requests, tmp_path, restore=False)
    assert requests.pulse.is_ready
    assert None is requests.pulse.held_by


class Quiet:
    """A reader of a source that gives nothing, or one element."""

    position: ClassVar[dict[str, Any]] = {"rows": 0}

    def __init__(self, *given: Any) -> None:
        self.given = list(given)

    def poll(self, timeout: float | None = None) -> Any:
        return self.given.pop() if self.given else Sign.TICK

    def close(self) -> None:
        """Nothing is open."""


def test_who_is_awaited_and_idle_times_by_a_clock_that_goes_back() -> None:
    now = [1000.0]

    def reading(*given: Any) -> Reading:
        return Reading(Quiet(*given), Input("s", "t", Ordered()), silence=30.0, clock=lambda: now[0])

    readings = {"full": reading(pa.record_batch({"t": [1]})), "quiet": reading()}
    assert None is awaited(readings)
    for one in readings.values():
        one.fill(0.0)
    assert "quiet" == awaited(readings)
    now[0] -= 500.0
    assert not readings["quiet"].is_idle
    assert "quiet" == awaited(readings)
    now[0] += 530.0
    assert readings["quiet"].is_idle
    assert None is awaited(readings)
