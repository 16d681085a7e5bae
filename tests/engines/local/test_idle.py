"""Time passes while nothing comes: idle times by the clock, with sources that tick and a clock that is set by hand.

quiet   2  |              silence               |
busy    1  25  31         silence               |
windows           close once quiet was silent for 30 seconds, without a new row
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.local import LocalOptions
from windrow.engines.local.run import Runner
from windrow.plan.nodes import Node
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Element, Position, Reader, Sign
from windrow.sources.base import Delivery

SCHEMA = pa.schema({"t": pa.int64()})
IDLE = wr.idle("30 s", wall_clock=True)


def row(*times: int) -> pa.RecordBatch:
    return pa.record_batch({"t": pa.array(times, pa.int64())})


@dataclass
class Clock:
    """Stands still unless somebody waits."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Ticking:
    """Gives what its script says: elements, and lulls of so many seconds from when it is asked first."""

    script: Sequence[Any]
    clock: Clock
    schema: pa.Schema = SCHEMA
    total_rows: int | None = None
    is_live: bool = True
    is_endless: bool = False
    can_seek: bool = False
    delivery: Delivery = Delivery.EXACTLY_ONCE
    place: int = 0
    until: float | None = None
    closed: bool = field(default=False, compare=False)

    @property
    def position(self) -> Position:
        return {"rows": sum(len(one) for one in self.script[: self.place] if isinstance(one, pa.RecordBatch))}

    def describe(self) -> str:
        return "a script"

    def select(self, columns: Sequence[str]) -> Ticking:
        return replace(self)

    def open(self, position: Position | None = None, **how: Any) -> Reader:
        return self

    def poll(self, timeout: float | None = None) -> Element | Sign:
        while self.place < len(self.script):
            came = self.script[self.place]
            if isinstance(came, (pa.RecordBatch, Punctuation)):
                self.place += 1
                return came
            assert timeout is not None, "a lull would never end"
            self.until = self.clock.now + came if self.until is None else self.until
            self.clock.now = max(self.clock.now, min(self.clock.now + timeout, self.until))
            if self.clock.now < self.until:
                return Sign.TICK
            self.until, self.place = None, self.place + 1
        return Sign.END

    def close(self) -> None:
        self.closed = True


def union(quiet: Any, busy: Any, **more: Any) -> Node:
    streams = [
        wr.stream(iter([]), time="t", schema=SCHEMA, name="quiet", progress=quiet, **more),
        wr.stream(iter([]), time="t", schema=SCHEMA, name="busy", progress=busy),
    ]
    return streams[0].union(streams[1]).window(range=10).agg(n=wr.count()).late("drop").plan


def kind_of(script: Sequence[Any]) -> pa.Schema:
    return next((one.schema for one in script if isinstance(one, pa.RecordBatch)), SCHEMA)


def run(plan: Node, clock: Clock, **scripts: Sequence[Any]) -> list[tuple[float, int, int]]:
    """After how many seconds which window came, with how many rows."""
    sources: dict[str, Any] = {name: Ticking(script, clock, kind_of(script)) for name, script in scripts.items()}
    runner = Runner(plan, sources, LocalOptions(), clock=clock)
    found: list[tuple[float, int, int]] = []
    began = clock.now

    def give(batch: pa.RecordBatch) -> None:
        found.extend((round(clock.now - began), one["window_end"], one["n"]) for one in batch.to_pylist())

    runner.deliver(give, None)
    runner.run()
    assert all(source.closed for source in sources.values())
    return found


def test_windows_close_without_a_new_row() -> None:
    """The quiet source promised nothing, and the other is awaited, too: what closes the window is silence alone."""
    plan = union(wr.punctuated(), wr.ordered(), idle=IDLE)
    found = run(plan, Clock(), quiet=[row(2), row(30), 100], busy=[row(1), row(25), 100, 100])
    assert [(30, 10, 2), (300, 30, 1), (300, 40, 1)] == found


