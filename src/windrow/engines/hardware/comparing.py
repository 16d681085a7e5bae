"""The answer of a circuit beside the one of the software, and how many cycles it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.engines.base import engine_named
from windrow.engines.hardware.run import CircuitRun, finish
from windrow.engines.run import Receiver, Requests
from windrow.plan.checks.nodes import shape_of
from windrow.plan.nodes import Node
from windrow.plan.types.kinds import in_order
from windrow.sinks.base import fitted
from windrow.sources.base import Source

DIGITS = 12
"""Digits in which averages must agree: they are rounded after another number of steps."""


@dataclass(frozen=True)
class Compared:
    """One query: the rows of both answers, and how many of them are on one side alone."""

    circuit: int
    software: int
    missing: int
    extra: int

    @property
    def is_equal(self) -> bool:
        return not self.missing and not self.extra


def compare(done: CircuitRun, plans: Sequence[Node], sources: Mapping[str, Source]) -> list[Compared]:
    """The answers of a circuit against those of the local engine over the same sources."""
    local = engine_named("local")
    found: list[list[pa.RecordBatch]] = [[] for _ in plans]
    receiver = Receiver(lambda query, batch: found[query].append(batch))
    local.run(list(plans), sources, receiver, local.options(), Requests())
    compared = []
    for place, plan in enumerate(plans):
        given: list[pa.RecordBatch] = []
        finish(done.asked(place), done.answers[place], given.append)
        compared.append(_compared(_table(plan, given), _table(plan, found[place])))
    return compared


def _table(plan: Node, batches: Sequence[pa.RecordBatch]) -> pa.Table:
    shape = shape_of(plan)
    plain = [fitted(batch, shape.answer) for batch in batches]
    return in_order(pa.Table.from_batches(plain, shape.answer), shape.time)


def _compared(circuit: pa.Table, software: pa.Table) -> Compared:
    if circuit.equals(software):
        return Compared(circuit.num_rows, software.num_rows, 0, 0)
    names = [f"c{i}" for i in range(circuit.num_columns)]
    counted = [
        _rounded(table, names).append_column("side", pa.array([sign] * table.num_rows, pa.int64()))
        for table, sign in ((circuit, 1), (software, -1))
    ]
    summed = pa.concat_tables(counted).group_by(names).aggregate([("side", "sum")])["side_sum"].to_numpy()
    return Compared(circuit.num_rows, software.num_rows, int(-summed[summed < 0].sum()), int(summed[summed > 0].sum()))


def _rounded(table: pa.Table, names: list[str]) -> pa.Table:
    """Floats to as many digits as both sides must have, and columns under these names."""
    columns = []
    for column in table.columns:
        if pa.types.is_floating(column.type):
            texts = [None if v is None else f"{v:.{DIGITS - 1}e}" for v in column.to_pylist()]
            column = pa.chunked_array([pa.array(texts, pa.string())])
        columns.append(column)
    return pa.table(columns, names=names)


@dataclass(frozen=True)
class Cycles:
    """What a simulation says of speed."""

    rows: int
    cycles: int
    stalled: int
    latency: tuple[int, int, int] | None
    """From the promise that closed a window to its result: least, median, most."""
    seconds: float
    backend: str


def cycles_of(done: CircuitRun) -> Cycles:
    trace = done.simulated.trace
    rows = sum(len(stream) for stream in done.streams.values())
    return Cycles(rows, trace.cycles, trace.stalled, _latency(done), done.simulated.seconds, trace.backend)


def _latency(done: CircuitRun) -> tuple[int, int, int] | None:
    """The cycles since the last promise before each result, which let its window close."""
    if done.fed is None:
        return None
    trace, promises = done.simulated.trace, np.flatnonzero(done.fed.elements.punctuation)
    taken = trace.taken[promises[promises < len(trace.taken)]]
    given = trace.given[:-1]  # the last one only says that nothing follows
    waited = given - taken[np.maximum(np.searchsorted(taken, given, side="left") - 1, 0)]
    return (int(waited.min()), int(np.median(waited)), int(waited.max())) if len(waited) else None
