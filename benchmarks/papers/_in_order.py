"""The same query processed in order: a sort before its window holds rows until slack or the slowest input lets go.

And what the figures that compare it with processing out of order share: how rows arrive, what is held, what leaves.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from windrow.operators.aggregate.frame import WindowAggregateOperator
from windrow.operators.base import Batch
from windrow.operators.input.input import Input
from windrow.operators.rowwise.sort import SortOperator
from windrow.physical.nodes import Grid
from windrow.pipeline.build import build
from windrow.pipeline.graph import Pipeline, Stage, state_bytes
from windrow.plan.checks.nodes import shape_of
from windrow.plan.columns import prune_together
from windrow.plan.nodes import Lateness, Node, WindowAggregate
from windrow.semantics.progress.policies import END, Punctuation

Arrival: TypeAlias = tuple[str, pa.RecordBatch | Punctuation]
Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
RECORDED = Path(__file__).parents[2].parent / "shared" / "data"


def recorded(name: str) -> pa.Table | None:
    """A recorded stream in order of arrival; None where it is not at hand."""
    path = RECORDED / f"{name}.parquet"
    return pq.read_table(path) if path.exists() else None


def out_of_order(plan: Node) -> Pipeline:
    """The query as it is."""
    return build(prune_together([plan])[0])


def in_order(plan: Node, lateness: Lateness = Lateness.CONSISTENT) -> Pipeline:
    """The query with its rows sorted before they come to the window; every promise of an input lets rows go."""
    assert isinstance(plan, WindowAggregate)
    narrow = prune_together([plan])[0]
    assert isinstance(narrow, WindowAggregate)
    pipeline = build(narrow)
    (window,) = (stage for stage in pipeline.stages if isinstance(stage.operator, WindowAggregateOperator))
    sort = Stage(
        SortOperator(shape_of(narrow.input).schema, lateness=lateness), f"{len(pipeline.stages)} sort", [(window, 0)]
    )
    for stage in pipeline.stages:
        stage.after = [(sort if above is window else above, port) for above, port in stage.after]
        if isinstance(stage.operator, Input):
            stage.operator.grid = Grid()
    pipeline.stages.append(sort)
    return pipeline


def feed(pipeline: Pipeline, arrivals: Iterable[Arrival]) -> Iterator[None]:
    """Push what arrives, one after the other, then the end of every source."""
    for name, element in arrivals:
        pipeline.push(name, element if isinstance(element, Punctuation) else Batch.unread(element))
        yield
    for name in pipeline.inputs:
        pipeline.push(name, Punctuation(END))
        yield


@dataclass(frozen=True)
class Held:
    """The most bytes of state after any arrival, seconds of the processor, and the number of results."""

    peak: int
    seconds: float
    results: int


def weighed(pipeline: Pipeline, arrivals: Iterable[Arrival]) -> Held:
    peak, started = 0, time.process_time()
    for _ in feed(pipeline, arrivals):
        peak = max(peak, state_bytes(pipeline.stages))
    return Held(peak, time.process_time() - started, pipeline.results)


def skewed(sources: dict[str, tuple[pa.Table, Ints]], every: int) -> Iterator[Arrival]:
    """The rows of several sources by when they arrive, a stretch of `every` microseconds at a time."""
    cursors = dict.fromkeys(sources, 0)
    first = min(int(arrivals[0]) for _, arrivals in sources.values() if len(arrivals))
    last = max(int(arrivals[-1]) for _, arrivals in sources.values() if len(arrivals))
    for until in range(first + every, last + every + 1, every):
        for name, (table, arrivals) in sources.items():
            start, end = cursors[name], int(np.searchsorted(arrivals, until))
            cursors[name] = end
            if end > start:
                yield name, table.slice(start, end - start).combine_chunks().to_batches()[0]


def units(table: pa.Table, column: str = "ts") -> Ints:
    """The times of a table in microseconds."""
    found: Ints = table[column].combine_chunks().cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy()
    return found


@dataclass(frozen=True)
class Told:
    """One answer, and when it left by the clock of arrival."""

    value: float
    at: float


def told(pipeline: Pipeline, arrivals: Iterable[tuple[float, Arrival]], column: str) -> dict[int, Told]:
    """The answers by the end of their window, in microseconds; the clock is that of the last arrival."""
    answers: dict[int, Told] = {}
    clock = 0.0

    def note(batch: pa.RecordBatch) -> None:
        ends, values = units(pa.Table.from_batches([batch]), "window_end"), batch.column(column).cast(pa.float64())
        for end, value in zip(ends.tolist(), values.to_numpy().tolist(), strict=True):
            answers[end] = Told(value, clock)

    pipeline.ends[0].on_result = note
    timed = list(arrivals)
    steps = feed(pipeline, (arrival for _, arrival in timed))
    for clock, _ in timed:  # noqa: B007 - `note` reads it
        next(steps)
    for _ in steps:
        pass
    return answers


def mean_error(true: dict[int, Told], given: dict[int, Told]) -> float:
    """By how many percent the answers are off, on average; one that is missing is off by all of it."""
    off = [abs(t.value - given[e].value) / abs(t.value) if e in given else 1.0 for e, t in true.items() if t.value]
    return 100 * float(np.mean(off))


def wrong(true: dict[int, Told], given: dict[int, Told]) -> float:
    """How many percent of the answers are not the true ones."""
    return 100 * float(np.mean([e not in given or given[e].value != t.value for e, t in true.items()]))