def in_partitions(*rows: tuple[int, int]) -> pa.RecordBatch:
    times, partitions = zip(*rows, strict=True)
    return pa.record_batch({"t": pa.array(times, pa.int64()), "p": pa.array(partitions, pa.int64())})


def test_a_partition_that_is_silent_no_longer_holds_back_the_others() -> None:
    """Of one stream, and of one of a union: what closes windows is that partition 2 is silent, though 1 is not."""
    schema = pa.schema({"t": pa.int64(), "p": pa.int64()})
    policy = wr.ordered(per="p")
    stream = wr.stream(iter([]), time="t", schema=schema, name="s", progress=policy, idle=IDLE)
    script = [in_partitions((1, 1), (2, 2)), 20, in_partitions((25, 1)), 100, in_partitions((9, 2), (31, 1)), 100]
    plan = stream.window(range=10).agg(n=wr.count()).late("side").plan
    assert [(30, 10, 2), (150, 30, 1), (220, 40, 1)] == run(plan, Clock(), s=script)
    other = wr.stream(iter([]), time="t", schema=schema, name="other", progress=wr.ordered())
    plan = stream.union(other).window(range=10).agg(n=wr.count()).late("drop").plan
    found = run(plan, Clock(), s=script, other=[in_partitions((12, 1), (40, 1)), 500])
    assert [(30, 10, 2), (50, 20, 1), (50, 30, 1)] == found[:3]  # from 50 on all of the stream is silent


def test_the_others_go_on_without_a_source_that_is_silent() -> None:
    plan = union(wr.ordered(), wr.ordered(), idle=IDLE)
    found = run(plan, Clock(), quiet=[row(2), 1000], busy=[row(1), row(25), row(31)])
    assert [(30, 10, 2), (30, 30, 1), (1000, 40, 1)] == found


def test_it_is_heard_again_when_it_comes_back() -> None:
    plan = union(wr.ordered(), wr.ordered(), idle=IDLE)
    quiet = [row(2), 40, row(28), row(55)]
    found = run(plan, Clock(), quiet=quiet, busy=[row(1), row(25), 20, row(32), row(61)])
    assert [(30, 10, 2), (50, 30, 2), (50, 40, 1), (50, 60, 1), (50, 70, 1)] == found


def test_without_such_a_rule_a_silent_source_is_waited_for() -> None:
    plan = union(wr.ordered(), wr.ordered())
    with pytest.raises(AssertionError, match="a lull would never end"):
        run(plan, Clock(), quiet=[row(2), 1000], busy=[row(1), row(25)])


def test_all_of_them_may_be_silent_at_once() -> None:
    """Each is waited for until it has been silent for so long itself."""
    streams = [
        wr.stream(iter([]), time="t", schema=SCHEMA, name=name, progress=wr.ordered(), idle=IDLE)
        for name in ("quiet", "busy", "third")
    ]
    plan = streams[0].union(*streams[1:]).window(range=10).agg(n=wr.count()).plan
    scripts = {"quiet": [row(2), 200], "busy": [row(1), row(25), 300], "third": [row(3), row(14), 100, row(41)]}
    found = run(plan, Clock(), **scripts)
    assert [(60, 10, 3), (60, 20, 1), (130, 30, 1)] == found[:3]
    assert [10, 20, 30, 50] == [end for _, end, _ in found]


def test_sources_that_are_there_never_tick() -> None:
    """An idle time by the clock leaves files and tables as they are: read in order of time."""
    data = pa.table({"t": [1, 25, 31]})
    quiet = wr.stream(pa.table({"t": [2, 29]}), time="t", name="quiet", progress=wr.ordered(), idle=IDLE)
    busy = wr.stream(data, time="t", name="busy", progress=wr.ordered())
    found = quiet.union(busy).window(range=10).agg(n=wr.count()).run()
    assert ([2, 2, 1], 0) == (found.table["n"].to_pylist(), found.metrics.rows_late)
